/**
 * What the providers bill, beside what is charged: in the request log and in the sums of usage, and the pricing of an
 * organization. Adding these columns rewrites nothing. The rule: where `provider_cost` is null, as in all that earlier
 * versions wrote and write, the provider's cost was the charge.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const answered = ["project_id", "environment_id", "api_key_id", "model", "provider", "outcome"] as const

const dimensions = {
  usage_quarter: answered,
  usage_label_quarter: [...answered, "call_name", "end_user_id"]
} as const

type Table = keyof typeof dimensions
const tables: ReadonlyArray<Table> = ["usage_quarter", "usage_label_quarter"]

const tokens = [
  "input_tokens",
  "cache_read_tokens",
  "cache_write_5m_tokens",
  "cache_write_1h_tokens",
  "audio_input_tokens",
  "output_tokens",
  "reasoning_tokens",
  "audio_millis"
] as const

const sums = ["requests", ...tokens, "cost", "duration_millis"]

/** Like the statement of the earlier version, and with the provider's cost. */
const addTo = (table: Table, source: string): string => {
  const names = dimensions[table].join(", ")
  const all = [...sums, "provider_cost"].join(", ")
  return `
  INSERT INTO ${table} AS counted (quarter, organization_id, series, ${names}, ${all})
  SELECT quarter, organization_id,
    substr(sha256(convert_to(jsonb_build_array(${names})::text, 'UTF8')), 1, 16) AS series, ${names}, ${all}
  FROM (
    SELECT date_bin('15 minutes', at, '2000-01-01 00:00:00+00') AS quarter, organization_id, ${names},
      sum(sign) AS requests, ${tokens.map((name) => `coalesce(sum(sign * ${name}), 0) AS ${name}`).join(", ")},
      sum(sign * cost) AS cost, sum(sign * round(duration_millis::numeric)) AS duration_millis,
      sum(sign * coalesce(provider_cost, cost)) AS provider_cost
    FROM (SELECT *, split_part(endpoint, '/', 1) AS provider FROM (${source}) AS written) AS named
    GROUP BY quarter, organization_id, ${names}
  ) AS grouped
  ORDER BY organization_id, quarter, series
  ON CONFLICT (organization_id, quarter, series) DO UPDATE SET
    ${sums.map((name) => `${name} = counted.${name} + excluded.${name}`).join(", ")},
    provider_cost = coalesce(counted.provider_cost, counted.cost) + excluded.provider_cost;`
}

const addToAll = (source: string): string => tables.map((table) => addTo(table, source)).join("")

const triggerFunction = (name: string, source: string): string => `
CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  ${addToAll(source)}
  RETURN NULL;
END
$$`

const recount = `
CREATE OR REPLACE FUNCTION recount_usage(starts timestamptz, ends timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE logged_request IN SHARE MODE;
  ${tables.map((table) => `DELETE FROM ${table} WHERE quarter >= starts AND quarter < ends;`).join("\n  ")}
  ${addToAll("SELECT 1 AS sign, * FROM logged_request WHERE at >= starts AND at < ends")}
END
$$`

/** Whole receipts, as `StoredReceipt` decodes them. */
const view = `
CREATE OR REPLACE VIEW request_receipt AS
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
      'providerCost', provider_cost::text, 'durationMillis', duration_millis, 'firstOutputMillis', first_output_millis
    )) || detail::jsonb AS receipt
  FROM logged_request
  UNION ALL
  SELECT id, request_time(id), organization_id, receipt->>'catalogVersion', receipt->'served'->>'endpoint', receipt
  FROM request_log AS old
  WHERE NOT EXISTS (SELECT FROM logged_request AS new WHERE new.at = request_time(old.id) AND new.id = old.id)`

export const providerCostMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE organization ADD COLUMN pricing jsonb`
  yield* sql`ALTER TABLE logged_request ADD COLUMN provider_cost bigint`
  for (const table of tables) yield* sql.unsafe(`ALTER TABLE ${table} ADD COLUMN provider_cost numeric`)
  yield* sql.unsafe(view)
  yield* sql.unsafe(triggerFunction("count_added_requests", "SELECT 1 AS sign, * FROM added"))
  yield* sql.unsafe(
    triggerFunction(
      "count_replaced_requests",
      "SELECT 1 AS sign, * FROM added UNION ALL SELECT -1 AS sign, * FROM removed"
    )
  )
  yield* sql.unsafe(recount)
})
