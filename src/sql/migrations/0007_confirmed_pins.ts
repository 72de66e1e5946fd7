/**
 * Tells a pin that a model has answered under from one that a request has only claimed. Pins from before, and those
 * that an older replica writes, count as confirmed, which is how they were treated.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const confirmedPinsMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE session_pin ADD COLUMN confirmed boolean NOT NULL DEFAULT true`
})
