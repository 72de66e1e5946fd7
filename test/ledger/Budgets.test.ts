import { assert } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import type { BudgetId, OrganizationId } from "../../src/domain/Ids.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { checkBudgets } from "../../src/ledger/LedgerChecks.ts"
import type { LedgerError } from "../../src/ledger/LedgerError.ts"
import type { ReduceHold } from "../../src/ledger/PendingWrite.ts"
import { sweep } from "../../src/ledger/Sweeper.ts"
import { timestamp } from "../../src/sql/Timestamp.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { assertAllAgree, budgetAt, newBudget, requestAt, shiftedClock, takeBudgeted } from "./TestBudget.ts"
import { balanceOf, funded, pico, silenceGateways, takeHold, withLedger, withOtherLedger } from "./TestLedger.ts"

const usd = 1_000_000_000_000n
const anything: ReduceHold = (most) => most
const nothing: ReduceHold = () => undefined

/** The budget that refused a hold. */
const refusing = ({ reason }: LedgerError): BudgetId =>
  reason._tag === "BudgetExceeded" ? reason.budget.id : assert.fail(`refused with ${reason._tag}`)

/** Takes a hold of another organization: the answers to what was sent before come no later. */
const roundTrip = Effect.scoped(Effect.flatMap(funded(1), (organization) => takeHold(organization, 0)))

const seconds = Effect.fnUntraced(function* (count: number) {
  for (let check = 0; check < 4 * count; check++) {
    yield* TestClock.adjust("250 millis")
    yield* roundTrip
  }
})

/** The result of a fiber, for which time passes until it is there. */
const inTime = Effect.fnUntraced(function* <A, E>(fiber: Fiber.Fiber<A, E>) {
  while (fiber.pollUnsafe() === undefined) yield* seconds(1)
  return yield* Fiber.join(fiber)
})

/** Runs with a ledger whose clock is set by the function that it is given. */
const atTimes = <A, E, R>(use: (set: (millis: number) => void) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    let now = 0
    const shifted = shiftedClock(clock, () => now - clock.currentTimeMillisUnsafe())
    const set = (millis: number) => {
      now = millis
    }
    return yield* use(set).pipe(Effect.scoped, withLedger, Effect.provideService(Clock.Clock, shifted))
  })

/** How many of 200 callers at two gateways are answered, and the most that was ever spent and held of the budget. */
const spendTogether = Effect.fnUntraced(function* (organization: OrganizationId, budget: BudgetId, amount: bigint) {
  const here = yield* CreditLedger
  const sql = yield* SqlClient.SqlClient
  let most = 0n
  const look = Effect.map(
    sql<{ readonly used: bigint }>`SELECT spent + held AS used FROM budget WHERE id = ${budget}::uuid`,
    ([row]) => {
      most = row !== undefined && row.used > most ? row.used : most
    }
  )
  const call = (ledger: CreditLedger["Service"]) =>
    Effect.gen(function* () {
      const hold = yield* takeBudgeted({ organization, amount, budgets: [budget] })
      yield* look
      yield* hold.settle(pico(amount))
      return true
    }).pipe(
      Effect.provideService(CreditLedger, ledger),
      Effect.scoped,
      Effect.catchIf(
        (error) => error._tag === "LedgerError" && error.reason._tag === "BudgetExceeded",
        () => Effect.succeed(false)
      )
    )
  const answers = yield* withOtherLedger(
    Effect.flatMap(CreditLedger, (there) =>
      Effect.forEach(
        Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? here : there)),
        call,
        { concurrency: "unbounded" }
      )
    )
  )
  return { answered: answers.filter(Boolean).length, most }
})

