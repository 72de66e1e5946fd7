/**
 * The request log with a column for everything that is asked for, in partitions of a day. `at` is the time that the id
 * of a request contains: so the pair of both, which a partitioned table needs as its key, is as unique as the id alone.
 *
 * Replicas of earlier versions go on writing to `request_log` while they are replaced. What is in there is moved here
 * in the background, by the gateway; until then the view `request_receipt` shows the receipts of both tables.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const table = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The first 48 bits of a UUID of version 7 are milliseconds since 1970.
  yield* sql`CREATE FUNCTION request_time(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint::float8 / 1000)
  $$`
  // Amounts are in picodollars. The tokens are null where nothing was charged. The widest types come first, because
  // then no space is lost to alignment. `detail` is kept as text, which is a quarter shorter than JSONB.
  yield* sql`CREATE TABLE logged_request (
    at                    timestamptz NOT NULL,
    cost                  bigint NOT NULL,
    held                  bigint NOT NULL,
    duration_millis       float8 NOT NULL,
    first_output_millis   float8,
    input_tokens          bigint,
    cache_read_tokens     bigint,
    cache_write_5m_tokens bigint,
    cache_write_1h_tokens bigint,
    audio_input_tokens    bigint,
    output_tokens         bigint,
    reasoning_tokens      bigint,
    audio_millis          bigint,
    attempts              integer NOT NULL,
    stream                boolean NOT NULL,
    routed                boolean NOT NULL,
    pinned                boolean NOT NULL,
    usage_estimated       boolean NOT NULL,
    id                    uuid NOT NULL,
    organization_id       uuid NOT NULL,
    project_id            uuid NOT NULL,
    environment_id        uuid NOT NULL,
    api_key_id            uuid NOT NULL,
    outcome               text NOT NULL,
    catalog_version       text NOT NULL,
    model                 text,
    endpoint              text,
    requested_model       text,
    call_name             text,
    end_user_id           text,
    detail                json NOT NULL,
    PRIMARY KEY (at, id)
  ) PARTITION BY RANGE (at)`
  yield* sql`CREATE INDEX logged_request_organization ON logged_request (organization_id, at, id)`
  yield* sql`CREATE INDEX logged_request_api_key ON logged_request (api_key_id, at, id)`
  yield* sql`CREATE TABLE logged_request_default PARTITION OF logged_request DEFAULT`
})

/** Whole receipts, as `StoredReceipt` decodes them. */
const view = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE VIEW request_receipt AS
    SELECT id, at, organization_id, catalog_version, endpoint,
      jsonb_strip_nulls(jsonb_build_object(
        'id', id, 'organization', organization_id, 'project', project_id, 'environment', environment_id,
        'key', api_key_id, 'atMillis', round(extract(epoch FROM at) * 1000), 'callName', call_name,
        'endUserId', end_user_id, 'stream', stream, 'requestedModel', requested_model, 'outcome', outcome,
        'served', CASE WHEN endpoint IS NOT NULL THEN jsonb_build_object('model', model, 'endpoint', endpoint) END,
        'usage', CASE WHEN input_tokens IS NOT NULL THEN jsonb_build_object(
          'input', input_tokens, 'cacheRead', cache_read_tokens, 'cacheWrite5m', cache_write_5m_tokens,
          'cacheWrite1h', cache_write_1h_tokens, 'audioInput', audio_input_tokens, 'output', output_tokens,
          'reasoning', reasoning_tokens, 'audioMillis', audio_millis
        ) END,
        'usageEstimated', usage_estimated, 'catalogVersion', catalog_version, 'held', held::text, 'cost', cost::text,
        'durationMillis', duration_millis, 'firstOutputMillis', first_output_millis
      )) || detail::jsonb AS receipt
    FROM logged_request
    UNION ALL
    SELECT id, request_time(id), organization_id, receipt->>'catalogVersion', receipt->'served'->>'endpoint', receipt
    FROM request_log AS old
    WHERE NOT EXISTS (SELECT FROM logged_request AS new WHERE new.at = request_time(old.id) AND new.id = old.id)`
})

export const loggedRequestsMigration = Effect.all([table, view], { discard: true })
