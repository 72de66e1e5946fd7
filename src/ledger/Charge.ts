/**
 * A charge, as it is asked for and as it is booked. The rule: an id is charged once, so what a request was charged is
 * what the journal says, and that may be the charge of an earlier try of the same request.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

import type { OrganizationId, RequestId } from "../domain/Ids.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"

export interface Charge {
  readonly amount: Picodollars
  /**
   * What the amount was computed from, as JSON, which is stored with the charge and never read here. Absent in entries
   * of versions that did not store it.
   */
  readonly facts?: string
}

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly amount: bigint
  readonly facts: string | null
}

/** Finds the charge of a request of an organization. */
export type FindCharge = (request: RequestId, organization: OrganizationId) => Charge | undefined

/** The charges that are booked under these ids. */
export const findCharges = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<RequestId>
): Effect.Effect<FindCharge, SqlError.SqlError> =>
  Effect.map(
    sql.unsafe<Row>(
      `SELECT id, organization_id, -amount AS amount, facts::text FROM credit_entry
      WHERE id = ANY ($1::uuid[]) AND kind = 'charge'`,
      [`{${ids.join(",")}}`]
    ),
    (rows) => {
      const charges = new Map(
        rows.map(({ amount, facts, id, organization_id }) => [
          `${id} ${organization_id}`,
          { amount: picodollars(amount), ...(facts !== null && { facts }) } satisfies Charge
        ])
      )
      return (request, organization) => charges.get(`${request} ${organization}`)
    }
  )
