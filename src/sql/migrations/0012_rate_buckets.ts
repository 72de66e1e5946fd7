/**
 * The token buckets of rate limits, which all gateways share. The table is not logged: after a crash of the server it
 * is empty, which makes every bucket full, and that costs at most a minute's limit.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const rateBucketsMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // A token is 60,000 units, so that a limit of n per minute refills n units each millisecond.
  yield* sql`CREATE UNLOGGED TABLE rate_bucket (
    subject_id         uuid NOT NULL,
    resource           text NOT NULL,
    units              bigint NOT NULL,
    granted            bigint NOT NULL,
    refilled_at_millis bigint NOT NULL,
    PRIMARY KEY (subject_id, resource)
  ) WITH (fillfactor = 50)`
})
