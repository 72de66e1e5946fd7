/** The names that an organization gives to models. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const organizationAliasesMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE organization ADD COLUMN aliases jsonb`
})
