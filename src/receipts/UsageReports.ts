/**
 * What was used in a span of time, summed from the rollups by days, hours and quarter hours. The rule: a report reads
 * no receipts, so it takes as long as the number of hours and series asks for, and not that of the requests.
 */
import { Context, Data, DateTime, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"

import { type Picodollars, picodollars } from "../domain/Money.ts"
import { timestamp } from "../sql/Timestamp.ts"
import { sourcesOf, type UsageInterval, type UsageSource, type UsageSpan } from "./UsageSources.ts"

/** What a report can be grouped by, and what it can be narrowed to. */
export const usageDimensions = [
  "organization_id",
  "project_id",
  "environment_id",
  "api_key_id",
  "model",
  "provider",
  "outcome",
  "call_name",
  "end_user_id"
] as const

export type UsageDimension = (typeof usageDimensions)[number]

/** These have the most values. */
const labels: ReadonlyArray<UsageDimension> = ["call_name", "end_user_id"]
const uuids: ReadonlyArray<UsageDimension> = ["organization_id", "project_id", "environment_id", "api_key_id"]

export interface UsageQuery extends UsageSpan {
  /** In milliseconds since 1970; both are taken down to a quarter hour. */
  readonly fromMillis: number
  /** Exclusive. */
  readonly toMillis: number
  /** Without it, the whole span is one row for each group. */
  readonly interval?: UsageInterval | undefined
  /** The IANA name of the zone whose hours, days and months are meant. */
  readonly timeZone: string
  readonly groupBy: ReadonlyArray<UsageDimension>
  readonly filter: { readonly [name in UsageDimension]?: string | undefined }
}

export interface UsageRow {
  /** When the interval begins; absent without intervals. */
  readonly startMillis?: number
  /** The values that the row is for; `null` where the requests have none. */
  readonly group: { readonly [name in UsageDimension]?: string | null }
  readonly requests: number
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly audioInputTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly audioMillis: number
  /** What was charged. */
  readonly cost: Picodollars
  /** What the providers bill, as far as that is known. */
  readonly providerCost: Picodollars
}

/**
 * Enough to group a month of a million requests in memory; PostgreSQL would sort them on disk. Compiling a statement
 * takes longer than it saves.
 */
const settings = "set_config('work_mem', '32MB', true), set_config('jit', 'off', true)"

/** Of what makes many rows, this share of the span is looked at first, whether it alone is too long. */
const probed = { labels: 0.2, hours: 0.4 }

/** The most rows of one report. */
export const maxUsageRows = 10_000

export class UsageReportError extends Data.TaggedError("UsageReportError")<{
  /** `TooLong`: it has more than `maxUsageRows` rows. */
  readonly reason: "TooLong" | "Unavailable"
  readonly cause?: unknown
}> {}

type SumRow = { readonly [name in UsageDimension]?: string | null } & {
  readonly start: Date | null
  readonly requests: string
  readonly input: string
  readonly cache_read: string
  readonly cache_write: string
  readonly audio_input: string
  readonly output: string
  readonly reasoning: string
  readonly audio_millis: string
  readonly cost: string
  readonly provider_cost: string
}

const counts = {
  requests: "requests",
  input: "input_tokens",
  cache_read: "cache_read_tokens",
  cache_write: "cache_write_5m_tokens + cache_write_1h_tokens",
  audio_input: "audio_input_tokens",
  output: "output_tokens",
  reasoning: "reasoning_tokens",
  audio_millis: "audio_millis",
  cost: "cost",
  provider_cost: "coalesce(provider_cost, cost)"
}

const sums = Object.entries(counts).map(([name, value]) => `sum(${value}) AS ${name}`)
const totals = Object.keys(counts).map((name) => `sum(${name})::text AS ${name}`)

const isoTimes = (times: ReadonlyArray<number>): ReadonlyArray<string> =>
  times.map((millis) => DateTime.formatIso(DateTime.makeUnsafe(millis)))

/** The conditions of the rows of a source by their time. */
const timesOf = (
  sql: SqlClient.SqlClient,
  time: string,
  rows: UsageSource["rows"]
): ReadonlyArray<Statement.Fragment> => {
  if ("only" in rows) return [sql`${sql(time)} = ANY(${isoTimes(rows.only)}::timestamptz[])`]
  const ranges = rows.ranges.map(
    ([from, to]) => sql`(${sql(time)} >= ${timestamp(from)} AND ${sql(time)} < ${timestamp(to)})`
  )
  const without = sql`${sql(time)} <> ALL(${isoTimes(rows.without)}::timestamptz[])`
  return [sql.or(ranges), ...(rows.without.length > 0 ? [without] : [])]
}

const filters = (sql: SqlClient.SqlClient, { filter }: UsageQuery): ReadonlyArray<Statement.Fragment> =>
  usageDimensions.flatMap((name) => {
    const value = filter[name]
    if (value === undefined) return []
    return [sql`${sql(name)} = ${value}${sql.literal(uuids.includes(name) ? "::uuid" : "")}`]
  })

const grouped = (sql: SqlClient.SqlClient, { groupBy }: UsageQuery): Statement.Fragment =>
  sql`GROUP BY ${sql.csv([sql.literal("1"), ...groupBy.map((name) => sql`${sql(name)}`)])}`

export class UsageReports extends Context.Service<
  UsageReports,
  {
    /** In order of time, then of cost, the dearest group first. */
    readonly report: (query: UsageQuery) => Effect.Effect<ReadonlyArray<UsageRow>, UsageReportError>
  }
>()("tollgate/receipts/UsageReports") {
  static readonly layer = Layer.effect(
    UsageReports,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** The rows of a query as `SELECT`s, with the time of each and what `values` makes of them. */
      const rowsOf = Effect.fnUntraced(function* (query: UsageQuery, values: ReadonlyArray<string>) {
        const { groupBy, interval, timeZone } = query
        const used = usageDimensions.filter((name) => groupBy.includes(name) || query.filter[name] !== undefined)
        const columns = [...groupBy, ...values].map((value) => sql.literal(value))
        const select = ({ rows, table, time }: UsageSource) => {
          const start =
            interval === undefined
              ? sql`NULL::timestamptz`
              : sql`date_trunc(${interval}::text, ${sql(time)}, ${timeZone}::text)`
          return sql`SELECT ${sql.csv([sql`${start} AS start`, ...columns])} FROM ${sql(table)}
            WHERE ${sql.and([...timesOf(sql, time, rows), ...filters(sql, query)])} ${grouped(sql, query)}`
        }
        const [first, ...others] = (yield* sourcesOf(query, used)).map(select)
        return others.reduce((all, one) => sql`${all} UNION ALL ${one}`, first ?? sql``)
      })

      /** Whether the beginning of the span alone has too many rows, which is found without adding anything up. */
      const isTooLong = Effect.fnUntraced(function* (query: UsageQuery) {
        const { fromMillis, groupBy, interval } = query
        const byLabels = groupBy.some((name) => labels.includes(name))
        if (!byLabels && (interval !== "hour" || groupBy.length === 0)) return false
        const share = byLabels ? probed.labels : probed.hours
        const toMillis = fromMillis + share * (query.toMillis - fromMillis)
        const rows = yield* rowsOf({ ...query, toMillis }, [])
        const [found] = yield* sql<{ readonly many: boolean }>`
          SELECT count(*) > ${maxUsageRows} AS many FROM (SELECT DISTINCT * FROM (${rows}) AS found) AS each`
        return found?.many === true
      })

      const read = Effect.fnUntraced(function* (query: UsageQuery) {
        yield* sql`SELECT ${sql.literal(settings)}`
        if (yield* isTooLong(query)) return yield* new UsageReportError({ reason: "TooLong" })
        const columns = ["start", ...query.groupBy, ...totals].map((column) => sql.literal(column))
        const rows = yield* sql<SumRow>`
          SELECT ${sql.csv(columns)} FROM (${yield* rowsOf(query, sums)}) AS counted
          ${grouped(sql, query)} ORDER BY 1, sum(cost) DESC, sum(requests) DESC LIMIT ${maxUsageRows + 1}`
        if (rows.length > maxUsageRows) return yield* new UsageReportError({ reason: "TooLong" })
        return rows.map((row) => usageRow(row, query.groupBy))
      })

      const report = Effect.fn("UsageReports.report")((query: UsageQuery) =>
        read(query).pipe(
          Effect.provideService(SqlClient.SqlClient, sql),
          sql.withTransaction,
          Effect.catchTag("SqlError", (cause) => new UsageReportError({ reason: "Unavailable", cause }))
        )
      )

      return UsageReports.of({ report })
    })
  )
}

const usageRow = (row: SumRow, groupBy: ReadonlyArray<UsageDimension>): UsageRow => ({
  ...(row.start !== null && { startMillis: row.start.getTime() }),
  group: Object.fromEntries(groupBy.map((name) => [name, row[name] ?? null])),
  requests: Number(row.requests),
  inputTokens: Number(row.input),
  cacheReadTokens: Number(row.cache_read),
  cacheWriteTokens: Number(row.cache_write),
  audioInputTokens: Number(row.audio_input),
  outputTokens: Number(row.output),
  reasoningTokens: Number(row.reasoning),
  audioMillis: Number(row.audio_millis),
  cost: picodollars(BigInt(row.cost)),
  providerCost: picodollars(BigInt(row.provider_cost))
})
