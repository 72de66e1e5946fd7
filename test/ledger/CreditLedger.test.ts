import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Scope } from "effect"
import { SqlClient } from "effect/sql"

import { maximum } from "../../src/domain/Money.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { sweep } from "../../src/ledger/Sweeper.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import {
  assertBooksAgree,
  balanceOf,
  charges,
  funded,
  newOrganization,
  newRequest,
  pico,
  silenceGateways,
  takeHold,
  withLedger
} from "./TestLedger.ts"

describeOnEngines("CreditLedger", (it) => {
  it.effect("books a payment once, however often it is granted", () =>
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const payment = { payment: newRequest(), organization: newOrganization(), amount: pico(500) }
      const granted = yield* Effect.all([ledger.grant(payment), ledger.grant(payment)], { concurrency: 2 })
      assert.deepStrictEqual(granted.toSorted(), [false, true])
      assert.isFalse(yield* ledger.grant({ ...payment, amount: pico(9) }))
      assert.deepStrictEqual(yield* balanceOf(payment.organization), [500n, 0n])
    }).pipe(withLedger)
  )

  it.effect("refuses grants that do not fit into an account, and leaves it unchanged", () =>
    Effect.gen(function* () {
      const ledger = yield* CreditLedger
      const organization = yield* funded(maximum)
      yield* ledger.grant({ payment: newRequest(), organization, amount: maximum })
      for (const amount of [maximum, pico(maximum + 1n), pico(0), pico(-1)]) {
        const error = yield* Effect.flip(ledger.grant({ payment: newRequest(), organization, amount }))
        assert.strictEqual(error.reason._tag, "AmountOutOfRange")
      }
      yield* takeHold(organization, maximum)
      const whileHeld = ledger.grant({ payment: newRequest(), organization, amount: maximum })
      assert.strictEqual((yield* Effect.flip(whileHeld)).reason._tag, "AmountOutOfRange")
      assert.deepStrictEqual(yield* balanceOf(organization), [BigInt(maximum), BigInt(maximum)])
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("takes a hold from the balance at once, and ends it with a charge or a refund", () =>
    Effect.gen(function* () {
      const organization = yield* funded(1_000)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const hold = yield* takeHold(organization, 300)
          assert.deepStrictEqual(yield* balanceOf(organization), [700n, 300n])
          yield* hold.settle(pico(120))
          assert.deepStrictEqual(yield* balanceOf(organization), [880n, 0n])
        })
      )
      yield* Effect.scoped(takeHold(organization, 300))
      assert.deepStrictEqual(yield* balanceOf(organization), [880n, 0n])
      assert.deepStrictEqual(yield* charges(organization), [120n])
    }).pipe(withLedger)
  )

  it.effect("refuses only when nothing is left, so an organization overdraws by at most one hold", () =>
    Effect.gen(function* () {
      const organization = yield* funded(101)
      yield* takeHold(organization, 100)
      yield* takeHold(organization, 100)
      assert.deepStrictEqual(yield* balanceOf(organization), [-99n, 200n])
      const overdrawn = yield* Effect.flip(takeHold(organization, 0))
      const unknown = yield* Effect.flip(takeHold(newOrganization(), 1))
      assert.deepStrictEqual(
        [overdrawn.reason._tag, unknown.reason._tag],
        ["InsufficientCredits", "InsufficientCredits"]
      )
    }).pipe(Effect.scoped, withLedger)
  )

  for (const balance of [901, 950, 1_000]) {
    it.effect(`grants exactly the first ten of 200 concurrent holds of 100 on a balance of ${balance}`, () =>
      Effect.gen(function* () {
        const organization = yield* funded(balance)
        const exits = yield* Effect.forEach(
          Array.from({ length: 200 }),
          () => Effect.exit(takeHold(organization, 100)),
          {
            concurrency: "unbounded"
          }
        )
        const granted = exits.flatMap((exit, index) => (Exit.isSuccess(exit) ? [index] : []))
        assert.deepStrictEqual(granted, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        assert.deepStrictEqual(yield* balanceOf(organization), [BigInt(balance) - 1_000n, 1_000n])
      }).pipe(Effect.scoped, withLedger)
    )
  }

  it.effect("charges the first amount once, however often and whenever the hold is settled again", () =>
    Effect.gen(function* () {
      const organization = yield* funded(1_000)
      const scope = yield* Scope.make()
      const hold = yield* Scope.provide(takeHold(organization, 300), scope)
      yield* Effect.all([hold.settle(pico(70)), hold.settle(pico(80))], { concurrency: 2 })
      yield* hold.settle(pico(90))
      yield* Scope.close(scope, Exit.void)
      yield* hold.settle(pico(100))
      const refunded = yield* Effect.scoped(takeHold(organization, 300))
      yield* refunded.settle(pico(1))
      assert.deepStrictEqual([yield* balanceOf(organization), yield* charges(organization)], [[930n, 0n], [70n]])
    }).pipe(withLedger)
  )

  it.effect("leaves no hold and no charge behind when requests are interrupted, fail or die", () =>
    Effect.gen(function* () {
      const organization = yield* funded(1_000_000)
      const request = (index: number) =>
        Effect.gen(function* () {
          const hold = yield* takeHold(organization, 100)
          for (let step = 0; step < index % 7; step++) yield* Effect.yieldNow
          if (index % 5 === 0) return yield* Effect.fail("upstream failed")
          if (index % 5 === 1) return yield* Effect.die("defect")
          yield* hold.settle(pico(40))
        }).pipe(Effect.scoped)
      const fibers = yield* Effect.forEach(Array.from({ length: 400 }), (_, index) => Effect.forkChild(request(index)))
      yield* Effect.forEach(fibers, (fiber, index) => (index % 3 === 0 ? Fiber.interrupt(fiber) : Effect.yieldNow))
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      const booked = (yield* charges(organization)).length
      assert.isAtLeast(booked, exits.filter(Exit.isSuccess).length)
      assert.isAbove(exits.filter((exit) => Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)).length, 0)
      assert.deepStrictEqual(yield* balanceOf(organization), [1_000_000n - 40n * BigInt(booked), 0n])
    }).pipe(withLedger)
  )

  it.effect("charges in full after a sweep that was wrong", () =>
    Effect.gen(function* () {
      const organization = yield* funded(1_000)
      const late = yield* takeHold(organization, 300)
      yield* takeHold(organization, 200)
      yield* silenceGateways
      yield* sweep
      assert.deepStrictEqual(yield* balanceOf(organization), [1_000n, 0n])
      yield* late.settle(pico(250))
      yield* late.settle(pico(250))
      assert.deepStrictEqual([yield* balanceOf(organization), yield* charges(organization)], [[750n, 0n], [250n]])
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("refunds open holds and releases its lease when it stops", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const scope = yield* Scope.make()
      const organization = yield* withLedger(
        Effect.gen(function* () {
          const organization = yield* funded(1_000)
          const settled = yield* Scope.provide(takeHold(organization, 300), scope)
          yield* Scope.provide(takeHold(organization, 300), scope)
          yield* Effect.forkChild(settled.settle(pico(10)), { startImmediately: true })
          return organization
        })
      )
      assert.deepStrictEqual(yield* withLedger(balanceOf(organization)), [990n, 0n])
      assert.deepStrictEqual(yield* sql`SELECT id FROM gateway_lease`, [])
    })
  )

  it.effect("keeps accounts that agree with their entries and holds, after all of the above", () => assertBooksAgree)
})
