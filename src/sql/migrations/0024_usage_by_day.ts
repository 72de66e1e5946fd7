/**
 * Usage of past days, added up once more from that by hours: by model for all organizations together, and by labels for
 * whole days in UTC, because labels have nearly as many hours as requests. Nothing is added up here, nor by the
 * statements that write the log: a gateway does it later, day by day, while others write.
 *
 * The rule: what these tables have of a day counts only while the day is marked in `usage_summed_day`, and a mark
 * stands for all that is counted by hours. Whoever counts in a marked day takes its mark away. A day is marked while
 * nobody counts, and added up while its mark is locked; so nobody counts in it unseen.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const sums = [
  "requests",
  "input_tokens",
  "cache_read_tokens",
  "cache_write_5m_tokens",
  "cache_write_1h_tokens",
  "audio_input_tokens",
  "output_tokens",
  "reasoning_tokens",
  "audio_millis",
  "cost",
  "duration_millis",
  "provider_cost"
]

interface Table {
  readonly name: string
  /** The column that says when. */
  readonly time: "hour" | "day"
  readonly dimensions: ReadonlyArray<string>
  /** What it is added up from. */
  readonly source: string
}

const tables: ReadonlyArray<Table> = [
  { name: "usage_all_hour", time: "hour", dimensions: ["model", "provider", "outcome"], source: "usage_model_hour" },
  { name: "usage_call_day", time: "day", dimensions: ["organization_id", "call_name"], source: "usage_call_hour" },
  { name: "usage_user_day", time: "day", dimensions: ["organization_id", "end_user_id"], source: "usage_user_hour" },
  { name: "usage_all_call_day", time: "day", dimensions: ["call_name"], source: "usage_call_hour" },
  { name: "usage_all_user_day", time: "day", dimensions: ["end_user_id"], source: "usage_user_hour" }
]

const typeOf = (column: string): string => (column === "organization_id" ? "uuid NOT NULL" : "text")

const createTable = ({ dimensions, name, time }: Table): string => `
CREATE TABLE ${name} (
  ${time} timestamptz NOT NULL,
  ${dimensions.map((column) => `${column} ${typeOf(column)}`).join(", ")},
  ${sums.map((column) => `${column} bigint NOT NULL`).join(", ")}
)`

const createIndex = ({ dimensions, name, time }: Table): string =>
  dimensions.includes("organization_id")
    ? `CREATE INDEX ${name}_organization ON ${name} (${time}, organization_id)`
    : `CREATE INDEX ${name}_${time} ON ${name} (${time})`

const dayOf = (time: string): string => `date_bin('24 hours', ${time}, '2000-01-01 00:00:00+00')`

/** A sum that the column cannot hold stays at its bound, as those by hours do. */
const bounded = (column: string): string =>
  `least(greatest(sum(${column}), -9223372036854775808), 9223372036854775807)::bigint`

const addUp = ({ dimensions, name, source, time }: Table): string => {
  const names = dimensions.join(", ")
  const [at, groups] = time === "day" ? ["starts", names] : ["hour", `hour, ${names}`]
  return `
  DELETE FROM ${name} WHERE ${time} >= starts AND ${time} < ends;
  INSERT INTO ${name} (${time}, ${names}, ${sums.join(", ")})
  SELECT ${at}, ${names}, ${sums.map(bounded).join(", ")}
  FROM ${source} WHERE hour >= starts AND hour < ends GROUP BY ${groups} ORDER BY ${names};`
}

/** The lock under which the log is counted: shared by those who add, and alone by one who replaces. */
const counting = "hashtext('tollgate.usage')"

/** Marks a day as one that is being added up. All who counted before are done then, and all others see the mark. */
const markDay = `
CREATE FUNCTION mark_usage_day(starts timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(${counting});
  INSERT INTO usage_summed_day (day, is_summed) VALUES (starts, false) ON CONFLICT DO NOTHING;
END
$$`

/** Whether the day was added up: not if its mark was taken away, or if another has done it. */
const sumDay = `
CREATE FUNCTION sum_usage_day(starts timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  ends timestamptz := starts + interval '24 hours';
BEGIN
  PERFORM FROM usage_summed_day WHERE day = starts AND NOT is_summed FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  ${tables.map(addUp).join("")}
  UPDATE usage_summed_day SET is_summed = true WHERE day = starts;
  RETURN true;
END
$$`

/** Comes after the trigger that counts, and so under its lock. Marks are locked in order, and after all sums. */
const forget = `
CREATE FUNCTION forget_usage_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM usage_summed_day WHERE day IN (
    SELECT day FROM usage_summed_day WHERE day IN (SELECT ${dayOf("at")} FROM added) ORDER BY day FOR UPDATE);
  RETURN NULL;
END
$$`

const trigger = (name: string, event: string): string => `
CREATE TRIGGER ${name} AFTER ${event} ON logged_request
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION forget_usage_days()`

/** The lock of the table comes first, as for those who write to it. */
const recount = `
CREATE FUNCTION recount_usage(starts timestamptz, ends timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE logged_request IN SHARE ROW EXCLUSIVE MODE;
  PERFORM pg_advisory_xact_lock_shared(${counting});
  PERFORM recount_usage_hours(starts, ends);
  DELETE FROM usage_summed_day WHERE day > starts - interval '24 hours' AND day < ends;
END
$$`

export const usageByDayMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE usage_summed_day (day timestamptz PRIMARY KEY, is_summed boolean NOT NULL)`
  for (const table of tables) {
    yield* sql.unsafe(createTable(table))
    yield* sql.unsafe(createIndex(table))
  }
  yield* sql.unsafe(markDay)
  yield* sql.unsafe(sumDay)
  yield* sql.unsafe(forget)
  yield* sql.unsafe(trigger("logged_request_summed_added", "INSERT"))
  yield* sql.unsafe(trigger("logged_request_summed_replaced", "UPDATE"))
  yield* sql`ALTER FUNCTION recount_usage(timestamptz, timestamptz) RENAME TO recount_usage_hours`
  yield* sql.unsafe(recount)
})
