import { assert } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"

import type { OrganizationId } from "../../src/domain/Ids.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import type { ReduceHold } from "../../src/ledger/PendingWrite.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import {
  assertBooksAgree,
  balanceOf,
  eventually,
  funded,
  newRequest,
  pico,
  takeHold,
  withLedger,
  withOtherLedger
} from "./TestLedger.ts"

/** Makes do with whatever it gets. */
const anything: ReduceHold = (most) => most
const nothing: ReduceHold = () => undefined

/** Takes a hold that may wait for others. */
const holdInTurn = Effect.fnUntraced(function* (organization: OrganizationId, amount: number, reduce = nothing) {
  const ledger = yield* CreditLedger
  return yield* ledger.hold({ request: newRequest(), organization, amount: pico(amount), reduce })
})

/** The same for an organization with a hard cap, whose hold makes do with no less than `least`. */
const cappedInTurn = Effect.fnUntraced(function* (organization: OrganizationId, amount: number, least?: number) {
  const ledger = yield* CreditLedger
  const reduce: ReduceHold = (most) => (least !== undefined && most >= least ? most : undefined)
  const hardCap = { modest: pico(amount), waits: true }
  return yield* ledger.hold({ request: newRequest(), organization, amount: pico(amount), reduce, hardCap })
})

/** Lets time pass, a check of those that wait at a time, and the database answer in between. */
const seconds = Effect.fnUntraced(function* (count: number) {
  for (let check = 0; check < 4 * count; check++) {
    yield* TestClock.adjust("250 millis")
    // The round trip of another organization: the answers to what the check has sent come no later.
    yield* Effect.scoped(takeHold(yield* funded(1), 0))
  }
})

/** The result of a fiber, for which time passes until it is there. */
const inTime = Effect.fnUntraced(function* <A, E>(fiber: Fiber.Fiber<A, E>) {
  while (fiber.pollUnsafe() === undefined) yield* seconds(1)
  return yield* Fiber.join(fiber)
})

