/**
 * The audit: do the books agree with themselves? One statement, and so one snapshot, in which for every organization
 * balance + held must be the sum of its entries, and held the sum of its open holds. Drift must be nothing at all.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { organizationId, type OrganizationId } from "../domain/Ids.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"

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

interface Row {
  readonly organization_id: string
  readonly balance: string
  readonly held: string
  readonly entries: string
  readonly holds: string
}

/** Sums are NUMERIC and may be larger than BIGINT, so amounts travel as text. */
const money = (text: string): Picodollars => picodollars(BigInt(text))

/** Organizations that differ; none when all is well. Entries and holds without an account are found too. */
export const verify = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<Row>`
    SELECT organization_id, balance::text, held::text, entries::text, holds::text
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
    ORDER BY organization_id`
  return rows.map((row): Drift => ({
    organization: organizationId(row.organization_id),
    balance: money(row.balance),
    held: money(row.held),
    entries: money(row.entries),
    holds: money(row.holds)
  }))
}).pipe(Effect.withSpan("Verify.verify"))
