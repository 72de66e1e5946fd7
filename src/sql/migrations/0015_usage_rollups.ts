/**
 * Usage by quarter hours, because every time zone differs from UTC by a whole number of them: once by who made the
 * requests and which model answered them, and once by their labels as well. The request log counts its rows here
 * itself, in the statement that writes them. The rule: every row of the log is counted once, also when the row of a
 * repeated request is replaced.
 *
 * `series` is a hash of all that rows are counted by: the labels together could be too long for an index.
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

const uuids: ReadonlyArray<string> = ["project_id", "environment_id", "api_key_id"]

const columnsOf = (table: Table): string =>
  dimensions[table].map((name) => `${name} ${uuids.includes(name) ? "uuid" : "text"}`).join(", ")

/** Sums are numeric, because that of a quarter hour may be more than what one column of the log can hold. */
const createTable = (table: Table): string => `
CREATE TABLE ${table} (
  quarter timestamptz NOT NULL,
  organization_id uuid NOT NULL,
  series bytea NOT NULL,
  ${columnsOf(table)},
  ${sums.map((name) => `${name} numeric NOT NULL`).join(", ")},
  PRIMARY KEY (organization_id, quarter, series)
)`

/**
 * Adds the rows of `source`, which has the columns of the log and a `sign` of 1 or -1. Rows are locked in the order of
 * their keys, so that the batches of several gateways wait for each other but never in a circle.
 */
const addTo = (table: Table, source: string): string => {
  const names = dimensions[table].join(", ")
  return `
  INSERT INTO ${table} AS counted (quarter, organization_id, series, ${names}, ${sums.join(", ")})
  SELECT quarter, organization_id,
    substr(sha256(convert_to(jsonb_build_array(${names})::text, 'UTF8')), 1, 16) AS series, ${names}, ${sums.join(", ")}
  FROM (
    SELECT date_bin('15 minutes', at, '2000-01-01 00:00:00+00') AS quarter, organization_id, ${names},
      sum(sign) AS requests, ${tokens.map((name) => `coalesce(sum(sign * ${name}), 0) AS ${name}`).join(", ")},
      sum(sign * cost) AS cost, sum(sign * round(duration_millis::numeric)) AS duration_millis
    FROM (SELECT *, split_part(endpoint, '/', 1) AS provider FROM (${source}) AS written) AS named
    GROUP BY quarter, organization_id, ${names}
  ) AS grouped
  ORDER BY organization_id, quarter, series
  ON CONFLICT (organization_id, quarter, series) DO UPDATE SET
    ${sums.map((name) => `${name} = counted.${name} + excluded.${name}`).join(", ")};`
}

const addToAll = (source: string): string => tables.map((table) => addTo(table, source)).join("")

const triggerFunction = (name: string, source: string): string => `
CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  ${addToAll(source)}
  RETURN NULL;
END
$$`

/** Counts a span of time anew. The log cannot be written meanwhile, so that no row is counted twice or not at all. */
const recount = `
CREATE FUNCTION recount_usage(starts timestamptz, ends timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE logged_request IN SHARE MODE;
  ${tables.map((table) => `DELETE FROM ${table} WHERE quarter >= starts AND quarter < ends;`).join("\n  ")}
  ${addToAll("SELECT 1 AS sign, * FROM logged_request WHERE at >= starts AND at < ends")}
END
$$`

export const usageRollupsMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const table of tables) {
    yield* sql.unsafe(createTable(table))
    yield* sql.unsafe(`CREATE INDEX ${table}_quarter ON ${table} (quarter)`)
  }
  yield* sql.unsafe(triggerFunction("count_added_requests", "SELECT 1 AS sign, * FROM added"))
  yield* sql.unsafe(
    triggerFunction(
      "count_replaced_requests",
      "SELECT 1 AS sign, * FROM added UNION ALL SELECT -1 AS sign, * FROM removed"
    )
  )
  // Nothing subtracts what is deleted: the usage of a day outlives its receipts.
  yield* sql`CREATE TRIGGER logged_request_added AFTER INSERT ON logged_request
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_requests()`
  yield* sql`CREATE TRIGGER logged_request_replaced AFTER UPDATE ON logged_request
    REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_replaced_requests()`
  yield* sql.unsafe(recount)
})
