/**
 * Do the books agree with themselves? For every organization balance + held must be the sum of its entries, and held
 * the sum of its open holds; and every open hold must have somebody who will end it. Drift must be nothing at all.
 *
 * Each question is one statement, and so one snapshot, summed up by the database. Rows that differ are counted to the
 * last, but only the first ones are read.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { type OrganizationId, organizationId, type RequestId, requestId } from "../domain/Ids.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"
import { leaseLifetime } from "./Lease.ts"

/** Rows that differ which one question reads at most. */
const maxRows = 100

/** An organization whose books do not agree. */
export interface Drift {
  readonly organization: OrganizationId
  readonly balance: Picodollars
  readonly held: Picodollars
  /** Sum of all entries. */
  readonly entries: Picodollars
  /** Sum of all open holds. */
  readonly holds: Picodollars
}

/** A hold past its lifetime whose gateway is dead. */
export interface StrayHold {
  readonly request: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
}

export interface Verification<Row> {
  /** How many were looked at. */
  readonly checked: number
  /** How many of them differ. */
  readonly differing: number
  /** The first of those that differ. */
  readonly rows: ReadonlyArray<Row>
}

interface Counted {
  readonly differing: bigint
}

const checkedOf = <R extends Counted, Row>(total: bigint, rows: ReadonlyArray<R>, read: (row: R) => Row) => ({
  checked: Number(total),
  differing: Number(rows[0]?.differing ?? 0n),
  rows: rows.map(read)
})

const count = Effect.fnUntraced(function* (table: "credit_account" | "credit_hold") {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly count: bigint }>`SELECT count(*) AS count FROM ${sql(table)}`
  return row?.count ?? 0n
})

interface DriftRow extends Counted {
  readonly organization_id: string
  readonly balance: string
  readonly held: string
  readonly entries: string
  readonly holds: string
}

/** Sums are NUMERIC and may be larger than BIGINT, so amounts travel as text. */
const money = (text: string): Picodollars => picodollars(BigInt(text))

/** Both identities of every account. Entries and holds without an account are found too. */
export const verifyAccounts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<DriftRow>`
    SELECT organization_id, balance::text, held::text, entries::text, holds::text, count(*) OVER () AS differing
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
  return checkedOf(yield* count("credit_account"), rows, (row): Drift => ({
    organization: organizationId(row.organization_id),
    balance: money(row.balance),
    held: money(row.held),
    entries: money(row.entries),
    holds: money(row.holds)
  }))
}).pipe(Effect.withSpan("Verify.accounts"))

/** Organizations that differ; none when all is well. */
export const verify = Effect.map(verifyAccounts, ({ rows }) => rows)

interface HoldRow extends Counted {
  readonly id: string
  readonly organization_id: string
  readonly amount: bigint
}

/** Every open hold belongs to a living gateway, or is young enough for the next sweep to be in time. */
export const verifyHolds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<HoldRow>`
    SELECT id, organization_id, amount, count(*) OVER () AS differing FROM credit_hold
    WHERE expires_at < now() AND NOT EXISTS (
      SELECT 1 FROM gateway_lease
      WHERE gateway_lease.id = credit_hold.gateway_id
        AND heartbeat_at > now() - ${leaseLifetime}::interval
    )
    ORDER BY id
    LIMIT ${maxRows}`
  return checkedOf(yield* count("credit_hold"), rows, (row): StrayHold => ({
    request: requestId(row.id),
    organization: organizationId(row.organization_id),
    amount: picodollars(row.amount)
  }))
}).pipe(Effect.withSpan("Verify.holds"))
