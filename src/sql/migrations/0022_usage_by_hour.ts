/**
 * Usage by hours, beside that by quarter hours: by key, by model, by call name and by end user, each apart from the
 * others, because only all of them together make nearly as many rows as there are requests. The request log counts its
 * rows here as it does by quarter hours, and the same rule holds: every row of the log is counted once.
 *
 * What had been counted is added up from the quarter hours, which outlive the log. Nothing is logged meanwhile.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

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

const sums = ["requests", ...tokens, "cost", "duration_millis", "provider_cost"]

const answered = ["project_id", "environment_id", "api_key_id", "model", "provider", "outcome"] as const

interface Table {
  readonly name: string
  /** The column that says when. */
  readonly time: "quarter" | "hour"
  readonly dimensions: ReadonlyArray<string>
  /** The type of the sums. Those of quarter hours hold any sum, those of hours are quick to add. */
  readonly type: "numeric" | "bigint"
}

const byQuarters: ReadonlyArray<Table> = [
  { name: "usage_quarter", time: "quarter", dimensions: answered, type: "numeric" },
  {
    name: "usage_label_quarter",
    time: "quarter",
    dimensions: [...answered, "call_name", "end_user_id"],
    type: "numeric"
  }
]

const hours = (name: string, dimensions: ReadonlyArray<string>): Table => ({
  name,
  time: "hour",
  dimensions,
  type: "bigint"
})

const byHours: ReadonlyArray<Table> = [
  hours("usage_call_hour", ["call_name"]),
  hours("usage_user_hour", ["end_user_id"]),
  hours("usage_key_hour", ["project_id", "environment_id", "api_key_id", "outcome"]),
  hours("usage_model_hour", ["project_id", "model", "provider", "outcome"])
]

/** What all gateways write to comes last, so that they wait for each other as short as possible. */
const all = [...byQuarters, ...byHours]

const uuids: ReadonlyArray<string> = ["project_id", "environment_id", "api_key_id"]

const createTable = ({ dimensions, name }: Table): string => `
CREATE TABLE ${name} (
  hour timestamptz NOT NULL,
  organization_id uuid NOT NULL,
  series bytea NOT NULL,
  ${dimensions.map((column) => `${column} ${uuids.includes(column) ? "uuid" : "text"}`).join(", ")},
  ${sums.map((column) => `${column} bigint NOT NULL`).join(", ")}
)`

const seriesOf = (dimensions: ReadonlyArray<string>): string =>
  `substr(sha256(convert_to(jsonb_build_array(${dimensions.join(", ")})::text, 'UTF8')), 1, 16) AS series`

const binOf = (time: Table["time"], at: string): string =>
  `date_bin('${time === "hour" ? "1 hour" : "15 minutes"}', ${at}, '2000-01-01 00:00:00+00')`

/** A sum that the column cannot hold stays at its bound, so that no absurd cost keeps the log from being written. */
const heldBy = (type: Table["type"], value: string): string =>
  type === "numeric" ? value : `least(greatest(${value}, -9223372036854775808), 9223372036854775807)::bigint`

const increased = ({ type }: Table, column: string): string => {
  const before = column === "provider_cost" ? "coalesce(counted.provider_cost, counted.cost)" : `counted.${column}`
  return `${column} = ${heldBy(type, `${before}::numeric + excluded.${column}`)}`
}

/**
 * Adds the rows of `source`, which has the columns of the log and a `sign` of 1 or -1. Rows are locked in the order of
 * their keys, so that the batches of several gateways wait for each other but never in a circle.
 */
const addTo = (table: Table, source: string): string => {
  const names = table.dimensions.join(", ")
  const { time } = table
  return `
  INSERT INTO ${table.name} AS counted (${time}, organization_id, series, ${names}, ${sums.join(", ")})
  SELECT ${time}, organization_id, ${seriesOf(table.dimensions)}, ${names},
    ${sums.map((column) => heldBy(table.type, column)).join(", ")}
  FROM (
    SELECT ${binOf(time, "at")} AS ${time}, organization_id, ${names},
      sum(sign) AS requests, ${tokens.map((column) => `coalesce(sum(sign * ${column}), 0) AS ${column}`).join(", ")},
      sum(sign * cost) AS cost, sum(sign * round(duration_millis::numeric)) AS duration_millis,
      sum(sign * coalesce(provider_cost, cost)) AS provider_cost
    FROM (SELECT *, split_part(endpoint, '/', 1) AS provider FROM (${source}) AS written) AS named
    GROUP BY ${time}, organization_id, ${names}
  ) AS grouped
  ORDER BY organization_id, ${time}, series
  ON CONFLICT (organization_id, ${time}, series) DO UPDATE SET
    ${sums.map((column) => increased(table, column)).join(", ")};`
}

const addToAll = (source: string): string => all.map((table) => addTo(table, source)).join("")

/** Adds up the quarter hours that were counted before. */
const addUp = ({ dimensions, name }: Table): string => {
  const names = dimensions.join(", ")
  const source = dimensions.every((column) => answered.some((other) => other === column)) ? "usage" : "usage_label"
  const added = sums.map((column) => {
    const value = column === "provider_cost" ? "coalesce(provider_cost, cost)" : column
    return heldBy("bigint", `sum(${value})`)
  })
  return `
  INSERT INTO ${name} (hour, organization_id, series, ${names}, ${sums.join(", ")})
  SELECT ${binOf("hour", "quarter")} AS hour, organization_id, ${seriesOf(dimensions)}, ${names}, ${added.join(", ")}
  FROM ${source}_quarter GROUP BY 1, organization_id, ${names} ORDER BY 1, organization_id`
}

/**
 * A statement of the log counts what it replaced first and then what it added, so one that replaces rows locks sums
 * twice and could wait in a circle with another: it waits until it is the only one that counts.
 */
const order = "hashtext('tollgate.usage')"

const countAdded = `
CREATE OR REPLACE FUNCTION count_added_requests() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${order});
  ${addToAll("SELECT 1 AS sign, * FROM added")}
  RETURN NULL;
END
$$`

const countReplaced = `
CREATE OR REPLACE FUNCTION count_replaced_requests() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM removed) THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock(${order});
  ${addToAll("SELECT 1 AS sign, * FROM added UNION ALL SELECT -1 AS sign, * FROM removed")}
  RETURN NULL;
END
$$`

/** Of two that count anew at once, the second waits: it would not see what the first has counted, and add to it. */
const recount = `
CREATE OR REPLACE FUNCTION recount_usage(starts timestamptz, ends timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE logged_request IN SHARE ROW EXCLUSIVE MODE;
  ${all.map(({ name, time }) => `DELETE FROM ${name} WHERE ${time} >= starts AND ${time} < ends;`).join("\n  ")}
  ${addToAll("SELECT 1 AS sign, * FROM logged_request WHERE at >= starts AND at < ends")}
END
$$`

export const usageByHourMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`LOCK TABLE logged_request IN SHARE ROW EXCLUSIVE MODE`
  for (const table of byHours) {
    yield* sql.unsafe(createTable(table))
    yield* sql.unsafe(addUp(table))
    yield* sql.unsafe(`ALTER TABLE ${table.name} ADD PRIMARY KEY (organization_id, hour, series)`)
    yield* sql.unsafe(`CREATE INDEX ${table.name}_hour ON ${table.name} (hour)`)
  }
  yield* sql.unsafe(countAdded)
  yield* sql.unsafe(countReplaced)
  yield* sql.unsafe(recount)
})
