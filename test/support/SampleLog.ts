/**
 * Fills a database with the traffic of a month, in SQL alone: one organization makes most of it, labels are many and
 * most of them rare, and a few requests fail or fail over. The same number of rows is always the same traffic, except
 * for when it was.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { dayOf, requirePartition } from "../../src/receipts/LogPartitions.ts"

export interface SampleLog {
  readonly rows: number
  /** How many days up to now the rows are spread over. */
  readonly days: number
  readonly nowMillis: number
}

export const sampleCounts = { organizations: 50, keys: 200, models: 40, callNames: 5_000, endUsers: 20_000 } as const

const dayMillis = 86_400_000

/** The id of the organization, project or other thing with this number. */
const idOf = (kind: string, number: string): string =>
  `('${kind}0000-0000-7000-8000-' || lpad(to_hex(${number}), 12, '0'))::uuid`

/** The same for a number that is known here. */
export const sampleId = (kind: "organization" | "key", number: number): string =>
  `${kind === "organization" ? "018f" : "0190"}0000-0000-7000-8000-${number.toString(16).padStart(12, "0")}`

/** A number from 0 to 1 that depends on the row and on `salt`. */
const chance = (salt: number): string => `((hashint8extended(i, ${salt}) & 1048575) / 1048576.0::float8)`

/** The traffic from row `$1` up to row `$2`, at times from `$3` on with `$4` milliseconds between two rows. */
const traffic = `
SELECT *, 'model-' || model_number AS chosen,
  CASE WHEN luck < 0.97 THEN 'completed' WHEN luck < 0.985 THEN 'rate_limit_exceeded'
    WHEN luck < 0.995 THEN 'client_left' ELSE 'broken' END AS ending
FROM (
  SELECT i, ($3::bigint + i * $4::float8)::bigint AS millis, md5(i::text) AS noise,
    CASE WHEN ${chance(1)} < 0.6 THEN 0
      ELSE 1 + floor(${chance(2)} * ${sampleCounts.organizations - 1})::int END AS org,
    floor(${sampleCounts.models} * power(${chance(3)}, 3))::int AS model_number,
    ${chance(4)} AS luck, ${chance(5)} AS size, ${chance(6)} AS key_luck,
    CASE WHEN ${chance(7)} < 0.7
      THEN 'call-' || floor(${sampleCounts.callNames} * power(${chance(8)}, 2)) END AS call,
    CASE WHEN ${chance(9)} < 0.6
      THEN 'user-' || floor(${sampleCounts.endUsers} * power(${chance(10)}, 2)) END AS person,
    ${chance(11)} < 0.3 AS is_routed, ${chance(12)} < 0.03 AS failed_over, ${chance(13)} < 0.5 AS is_stream
  FROM generate_series($1::bigint, $2::bigint - 1) AS i
) AS drawn`

const keyNumber = `
  CASE WHEN org = 0 THEN floor(key_luck * 100)::int ELSE 100 + (org - 1) * 2 + floor(key_luck * 2)::int END`

const answeringEndpoint = "'p' || model_number % 8 || '/' || chosen"

/** As long as what the gateway writes: an attempt or two, the rates, and the candidates of a routed request. */
const detail = `
json_strip_nulls(json_build_object(
  'attempts', CASE WHEN failed_over THEN json_build_array(
    json_build_object('model', chosen, 'endpoint', 'p9/' || chosen,
      'outcome', 'Transient', 'status', 503, 'latencyMillis', 81.25),
    json_build_object('model', chosen, 'endpoint', ${answeringEndpoint},
      'outcome', 'answered', 'latencyMillis', 412.5))
    ELSE json_build_array(json_build_object('model', chosen, 'endpoint', ${answeringEndpoint},
      'outcome', 'answered', 'latencyMillis', round((size * 900)::numeric, 3))) END,
  'rates', json_build_object('input', '250000', 'cacheRead', '25000', 'cacheWrite5m', '250000',
    'cacheWrite1h', '250000', 'audioInput', '250000', 'output', '2000000'),
  'routing', CASE WHEN is_routed THEN json_build_object('latencyMillis', 1.25, 'pinned', false, 'difficulty', 0.31,
    'demand', json_build_object('reasoning', 0.2, 'code', 0.4, 'writing', 0.1, 'knowledge', 0.3),
    'candidates', (
      SELECT json_agg(json_build_object('model', 'model-' || n, 'distance', n / 10.0, 'cost', '125000000'))
      FROM generate_series(1, 8) AS n),
    'excluded', (
      SELECT json_agg(json_build_object('model', 'model-' || n, 'because', 'tools'))
      FROM generate_series(9, 14) AS n)
  ) END
))`

const requestId = `(lpad(to_hex(millis), 12, '0') || '7' || left(noise, 3) || '8' || substr(noise, 4, 15))::uuid`

