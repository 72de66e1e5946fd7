/** Organizations whose balance can never go below zero. What is not paid because of that is the operator's loss. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const hardCapsMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE organization ADD COLUMN hard_cap boolean NOT NULL DEFAULT false`
})