describeOnEngines("Budgets", (it) => {
  it.effect("of one dollar are passed by less than one hold, by 200 callers at two gateways", () =>
    Effect.gen(function* () {
      const organization = yield* funded(1_000n * usd)
      const budget = yield* newBudget(organization, usd)
      const amount = 30_000_000_000n
      const { answered, most } = yield* spendTogether(organization, budget, amount)
      assert.strictEqual(answered, 34)
      assert.isAtMost(Number(most - usd), Number(amount) - 1)
      assert.deepStrictEqual(yield* budgetAt(budget), [34n * amount, 0n])
      assert.deepStrictEqual(yield* balanceOf(organization), [1_000n * usd - 34n * amount, 0n])
      yield* assertAllAgree
    }).pipe(withLedger)
  )

  it.effect("of a key stop that key and no other, in the same batch and later", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const [small, large, all] = [
        yield* newBudget(organization, 5),
        yield* newBudget(organization, 50),
        yield* newBudget(organization, 60)
      ]
      const calls = [small, small, small, large, small, large].map((budget) =>
        Effect.exit(takeBudgeted({ organization, amount: 20, budgets: [budget, all] }))
      )
      const exits = yield* Effect.all(calls, { concurrency: "unbounded" })
      assert.deepStrictEqual(exits.map(Exit.isSuccess), [true, false, false, true, false, true])
      const refused = Effect.flip(takeBudgeted({ organization, amount: 1, budgets: [small, all] }))
      assert.strictEqual(refusing(yield* refused), small)
      yield* takeHold(organization, 20)
      yield* assertAllAgree
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("are all looked at, and the one is named that is spent rather than held", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const [held, spent] = [yield* newBudget(organization, 10), yield* newBudget(organization, 5)]
      const one = yield* takeBudgeted({ organization, amount: 5, budgets: [spent] })
      yield* one.settle(pico(7))
      yield* takeBudgeted({ organization, amount: 10, budgets: [held] })
      const both = Effect.flip(takeBudgeted({ organization, amount: 1, budgets: [held, spent], reduce: anything }))
      // The clock stands still: what is spent is not waited for.
      const { reason } = yield* both
      const budget = reason._tag === "BudgetExceeded" ? reason.budget : assert.fail(reason._tag)
      assert.deepStrictEqual(
        [budget.id, budget.period, budget.amount, budget.spent, budget.held, budget.renewsAtMillis],
        [spent, "total", pico(5), pico(7), pico(0), undefined]
      )
      const empty = yield* funded(1)
      yield* (yield* takeHold(empty, 1)).settle(pico(1))
      const noCredit = yield* Effect.flip(takeBudgeted({ organization: empty, amount: 1, budgets: [spent] }))
      assert.strictEqual(noCredit.reason._tag, "InsufficientCredits")
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("begin anew at the month's end of their own zone, and not before", () =>
    atTimes(
      Effect.fnUntraced(function* (set) {
        const zone = "Pacific/Auckland"
        // Midnight of the first of May in Auckland is noon of the last of April in Greenwich.
        const end = Date.UTC(2026, 3, 30, 12)
        set(end - 60_000)
        const organization = yield* funded(100)
        const budget = yield* newBudget(organization, 10, { period: "month", zone, atMillis: end - 60_000 })
        const late = yield* takeBudgeted({ organization, amount: 4, budgets: [budget] })
        yield* (yield* takeBudgeted({ organization, amount: 8, budgets: [budget] })).settle(pico(9))
        set(end - 1)
        const { reason } = yield* Effect.flip(takeBudgeted({ organization, amount: 1, budgets: [budget] }))
        assert.strictEqual(reason._tag === "BudgetExceeded" ? reason.budget.renewsAtMillis : reason._tag, end)
        set(end)
        yield* takeBudgeted({ organization, amount: 3, budgets: [budget] })
        assert.deepStrictEqual(yield* budgetAt(budget, end), [0n, 3n])
        // A request of the old month is paid by the old month, and takes nothing from the new one.
        yield* late.settle(pico(5))
        assert.deepStrictEqual(yield* budgetAt(budget, end), [0n, 3n])
        // The clock of another gateway, which is a little behind, does not bring the old month back.
        set(end - 5)
        yield* takeBudgeted({ organization, amount: 2, budgets: [budget] })
        assert.deepStrictEqual(yield* budgetAt(budget, end), [0n, 5n])
        yield* assertAllAgree
      })
    )
  )

  it.effect("renew at the right instant, in weeks from Monday and where clocks change", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const renewal = Effect.fnUntraced(function* (period: string, zone: string, at: string) {
        const [row] = yield* sql<{ readonly starts: Date; readonly renews: Date }>`
          SELECT start AS starts, budget_renewal(${period}, ${zone}, start) AS renews
          FROM budget_period_start(${period}, ${zone}, ${timestamp(Date.parse(at))}) AS start`
        return [row?.starts.toISOString(), row?.renews.toISOString()]
      })
      assert.deepStrictEqual(yield* renewal("week", "UTC", "2026-11-22T23:59:00Z"), [
        "2026-11-16T00:00:00.000Z",
        "2026-11-23T00:00:00.000Z"
      ])
      assert.deepStrictEqual(yield* renewal("day", "Europe/Berlin", "2026-10-25T12:00:00Z"), [
        "2026-10-24T22:00:00.000Z",
        "2026-10-25T23:00:00.000Z"
      ])
      // Midnight is left out in Beirut on the last Sunday of March.
      assert.deepStrictEqual(yield* renewal("day", "Asia/Beirut", "2026-03-29T12:00:00Z"), [
        "2026-03-28T22:00:00.000Z",
        "2026-03-29T21:00:00.000Z"
      ])
      assert.deepStrictEqual(yield* renewal("month", "America/New_York", "2028-02-29T12:00:00Z"), [
        "2028-02-01T05:00:00.000Z",
        "2028-03-01T05:00:00.000Z"
      ])
    })
  )

  it.effect("get back what a gateway held that died, and count a charge that comes too late for its hold", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const budget = yield* newBudget(organization, 10)
      const lost = yield* takeBudgeted({ organization, amount: 10, budgets: [budget] })
      yield* silenceGateways
      yield* sweep
      assert.deepStrictEqual(
        [yield* budgetAt(budget), yield* balanceOf(organization)],
        [
          [0n, 0n],
          [100n, 0n]
        ]
      )
      yield* lost.settle(pico(6))
      assert.deepStrictEqual(
        [yield* budgetAt(budget), yield* balanceOf(organization)],
        [
          [6n, 0n],
          [94n, 0n]
        ]
      )
      yield* assertAllAgree
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("limit nothing once they are removed, and what they held is given back all the same", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const organization = yield* funded(100)
      const budget = yield* newBudget(organization, 10)
      const hold = yield* takeBudgeted({ organization, amount: 10, budgets: [budget] })
      yield* sql`UPDATE budget SET removed_at = now() WHERE id = ${budget}::uuid`
      yield* takeBudgeted({ organization, amount: 10, budgets: [budget] })
      yield* hold.settle(pico(3))
      assert.deepStrictEqual(yield* budgetAt(budget), [3n, 10n])
      yield* assertAllAgree
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("are waited for in turn while only other holds are in the way, and other keys are not", () =>
    Effect.gen(function* () {
      const organization = yield* funded(1_000)
      const [budget, other] = [yield* newBudget(organization, 10), yield* newBudget(organization, 10)]
      const first = yield* takeBudgeted({ organization, amount: 10, budgets: [budget] })
      const order: Array<string> = []
      const waiting = (name: string, budgets: ReadonlyArray<BudgetId>) =>
        Effect.forkChild(
          Effect.tap(takeBudgeted({ organization, amount: 6, budgets, reduce: nothing }), () =>
            Effect.sync(() => order.push(name))
          ),
          { startImmediately: true }
        )
      const [b, c, d] = [yield* waiting("b", [budget]), yield* waiting("c", [budget]), yield* waiting("d", [budget])]
      yield* seconds(1)
      yield* Fiber.join(yield* waiting("another key", [other]))
      yield* Fiber.join(yield* waiting("no budget", []))
      assert.deepStrictEqual(order, ["another key", "no budget"])
      yield* first.settle(pico(1))
      const held = yield* Fiber.join(b)
      yield* Fiber.join(c)
      assert.deepStrictEqual(order, ["another key", "no budget", "b", "c"])
      yield* held.settle(pico(1))
      yield* Fiber.join(d)
      yield* assertAllAgree
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("are passed by less than one hold where a hold is cut in the end, to what the tightest of them pays", () =>
    Effect.gen(function* () {
      const organization = yield* funded(1_000)
      const [budget, all] = [yield* newBudget(organization, 20), yield* newBudget(organization, 100)]
      yield* takeBudgeted({ organization, amount: 45, budgets: [budget, all] })
      const cut = yield* Effect.forkChild(
        takeBudgeted({ organization, amount: 30, budgets: [budget, all], reduce: anything }),
        { startImmediately: true }
      )
      const { amount, isReduced } = yield* inTime(cut)
      assert.deepStrictEqual([BigInt(amount), isReduced], [4n, true])
      const refused = yield* Effect.forkChild(
        Effect.flip(takeBudgeted({ organization, amount: 30, budgets: [budget, all], reduce: nothing })),
        { startImmediately: true }
      )
      assert.strictEqual(refusing(yield* inTime(refused)), budget)
      yield* assertAllAgree
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("that are spent refuse those who wait for the balance as well", () =>
    Effect.gen(function* () {
      const organization = yield* funded(100)
      const budget = yield* newBudget(organization, 10)
      const scope = yield* Scope.make()
      yield* Scope.provide(takeHold(organization, 100), scope)
      const waiting = yield* Effect.forkChild(
        Effect.flip(takeBudgeted({ organization, amount: 5, budgets: [budget], reduce: nothing })),
        { startImmediately: true }
      )
      yield* seconds(1)
      const ledger = yield* CreditLedger
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE budget SET spent = 10 WHERE id = ${budget}::uuid`
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(refusing(yield* inTime(waiting)), budget)
      yield* ledger.hold({ request: requestAt(0), organization, amount: pico(1), reduce: nothing })
    }).pipe(Effect.scoped, withLedger)
  )

  it.effect("whose held part is wrong, or of which less than nothing is spent, are found by the check", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const organization = yield* funded(100)
      const [wrong, negative] = [yield* newBudget(organization, 10), yield* newBudget(organization, 10)]
      yield* sql`UPDATE budget SET held = 1 WHERE id = ${wrong}::uuid`
      yield* sql`UPDATE budget SET spent = -1 WHERE id = ${negative}::uuid`
      const { failed, rows } = yield* checkBudgets
      assert.strictEqual(failed, 2)
      assert.deepStrictEqual(
        new Map(rows.map(({ budget, held, holds, spent }) => [budget, [spent, held, holds]])),
        new Map([
          [wrong, [0n, 1n, 0n].map(pico)],
          [negative, [-1n, 0n, 0n].map(pico)]
        ])
      )
      yield* sql`UPDATE budget SET held = 0, spent = 0 WHERE organization_id = ${organization}::uuid`
      yield* assertAllAgree
    }).pipe(withLedger)
  )
})
