/** For the suites of budgets: budgets in the database, requests of a time, and a ledger whose clock tests set. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"

import type { BudgetPeriod } from "../../src/domain/Budget.ts"
import { type BudgetId, budgetId, type OrganizationId, requestId } from "../../src/domain/Ids.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { checkBudgets } from "../../src/ledger/LedgerChecks.ts"
import type { ReduceHold } from "../../src/ledger/PendingWrite.ts"
import { timestamp } from "../../src/sql/Timestamp.ts"
import { assertBooksAgree, pico } from "./TestLedger.ts"

/** The id of a request that comes at this time. */
export const requestAt = (millis: number) => {
  const random = randomUUID()
  const time = millis.toString(16).padStart(12, "0")
  return requestId(`${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`)
}

/** A clock that runs as that of the test, ahead by `ahead` milliseconds: so weeks can pass without their timers. */
export const shiftedClock = (clock: Clock.Clock, ahead: () => number): Clock.Clock => ({
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead(),
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (millis) => millis + ahead()),
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(ahead()) * 1_000_000n,
  currentTimeNanos: Effect.map(clock.currentTimeNanos, (nanos) => nanos + BigInt(ahead()) * 1_000_000n),
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(duration)
})

interface BudgetOptions {
  readonly period?: BudgetPeriod
  readonly zone?: string
  readonly atMillis?: number
}

/** A budget of the organization. Of what it is makes no difference to the ledger. */
export const newBudget = Effect.fnUntraced(function* (
  organization: OrganizationId,
  amount: bigint | number,
  { atMillis = 0, period = "total", zone = "UTC" }: BudgetOptions = {}
) {
  const sql = yield* SqlClient.SqlClient
  const id = budgetId(randomUUID())
  const at = timestamp(atMillis)
  yield* sql`
    INSERT INTO budget
      (id, organization_id, subject, subject_id, amount, period, time_zone, period_start, created_at)
    VALUES (${id}::uuid, ${organization}::uuid, 'api_key', ${randomUUID()}::uuid, ${BigInt(amount)}::bigint, ${period},
      ${zone}, coalesce(budget_period_start(${period}, ${zone}, ${at}), ${at}), ${at})`
  return id
})

/** What is spent and held of a budget at a time. */
export const budgetAt = Effect.fnUntraced(function* (id: BudgetId, atMillis = 0) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly spent: bigint; readonly held: bigint }>`
    SELECT spent, held FROM budgets_at(${timestamp(atMillis)}) WHERE id = ${id}::uuid`
  return row === undefined ? assert.fail("no such budget") : [row.spent, row.held]
})

interface BudgetedHold {
  readonly organization: OrganizationId
  readonly amount: bigint | number
  readonly budgets: ReadonlyArray<BudgetId>
  readonly reduce?: ReduceHold
}

/** Takes a hold with budgets, which lasts until the current scope closes. */
export const takeBudgeted = Effect.fnUntraced(function* ({ amount, ...options }: BudgetedHold) {
  const ledger = yield* CreditLedger
  const now = yield* Clock.currentTimeMillis
  return yield* ledger.hold({ request: requestAt(now), amount: pico(amount), ...options })
})

/** Accounts and budgets agree with their entries and holds. */
export const assertAllAgree = Effect.andThen(
  assertBooksAgree,
  Effect.map(checkBudgets, ({ rows }) => assert.deepStrictEqual(rows, []))
)
