/**
 * Checks whether the ledger agrees with itself. For every organization, balance + held must be the sum of its entries,
 * and held the sum of its open holds; and no hold may outlive both its lifetime and its gateway.
 *
 * Each check is one statement, and so one snapshot, summed up by the database. All rows that fail are counted, but only
 * the first of them are read.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import {
  type BudgetId,
  budgetId,
  type OrganizationId,
  organizationId,
  type RequestId,
  requestId
} from "../domain/Ids.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"
import { ownerIsAlive } from "./Lease.ts"

/** The most rows that one check reads. */
export const maxRows = 100

/** An account that is not the sum of its entries, or whose held part is not the sum of its open holds. */
export interface AccountMismatch {
  readonly organization: OrganizationId
  readonly balance: Picodollars
  readonly held: Picodollars
  /** The sum of all entries. */
  readonly entries: Picodollars
  /** The sum of all open holds. */
  readonly holds: Picodollars
}

/** A hold that is past its lifetime and whose gateway is dead. */
export interface StrayHold {
  readonly request: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
}

/** A budget of which more or less is held than its open holds hold, or of which less than nothing is spent. */
export interface BudgetMismatch {
  readonly budget: BudgetId
  readonly organization: OrganizationId
  readonly spent: Picodollars
  readonly held: Picodollars
  /** What the open holds of its period hold of it. */
  readonly holds: Picodollars
}

/** The result of one check. */
export interface LedgerCheck<Row> {
  /** How many accounts or holds were checked. */
  readonly checked: number
  /** How many of them failed. */
  readonly failed: number
  /** The first of those that failed. */
  readonly rows: ReadonlyArray<Row>
}

interface Counted {
  readonly failed: bigint
}

const resultOf = <R extends Counted, Row>(
  checked: bigint,
  rows: ReadonlyArray<R>,
  read: (row: R) => Row
): LedgerCheck<Row> => ({
  checked: Number(checked),
  failed: Number(rows[0]?.failed ?? 0n),
  rows: rows.map(read)
})

const count = Effect.fnUntraced(function* (table: "credit_account" | "credit_hold" | "budget") {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly count: bigint }>`SELECT count(*) AS count FROM ${sql(table)}`
  return row?.count ?? 0n
})

interface AccountRow extends Counted {
  readonly organization_id: string
  readonly balance: string
  readonly held: string
  readonly entries: string
  readonly holds: string
}

/** Sums are NUMERIC and may be larger than BIGINT, so amounts are read as text. */
const money = (text: string): Picodollars => picodollars(BigInt(text))

/** Checks both sums of every account. Entries and holds without an account are found too. */
export const checkAccounts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<AccountRow>`
    SELECT organization_id, balance::text, held::text, entries::text, holds::text, count(*) OVER () AS failed
    FROM (
      SELECT organization_id,
        coalesce(balance, 0) AS balance, coalesce(held, 0) AS held,
        coalesce(entries, 0) AS entries, coalesce(holds, 0) AS holds
      FROM credit_account
      FULL JOIN (SELECT organization_id, sum(amount) AS entries FROM credit_entry GROUP BY 1) AS booked
        USING (organization_id)
      FULL JOIN (SELECT organization_id, sum(amount) AS holds FROM credit_hold GROUP BY 1) AS reserved
        USING (organization_id)
    ) AS books
    WHERE balance::numeric + held <> entries OR held <> holds
    ORDER BY organization_id
    LIMIT ${maxRows}`
  return resultOf(yield* count("credit_account"), rows, (row): AccountMismatch => ({
    organization: organizationId(row.organization_id),
    balance: money(row.balance),
    held: money(row.held),
    entries: money(row.entries),
    holds: money(row.holds)
  }))
}).pipe(Effect.withSpan("LedgerChecks.checkAccounts"))

/** The first accounts that do not agree; none when all is well. */
export const accountMismatches = Effect.map(checkAccounts, ({ rows }) => rows)

interface HoldRow extends Counted {
  readonly id: string
  readonly organization_id: string
  readonly amount: bigint
}

/** Checks that no open hold has outlived both. A hold that has outlived only one of them is left to the next sweep. */
export const checkHolds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<HoldRow>`
    SELECT id, organization_id, amount, count(*) OVER () AS failed FROM credit_hold
    WHERE expires_at < now() AND NOT ${sql.literal(ownerIsAlive)}
    ORDER BY id
    LIMIT ${maxRows}`
  return resultOf(yield* count("credit_hold"), rows, (row): StrayHold => ({
    request: requestId(row.id),
    organization: organizationId(row.organization_id),
    amount: picodollars(row.amount)
  }))
}).pipe(Effect.withSpan("LedgerChecks.checkHolds"))

interface BudgetRow extends Counted {
  readonly id: string
  readonly organization_id: string
  readonly spent: string
  readonly held: string
  readonly holds: string
}

/**
 * Checks of every budget that what is held of it is the sum of its open holds of the period. What is spent cannot be
 * computed anew, because the journal does not say to which budgets a charge belonged; it is never negative.
 */
export const checkBudgets = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<BudgetRow>`
    SELECT id, organization_id, spent::text, held::text, coalesce(holds, 0)::text AS holds, count(*) OVER () AS failed
    FROM budget LEFT JOIN (
      SELECT budget_id, period_start, sum(amount) AS holds FROM budget_hold GROUP BY budget_id, period_start
    ) AS reserved ON reserved.budget_id = budget.id AND reserved.period_start = budget.period_start
    WHERE held <> coalesce(holds, 0) OR spent < 0
    ORDER BY id
    LIMIT ${maxRows}`
  return resultOf(yield* count("budget"), rows, (row): BudgetMismatch => ({
    budget: budgetId(row.id),
    organization: organizationId(row.organization_id),
    spent: money(row.spent),
    held: money(row.held),
    holds: money(row.holds)
  }))
}).pipe(Effect.withSpan("LedgerChecks.checkBudgets"))
