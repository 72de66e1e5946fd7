/**
 * Indexes for what operators search the request log by and few requests have: labels, failures, and more than one
 * attempt. They are partial, so that a request without any of these costs nothing more to write.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const requestSearchMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE INDEX logged_request_call_name ON logged_request (call_name, at, id) WHERE call_name IS NOT NULL`
  yield* sql`CREATE INDEX logged_request_end_user ON logged_request (end_user_id, at, id) WHERE end_user_id IS NOT NULL`
  yield* sql`CREATE INDEX logged_request_failure ON logged_request (outcome, at, id) WHERE outcome <> 'completed'`
  yield* sql`CREATE INDEX logged_request_failover ON logged_request (at, id) WHERE attempts > 1`
})
