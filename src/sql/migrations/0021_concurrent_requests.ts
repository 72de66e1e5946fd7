/**
 * Limits of concurrent requests, and the slots that gateways hold of them. Null is no limit.
 *
 * `holders` has a member for each gateway, by its id: `slots`, how many it may use; `until`, the milliseconds since
 * 1970 until which they are its own; `gives_back`, whether it returns a free slot at once; `number`, the number of its
 * last order. The table is not logged: after a crash of the server the gateways say anew within a second what they use.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const concurrentRequestsMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE api_key ADD COLUMN concurrent_requests integer CHECK (concurrent_requests > 0)`
  yield* sql`ALTER TABLE organization ADD COLUMN concurrent_requests integer CHECK (concurrent_requests > 0)`
  yield* sql`CREATE UNLOGGED TABLE request_slot (
    subject_id uuid PRIMARY KEY,
    holders    jsonb NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
  ) WITH (fillfactor = 50)`
})
