import { assert } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Latch, Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { TestClock } from "effect/testing"

import { maximum } from "../../src/domain/Money.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import {
  assertBooksAgree,
  books,
  charges,
  connectionLost,
  eventually,
  funded,
  newOrganization,
  newRequest,
  take,
  pico,
  withLedger,
  withLedgerOver
} from "./TestLedger.ts"

type Statement = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

/** Breaks the connection `times` times, after or instead of the commit. */
const losing = (times: number, lost: "answer" | "statement") => {
  let left = times
  return (statement: Statement): Statement =>
    Effect.suspend(() => {
      if (left-- <= 0) return statement
      return lost === "answer" ? Effect.andThen(statement, connectionLost) : connectionLost
    })
}

/** Lets the clock run, ten times as fast as the real one, beside an effect that sleeps between its tries. */
const whileTimePasses = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(effect, Effect.forever(Effect.andThen(TestClock.adjust("50 millis"), realMillis(5))))

const realMillis = (millis: number) => Effect.promise(() => new Promise((resolve) => setTimeout(resolve, millis)))

/** The database answers nothing until the latch opens. */
const stalled = (latch: Latch.Latch) => (statement: Statement) => latch.whenOpen(statement)

describeOnEngines("GroupCommit", (it) => {
  for (const lost of ["answer", "statement"] as const) {
    it.effect(`neither loses nor repeats a write when a connection breaks and the ${lost} is lost`, () =>
      withLedgerOver(
        losing(3, lost),
        Effect.gen(function* () {
          const organization = yield* funded(150)
          const tries = Array.from({ length: 6 }, () => Effect.exit(take(organization, 100)))
          const exits = yield* whileTimePasses(Effect.all(tries, { concurrency: "unbounded" }))
          assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, false, false, false])
          assert.deepStrictEqual(yield* books(organization), [-50n, 200n])
        }).pipe(Effect.scoped)
      )
    )

    it.effect(`charges once when the ${lost} to a settlement is lost`, () =>
      Effect.gen(function* () {
        let run = (statement: Statement) => statement
        yield* withLedgerOver(
          (statement) => run(statement),
          Effect.gen(function* () {
            const organization = yield* funded(1_000)
            const hold = yield* take(organization, 100)
            run = losing(3, lost)
            yield* whileTimePasses(hold.settle(pico(60)))
            assert.deepStrictEqual([yield* books(organization), yield* charges(organization)], [[940n, 0n], [60n]])
          }).pipe(Effect.scoped)
        )
      })
    )
  }

  it.effect("fails a hold that waits too long, and gives it back when it was taken after all", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make()
      yield* withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          const organization = yield* funded(1_000)
          const inFlight = yield* Effect.forkChild(Effect.flip(take(organization, 100)))
          yield* TestClock.adjust("1 second")
          const queued = yield* Effect.forkChild(Effect.flip(take(organization, 100)))
          yield* TestClock.adjust("7 seconds")
          const reasons = [yield* Fiber.join(inFlight), yield* Fiber.join(queued)].map((error) => error.reason._tag)
          assert.deepStrictEqual(reasons, ["Unavailable", "Unavailable"])
          yield* latch.open
          yield* Effect.scoped(take(organization, 1))
          assert.deepStrictEqual(yield* books(organization), [1_000n, 0n])
        }).pipe(Effect.scoped)
      )
    })
  )

  it.effect("gives back a hold whose caller was interrupted while it was in flight", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make()
      const sent = yield* Deferred.make<void>()
      yield* withLedgerOver(
        (statement) => Effect.andThen(Deferred.succeed(sent, undefined), latch.whenOpen(statement)),
        Effect.gen(function* () {
          const organization = yield* funded(1_000)
          const scope = yield* Scope.make()
          const caller = yield* Effect.forkChild(Scope.provide(take(organization, 100), scope))
          yield* Deferred.await(sent)
          yield* Fiber.interrupt(caller)
          yield* latch.open
          yield* Effect.scoped(take(organization, 1))
          assert.deepStrictEqual(yield* books(organization), [1_000n, 0n])
        })
      )
    })
  )

  it.effect("gives back a hold whose caller left while the connection was being made again", () =>
    Effect.gen(function* () {
      const broken = yield* Deferred.make<void>()
      let first = true
      const loseFirst = (statement: Statement): Statement =>
        Effect.suspend(() => {
          if (!first) return statement
          first = false
          return statement.pipe(Effect.andThen(Deferred.succeed(broken, undefined)), Effect.andThen(connectionLost))
        })
      yield* withLedgerOver(
        loseFirst,
        Effect.gen(function* () {
          const organization = yield* funded(1_000)
          const caller = yield* Effect.forkChild(take(organization, 100))
          yield* Deferred.await(broken)
          assert.deepStrictEqual(yield* books(organization), [900n, 100n])
          yield* Fiber.interrupt(caller)
          yield* whileTimePasses(eventually(books(organization), [1_000n, 0n]))
        }).pipe(Effect.scoped)
      )
    })
  )

  it.effect("lets a settlement go after a second while the database stalls, and books it later", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make(true)
      yield* withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          const organization = yield* funded(1_000)
          const hold = yield* take(organization, 100)
          yield* latch.close
          const settling = yield* Effect.forkChild(hold.settle(pico(60)))
          yield* TestClock.adjust("1250 millis")
          yield* Fiber.join(settling)
          assert.deepStrictEqual(yield* books(organization), [900n, 100n])
          yield* latch.open
          yield* hold.settle(pico(60))
          yield* Effect.scoped(take(organization, 1))
          assert.deepStrictEqual(yield* books(organization), [940n, 0n])
        }).pipe(Effect.scoped)
      )
    })
  )

  it.effect("fails further holds at once when 10,000 wait", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make()
      yield* withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          const organization = newOrganization()
          const first = yield* Effect.forkChild(Effect.exit(take(organization, 1)), { startImmediately: true })
          yield* TestClock.adjust(0)
          const ask = Effect.forkChild(Effect.exit(take(organization, 1)), { startImmediately: true })
          const waiting = yield* Effect.replicateEffect(ask, 10_000)
          const error = yield* Effect.flip(take(organization, 1))
          assert.strictEqual(error.reason._tag, "Unavailable")
          yield* Fiber.interruptAll([first, ...waiting])
          yield* latch.open
        }).pipe(Effect.scoped)
      )
    })
  )

  it.effect("keeps a row that the database rejects from its neighbours", () =>
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      // Two times the maximum fits into an account, three times does not: below zero as above.
      const organization = yield* funded(1)
      const poisoned = yield* Effect.all([take(organization, 0), take(organization, 0), take(organization, 0)])
      const rich = yield* funded(maximum)
      yield* ledger.grant({ payment: newRequest(), organization: rich, amount: maximum })
      yield* take(rich, maximum)
      yield* take(rich, maximum - 1n)
      const neighbour = yield* funded(1_000)
      const settled = yield* take(neighbour, 100)
      const outcomes = yield* Effect.all(
        [
          take(neighbour, 1),
          Effect.flip(take(rich, maximum)),
          Effect.flip(take(newOrganization(), 1)),
          settled.settle(pico(30)),
          take(neighbour, 2)
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        [outcomes[1].reason._tag, outcomes[2].reason._tag],
        ["AmountOutOfRange", "InsufficientCredits"]
      )
      assert.deepStrictEqual(yield* books(neighbour), [967n, 3n])

      const charged = yield* Effect.forkChild(
        Effect.forEach(poisoned, (hold) => hold.settle(maximum), { concurrency: "unbounded" })
      )
      yield* Effect.scoped(take(neighbour, 1))
      assert.deepStrictEqual((yield* charges(organization)).length, 2)
      // The third stays with the lane: it is tried again after a minute, when there is room for it.
      const sql = yield* SqlClient.SqlClient
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(charged)
      yield* ledger.grant({ payment: newRequest(), organization, amount: maximum })
      yield* TestClock.adjust("1 minute")
      yield* Effect.scoped(take(neighbour, 1))
      assert.deepStrictEqual((yield* charges(organization)).length, 3)
      assert.deepStrictEqual(yield* sql`SELECT id FROM credit_hold WHERE organization_id = ${organization}::uuid`, [])
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("writes what is on its way before it closes", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make(true)
      let organization = newOrganization()
      const scope = yield* Scope.make()
      const closing = yield* withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          organization = yield* funded(1_000)
          const hold = yield* Scope.provide(take(organization, 100), scope)
          yield* latch.close
          yield* Effect.forkDetach(hold.settle(pico(60)), { startImmediately: true })
          yield* Effect.forkDetach(Effect.andThen(realMillis(0), latch.open))
        })
      ).pipe(Effect.exit)
      assert.isTrue(Exit.isSuccess(closing))
      assert.deepStrictEqual(yield* charges(organization), [60n])
    })
  )

  it.effect("closes within bounded time when the database stalls, and gives the hold of a lost charge back", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make(true)
      const organization = newOrganization()
      const boot = withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          const ledger = yield* CreditLedger
          yield* ledger.grant({ payment: newRequest(), organization, amount: pico(1_000) })
          const hold = yield* Scope.provide(take(organization, 100), yield* Scope.make())
          yield* latch.close
          yield* Effect.forkDetach(hold.settle(pico(60)), { startImmediately: true })
        })
      )
      yield* whileTimePasses(boot)
      yield* latch.open
      assert.deepStrictEqual(yield* charges(organization), [])
      assert.deepStrictEqual(yield* withLedger(books(organization)), [1_000n, 0n])
    })
  )

  it.effect("keeps books that agree, after all of the above", () => assertBooksAgree)
})
