/** The keys whose budgets count the requests of a key as well: those that took its place when it was rotated. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const sharedBudgetsMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE api_key ADD COLUMN budgets_of uuid[] NOT NULL DEFAULT '{}'`
})