const cost = `(CASE WHEN ending = 'rate_limit_exceeded' THEN 0 ELSE 1000000 + floor(size * size * 9e9) END)::bigint`

const insertRequests = `
INSERT INTO logged_request (at, id, organization_id, project_id, environment_id, api_key_id, cost, held,
  duration_millis, first_output_millis, input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
  audio_input_tokens, output_tokens, reasoning_tokens, attempts, stream, routed, pinned, usage_estimated, outcome,
  catalog_version, model, endpoint, requested_model, call_name, end_user_id, detail)
SELECT request_time(${requestId}), ${requestId}, ${idOf("018f", "org")}, ${idOf("018e", "org")}, ${idOf("018d", "org")},
  ${idOf("0190", keyNumber)}, ${cost}, ${cost} * 2,
  round((200 + size * 30000)::numeric, 3), round((100 + size * 900)::numeric, 3),
  n.input, n.none, n.none, n.none, n.none, n.output, n.none, CASE WHEN failed_over THEN 2 ELSE 1 END, is_stream,
  is_routed, is_routed AND size < 0.1, false, ending, '0123456789ab', n.model, n.endpoint,
  CASE WHEN is_routed THEN 'svc-auto' ELSE chosen END, call, person, ${detail}
FROM (${traffic}) AS drawn
CROSS JOIN LATERAL (SELECT ending <> 'rate_limit_exceeded' AS answered) AS a
CROSS JOIN LATERAL (SELECT
  CASE WHEN answered THEN (100 + size * 8000)::bigint END AS input,
  CASE WHEN answered THEN (10 + size * 900)::bigint END AS output,
  CASE WHEN answered THEN 0 END AS none,
  CASE WHEN answered THEN chosen END AS model,
  CASE WHEN answered THEN ${answeringEndpoint} END AS endpoint) AS n`

/** A charge for each answered request, with facts of the usual length. */
const insertCharges = `
INSERT INTO credit_entry (id, organization_id, kind, amount, at, facts)
SELECT id, organization_id, 'charge', -cost, at, jsonb_build_object('project', project_id,
  'environment', environment_id, 'key', api_key_id, 'atMillis', round(extract(epoch FROM at) * 1000), 'stream', stream,
  'outcome', outcome,
  'requestedModel', requested_model, 'served', jsonb_build_object('model', model, 'endpoint', endpoint),
  'usage', jsonb_build_object('input', input_tokens, 'cacheRead', 0, 'cacheWrite5m', 0, 'cacheWrite1h', 0,
    'audioInput', 0, 'output', output_tokens, 'reasoning', 0),
  'usageEstimated', false, 'catalogVersion', catalog_version, 'held', held::text, 'durationMillis', duration_millis)
FROM logged_request WHERE cost > 0`

const insertTenants = [
  `INSERT INTO organization (id, name, created_at)
    SELECT ${idOf("018f", "n")}, 'sample ' || n, now() FROM generate_series(0, ${sampleCounts.organizations - 1}) AS n`,
  `INSERT INTO project (id, organization_id, name, created_at)
    SELECT ${idOf("018e", "n")}, ${idOf("018f", "n")}, 'p', now()
    FROM generate_series(0, ${sampleCounts.organizations - 1}) AS n`,
  `INSERT INTO environment (id, project_id, name, created_at)
    SELECT ${idOf("018d", "n")}, ${idOf("018e", "n")}, 'e', now()
    FROM generate_series(0, ${sampleCounts.organizations - 1}) AS n`,
  `INSERT INTO api_key (id, environment_id, name, sha256, display_prefix, created_at)
    SELECT ${idOf("0190", "n")},
      ${idOf("018d", "CASE WHEN n < 100 THEN 0 ELSE 1 + (n - 100) / 2 END")},
      'key ' || n, sha256(n::text::bytea), 'tg-', now()
    FROM generate_series(0, ${sampleCounts.keys - 3}) AS n`
]

/** Rows, their partitions, the rollups that the log counts itself, the journal, and fresh statistics. */
export const fillLog = Effect.fnUntraced(function* ({ days, nowMillis, rows }: SampleLog) {
  const sql = yield* SqlClient.SqlClient
  const firstMillis = nowMillis - days * dayMillis
  const between = (nowMillis - firstMillis) / rows
  for (let day = dayOf(firstMillis); day <= dayOf(nowMillis); day++) yield* requirePartition(day)
  for (const statement of insertTenants) yield* sql.unsafe(statement)
  // A statement for each day, because each counts what it has written in memory.
  for (let day = 0; day < days; day++) {
    const [from, to] = [Math.floor((rows * day) / days), Math.floor((rows * (day + 1)) / days)]
    yield* sql.unsafe(insertRequests, [from, to, firstMillis, between])
  }
  yield* sql.unsafe(insertCharges)
  yield* sql.unsafe("ANALYZE")
})
