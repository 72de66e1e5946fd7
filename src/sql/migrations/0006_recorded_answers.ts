/**
 * Answers to requests that carried an Idempotency-Key, for a day. This is the only table that stores the text of
 * answers.
 *
 * While a row has `claimed_until` its request is in flight, and once it has an `outcome` its request has ended.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const recordedAnswersMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // request_id: the id of the hold, charge and receipt. claimed_by: the last request that has claimed the key.
  yield* sql`CREATE TABLE recorded_answer (
    organization_id uuid NOT NULL,
    endpoint        text NOT NULL,
    key             text NOT NULL,
    body_sha256     bytea NOT NULL CHECK (octet_length(body_sha256) = 32),
    request_id      uuid NOT NULL,
    claimed_by      uuid NOT NULL,
    claimed_until   timestamptz,
    outcome         text CHECK (outcome IN ('answered', 'too_large', 'client_left')),
    content_type    text,
    answer          bytea,
    expires_at      timestamptz NOT NULL,
    PRIMARY KEY (organization_id, endpoint, key),
    CHECK ((claimed_until IS NULL) = (outcome IS NOT NULL)),
    CHECK ((answer IS NOT NULL) = (outcome IS NOT DISTINCT FROM 'answered'))
  )`
  yield* sql`CREATE INDEX recorded_answer_expiry ON recorded_answer (expires_at)`
})
