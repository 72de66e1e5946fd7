import { assert } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Latch, Logger, References, Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { TestClock } from "effect/testing"

import { maximum } from "../../src/domain/Money.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { realMillis, whileTimePasses } from "../support/PassingTime.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import {
  assertBooksAgree,
  balanceOf,
  charges,
  connectionLost,
  eventually,
  funded,
  newOrganization,
  newRequest,
  takeHold,
  pico,
  withLedger,
  withLedgerOver,
  withOtherLedger
} from "./TestLedger.ts"

type Statement = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

/** Loses the connection `times` times: after the commit, or instead of it. */
const losing = (times: number, lost: "answer" | "statement") => {
  let left = times
  return (statement: Statement): Statement =>
    Effect.suspend(() => {
      if (left-- <= 0) return statement
      return lost === "answer" ? Effect.andThen(statement, connectionLost) : connectionLost
    })
}

/** Delays every statement until the latch opens. */
const stalled = (latch: Latch.Latch) => (statement: Statement) => latch.whenOpen(statement)

describeOnEngines("GroupCommit", (it) => {
  for (const lost of ["answer", "statement"] as const) {
    it.effect(`neither loses nor repeats a write when a connection breaks and the ${lost} is lost`, () =>
      withLedgerOver(
        losing(3, lost),
        Effect.gen(function* () {
          const organization = yield* funded(150)
          const tries = Array.from({ length: 6 }, () => Effect.exit(takeHold(organization, 100)))
          const exits = yield* whileTimePasses(Effect.all(tries, { concurrency: "unbounded" }))
          assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, true, false, false, false, false])
          assert.deepStrictEqual(yield* balanceOf(organization), [-50n, 200n])
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
            const hold = yield* takeHold(organization, 100)
            run = losing(3, lost)
            yield* whileTimePasses(hold.settle(pico(60)))
            assert.deepStrictEqual([yield* balanceOf(organization), yield* charges(organization)], [[940n, 0n], [60n]])
          }).pipe(Effect.scoped)
        )
      })
    )
  }

  it.effect("fails a hold that waits for too long, and refunds it if it was stored after all", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make()
      yield* withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          const organization = yield* funded(1_000)
          const inFlight = yield* Effect.forkChild(Effect.flip(takeHold(organization, 100)))
          yield* TestClock.adjust("1 second")
          const queued = yield* Effect.forkChild(Effect.flip(takeHold(organization, 100)))
          yield* TestClock.adjust("12 seconds")
          const reasons = [yield* Fiber.join(inFlight), yield* Fiber.join(queued)].map((error) => error.reason._tag)
          assert.deepStrictEqual(reasons, ["Unavailable", "Unavailable"])
          yield* latch.open
          yield* Effect.scoped(takeHold(organization, 1))
          assert.deepStrictEqual(yield* balanceOf(organization), [1_000n, 0n])
        }).pipe(Effect.scoped)
      )
    })
  )

  it.effect("refunds a hold whose caller was interrupted while it was in flight", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make()
      const sent = yield* Deferred.make<void>()
      yield* withLedgerOver(
        (statement) => Effect.andThen(Deferred.succeed(sent, undefined), latch.whenOpen(statement)),
        Effect.gen(function* () {
          const organization = yield* funded(1_000)
          const scope = yield* Scope.make()
          const caller = yield* Effect.forkChild(Scope.provide(takeHold(organization, 100), scope))
          yield* Deferred.await(sent)
          yield* Fiber.interrupt(caller)
          yield* latch.open
          yield* Effect.scoped(takeHold(organization, 1))
          assert.deepStrictEqual(yield* balanceOf(organization), [1_000n, 0n])
        })
      )
    })
  )

  it.effect("refunds a hold whose caller was interrupted while the batch waited to be tried again", () =>
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
          const caller = yield* Effect.forkChild(takeHold(organization, 100))
          yield* Deferred.await(broken)
          assert.deepStrictEqual(yield* balanceOf(organization), [900n, 100n])
          yield* Fiber.interrupt(caller)
          yield* whileTimePasses(eventually(balanceOf(organization), [1_000n, 0n]))
        }).pipe(Effect.scoped)
      )
    })
  )

  it.effect("returns from a settlement after a second if the database does not answer, and books it later", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make(true)
      yield* withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          const organization = yield* funded(1_000)
          const hold = yield* takeHold(organization, 100)
          yield* latch.close
          const settlement = yield* Effect.forkChild(hold.settle(pico(60)))
          yield* TestClock.adjust("1250 millis")
          yield* Fiber.join(settlement)
          assert.deepStrictEqual(yield* balanceOf(organization), [900n, 100n])
          yield* latch.open
          yield* hold.settle(pico(60))
          yield* Effect.scoped(takeHold(organization, 1))
          assert.deepStrictEqual(yield* balanceOf(organization), [940n, 0n])
        }).pipe(Effect.scoped)
      )
    })
  )

  it.effect("fails a hold at once when 10,000 others wait", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make()
      yield* withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          const organization = newOrganization()
          const first = yield* Effect.forkChild(Effect.exit(takeHold(organization, 1)), { startImmediately: true })
          yield* TestClock.adjust(0)
          const waitingHold = Effect.forkChild(Effect.exit(takeHold(organization, 1)), { startImmediately: true })
          const waiting = yield* Effect.replicateEffect(waitingHold, 10_000)
          const error = yield* Effect.flip(takeHold(organization, 1))
          assert.strictEqual(error.reason._tag, "Unavailable")
          yield* Fiber.interruptAll([first, ...waiting])
          yield* latch.open
        }).pipe(Effect.scoped)
      )
    })
  )

  it.effect("writes all other rows of a batch when the database rejects one", () =>
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      // Twice the maximum amount fits into an account, three times does not, whether positive or negative.
      const organization = yield* funded(1)
      const overflowing = yield* Effect.all([
        takeHold(organization, 0),
        takeHold(organization, 0),
        takeHold(organization, 0)
      ])
      const rich = yield* funded(maximum)
      yield* ledger.grant({ payment: newRequest(), organization: rich, amount: maximum })
      yield* takeHold(rich, maximum)
      yield* takeHold(rich, maximum - 1n)
      const other = yield* funded(1_000)
      const settled = yield* takeHold(other, 100)
      const outcomes = yield* Effect.all(
        [
          takeHold(other, 1),
          Effect.flip(takeHold(rich, maximum)),
          Effect.flip(takeHold(newOrganization(), 1)),
          settled.settle(pico(30)),
          takeHold(other, 2)
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        [outcomes[1].reason._tag, outcomes[2].reason._tag],
        ["AmountOutOfRange", "InsufficientCredits"]
      )
      assert.deepStrictEqual(yield* balanceOf(other), [967n, 3n])

      const charged = yield* Effect.forkChild(
        Effect.forEach(overflowing, (hold) => hold.settle(maximum), { concurrency: "unbounded" })
      )
      yield* Effect.scoped(takeHold(other, 1))
      assert.deepStrictEqual((yield* charges(organization)).length, 2)
      // The third charge stays in the queue and is tried again after a minute, when it fits.
      const sql = yield* SqlClient.SqlClient
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(charged)
      yield* ledger.grant({ payment: newRequest(), organization, amount: maximum })
      yield* TestClock.adjust("1 minute")
      yield* Effect.scoped(takeHold(other, 1))
      assert.deepStrictEqual((yield* charges(organization)).length, 3)
      assert.deepStrictEqual(yield* sql`SELECT id FROM credit_hold WHERE organization_id = ${organization}::uuid`, [])
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("writes what is queued before it closes", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make(true)
      let organization = newOrganization()
      const scope = yield* Scope.make()
      const closing = yield* withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          organization = yield* funded(1_000)
          const hold = yield* Scope.provide(takeHold(organization, 100), scope)
          yield* latch.close
          yield* Effect.forkDetach(hold.settle(pico(60)), { startImmediately: true })
          yield* Effect.forkDetach(Effect.andThen(realMillis(0), latch.open))
        })
      ).pipe(Effect.exit)
      assert.isTrue(Exit.isSuccess(closing))
      assert.deepStrictEqual(yield* charges(organization), [60n])
    })
  )

  it.effect("closes within bounded time if the database does not answer, and refunds the hold of a lost charge", () =>
    Effect.gen(function* () {
      const [latch, closing] = [yield* Latch.make(true), yield* Latch.make()]
      const organization = newOrganization()
      const boot = withLedgerOver(
        stalled(latch),
        Effect.gen(function* () {
          const ledger = yield* CreditLedger
          yield* ledger.grant({ payment: newRequest(), organization, amount: pico(1_000) })
          const hold = yield* Scope.provide(takeHold(organization, 100), yield* Scope.make())
          yield* latch.close
          yield* Effect.forkDetach(hold.settle(pico(60)), { startImmediately: true })
          yield* closing.open
        })
      )
      const ended = yield* Effect.forkChild(boot)
      yield* closing.await
      yield* whileTimePasses(Fiber.join(ended), "50 millis")
      yield* latch.open
      assert.deepStrictEqual(yield* charges(organization), [])
      assert.deepStrictEqual(yield* withLedger(balanceOf(organization)), [1_000n, 0n])
    })
  )

  it.effect(
    "says which charge is lost that comes after the queue has closed, and does not keep its caller waiting",
    () =>
      Effect.gen(function* () {
        const lines: Array<unknown> = []
        const log = Logger.make(
          ({ fiber, logLevel, message }) =>
            void lines.push([logLevel, message, fiber.getRef(References.CurrentLogAnnotations)])
        )
        const organization = newOrganization()
        const hold = yield* withLedger(
          Effect.gen(function* () {
            const ledger = yield* CreditLedger
            yield* ledger.grant({ payment: newRequest(), organization, amount: pico(1_000) })
            return yield* Scope.provide(takeHold(organization, 100), yield* Scope.make())
          })
        )
        yield* hold.settle(pico(60)).pipe(Effect.provide(Logger.layer([log])))
        assert.match(JSON.stringify(lines), /Error.*A charge could not be written and is lost.*"60"/)
        assert.include(JSON.stringify(lines), hold.request)
        assert.deepStrictEqual(yield* withOtherLedger(balanceOf(organization)), [1_000n, 0n])
      })
  )

  it.effect("keeps accounts that agree with their entries and holds, after all of the above", () => assertBooksAgree)
})
