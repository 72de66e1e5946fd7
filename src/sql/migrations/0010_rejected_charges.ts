/** Charges that the database rejected again and again, set aside for an operator instead of being lost. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const rejectedChargesMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // facts is text, not JSON, and nothing is checked: what was rejected once must not be rejected here as well.
  yield* sql`CREATE TABLE rejected_charge (
    id              uuid NOT NULL,
    organization_id uuid NOT NULL,
    amount          bigint NOT NULL,
    facts           text,
    reason          text NOT NULL,
    at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, organization_id)
  )`
})
