/** Limits of tokens per minute, and limits of all keys of an organization together. Null is no limit. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const rateLimitsMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE api_key ADD COLUMN tokens_per_minute integer CHECK (tokens_per_minute > 0)`
  yield* sql`ALTER TABLE organization
    ADD COLUMN requests_per_minute integer CHECK (requests_per_minute > 0),
    ADD COLUMN tokens_per_minute integer CHECK (tokens_per_minute > 0)`
})
