/**
 * Charges that the database rejects for good, for example because the account would leave the range of BIGINT. They are
 * tried a bounded number of times and then set aside in a table of their own, in picodollars and with their facts, so
 * that neither a restart nor time loses them. The audit names each of them until an operator has booked or deleted it.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { type OrganizationId, organizationId, type RequestId, requestId } from "../domain/Ids.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"
import type { SettlementRow } from "./BatchRows.ts"
import { type LedgerCheck, maxRows } from "./LedgerChecks.ts"

/** A charge that was set aside and is not booked. */
export interface RejectedCharge {
  readonly request: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
  /** Why the database rejected it. */
  readonly reason: string
}

/** Stores a charge that was rejected. It may be called again. A refund has nothing to store. */
export const setChargeAside = (
  sql: SqlClient.SqlClient,
  { charge, id, organization }: SettlementRow,
  reason: string
): Effect.Effect<void, SqlError.SqlError> =>
  charge === undefined
    ? Effect.void
    : Effect.asVoid(
        sql.unsafe(
          `INSERT INTO rejected_charge (id, organization_id, amount, facts, reason)
          VALUES ($1::uuid, $2::uuid, $3::bigint, $4::text, $5::text) ON CONFLICT DO NOTHING`,
          [id, organization, charge.amount, charge.facts ?? null, reason]
        )
      )

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly amount: bigint
  readonly reason: string
  readonly failed: bigint
}

/** Finds the charges that were set aside and are not in the journal. `checked` is how many were ever set aside. */
export const checkRejectedCharges: Effect.Effect<
  LedgerCheck<RejectedCharge>,
  SqlError.SqlError,
  SqlClient.SqlClient
> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [all] = yield* sql<{ readonly count: bigint }>`SELECT count(*) AS count FROM rejected_charge`
  const rows = yield* sql<Row>`
    SELECT id, organization_id, amount, reason, count(*) OVER () AS failed FROM rejected_charge
    WHERE NOT EXISTS (
      SELECT FROM credit_entry
      WHERE credit_entry.id = rejected_charge.id AND credit_entry.organization_id = rejected_charge.organization_id
    )
    ORDER BY id
    LIMIT ${maxRows}`
  return {
    checked: Number(all?.count ?? 0n),
    failed: Number(rows[0]?.failed ?? 0n),
    rows: rows.map((row) => ({
      request: requestId(row.id),
      organization: organizationId(row.organization_id),
      amount: picodollars(row.amount),
      reason: row.reason
    }))
  }
}).pipe(Effect.withSpan("RejectedCharges.checkRejectedCharges"))
