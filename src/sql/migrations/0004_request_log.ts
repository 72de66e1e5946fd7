/** One receipt per request. Amounts of money in it are decimal text, because JSON numbers would round them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const requestLogMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE request_log (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL,
    at              timestamptz NOT NULL,
    receipt         jsonb NOT NULL
  )`
  yield* sql`CREATE INDEX request_log_organization ON request_log (organization_id, at DESC)`
})