describeOnEngines("HoldTurns", (it) => {
  it.effect("give released credit to those who wait, in order of arrival, before those who come later", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const first = yield* takeHold(organization, 100)
      const order: Array<string> = []
      const waiting = (name: string, amount: number) =>
        Effect.forkChild(
          Effect.tap(holdInTurn(organization, amount), () => Effect.sync(() => order.push(name))),
          { startImmediately: true }
        )
      const [b, c, d] = [yield* waiting("b", 60), yield* waiting("c", 60), yield* waiting("d", 60)]
      yield* seconds(1)
      assert.deepStrictEqual(order, [])
      const settled = yield* Effect.forkChild(first.settle(pico(10)), { startImmediately: true })
      const late = yield* waiting("late", 1)
      const held = yield* Fiber.join(b)
      yield* Fiber.join(c)
      yield* Fiber.join(settled)
      assert.deepStrictEqual(
        [order, yield* balanceOf(organization)],
        [
          ["b", "c"],
          [-30n, 120n]
        ]
      )
      yield* held.settle(pico(20))
      yield* Fiber.join(d)
      assert.deepStrictEqual(order, ["b", "c", "d"])
      yield* Fiber.interrupt(late)
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("end after a while with a hold that is cut, so that all exceed the credit by less than one hold", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      yield* takeHold(organization, 150)
      const cut = yield* Effect.forkChild(holdInTurn(organization, 80, anything), { startImmediately: true })
      const { amount, isReduced } = yield* inTime(cut)
      assert.deepStrictEqual([BigInt(amount), isReduced], [29n, true])
      assert.deepStrictEqual(yield* balanceOf(organization), [-79n, 179n])
      // What is settled is the most that a request can be promised, however large its hold.
      const large = yield* funded(100)
      yield* takeHold(large, 1_000)
      const most = yield* Effect.forkChild(holdInTurn(large, 10_000, anything), { startImmediately: true })
      assert.strictEqual(BigInt((yield* inTime(most)).amount), 99n)
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("end with a refusal that says what is held, where a cut hold pays for nothing", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      yield* takeHold(organization, 150)
      const waiting = Effect.forkChild(Effect.flip(holdInTurn(organization, 80)), { startImmediately: true })
      const refused = [yield* waiting, yield* waiting]
      for (const fiber of refused) {
        const funds = { available: -50n, held: 150n }
        assert.deepStrictEqual((yield* inTime(fiber)).reason, { _tag: "InsufficientCredits", funds })
      }
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("are not waited for where all of the money pays for no answer, as the refusal says", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      yield* takeHold(organization, 60)
      const funds = { available: 40n, held: 60n }
      const refusals = [Effect.flip(cappedInTurn(organization, 300, 200)), Effect.flip(cappedInTurn(organization, 101))]
      for (const refused of refusals)
        assert.deepStrictEqual((yield* refused).reason, { _tag: "InsufficientCredits", funds, isTooLittle: true })
      // Where it would be enough, it is in vain only while others hold it.
      const waiting = yield* Effect.forkChild(Effect.flip(cappedInTurn(organization, 300, 90)), {
        startImmediately: true
      })
      assert.deepStrictEqual((yield* inTime(waiting)).reason, { _tag: "InsufficientCredits", funds })
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("have a last try at the end, also where another one is before them and they cannot be cut", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      yield* takeHold(organization, 60)
      const first = yield* Effect.forkChild(Effect.flip(cappedInTurn(organization, 90)), { startImmediately: true })
      // Once the first one waits, and before any time has passed, so that the time of both is up at once.
      yield* Effect.scoped(takeHold(yield* funded(1), 0))
      const second = yield* Effect.forkChild(cappedInTurn(organization, 30), { startImmediately: true })
      assert.strictEqual((yield* inTime(first)).reason._tag, "InsufficientCredits")
      assert.strictEqual(BigInt((yield* inTime(second)).amount), 30n)
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("are not waited for when the money is spent, also by those who wait already", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const first = yield* takeHold(organization, 100)
      const waiting = yield* Effect.forkChild(Effect.flip(holdInTurn(organization, 10, anything)), {
        startImmediately: true
      })
      yield* seconds(1)
      // The clock stands still from here on.
      yield* first.settle(pico(101))
      const errors = [yield* Fiber.join(waiting), yield* Effect.flip(holdInTurn(organization, 10, anything))]
      for (const { reason } of errors)
        assert.deepStrictEqual(reason, { _tag: "InsufficientCredits", funds: { available: -1n, held: 0n } })
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("last longer while other holds end, but not for ever", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      yield* takeHold(organization, 1_000)
      const waiting = yield* Effect.forkChild(Effect.flip(holdInTurn(organization, 10)), { startImmediately: true })
      const ledger = yield* CreditLedger
      for (let step = 0; step < 7; step++) {
        yield* seconds(4)
        assert.isUndefined(waiting.pollUnsafe())
        yield* ledger.grant({ payment: newRequest(), organization, amount: pico(1) })
      }
      assert.strictEqual((yield* inTime(waiting)).reason._tag, "InsufficientCredits")
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("come to a gateway whose credit is held, and then released, by another one", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const [here, scope] = [yield* CreditLedger, yield* Scope.make()]
      yield* withOtherLedger(
        Effect.gen(function* () {
          yield* Scope.provide(takeHold(organization, 100), scope)
          const waiting = yield* Effect.forkChild(
            Effect.provideService(holdInTurn(organization, 10), CreditLedger, here),
            { startImmediately: true }
          )
          yield* seconds(1)
          yield* Scope.close(scope, Exit.void)
          yield* inTime(waiting)
        })
      )
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("are not taken by those who have left", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const first = yield* takeHold(organization, 100)
      const [gone, next] = [
        yield* Effect.forkChild(holdInTurn(organization, 50), { startImmediately: true }),
        yield* Effect.forkChild(holdInTurn(organization, 60), { startImmediately: true })
      ]
      yield* seconds(1)
      yield* Fiber.interrupt(gone)
      yield* first.settle(pico(0))
      yield* Fiber.join(next)
      yield* eventually(balanceOf(organization), [40n, 60n])
    }).pipe(Effect.scoped, withLedger)
  )

  const Request = Schema.Struct({
    cost: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
    spare: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))
  })
  it.effect.prop(
    "lock nobody out: whatever is held at once, all requests that the credit pays for are answered",
    { requests: Schema.Array(Request).check(Schema.isMinLength(2), Schema.isMaxLength(14)) },
    ({ requests }) =>
      Effect.gen(function* () {
        const spent = requests.reduce((sum, { cost }) => sum + cost, 0)
        const organization = yield* funded(spent + 1)
        const answer = ({ cost, spare }: (typeof requests)[number]) =>
          Effect.scoped(
            Effect.gen(function* () {
              const hold = yield* holdInTurn(organization, cost + spare)
              for (let step = 0; step < spare % 4; step++) yield* Effect.yieldNow
              yield* hold.settle(pico(cost))
            })
          )
        yield* Effect.forEach(requests, answer, { concurrency: "unbounded" })
        yield* eventually(balanceOf(organization), [1n, 0n])
      }).pipe(withLedger),
    { arbitrary: { runs: 40 } }
  )

  it.effect("leave accounts that agree with their entries and holds", () => assertBooksAgree)
})
