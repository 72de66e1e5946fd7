/**
 * What was used in a span of time, summed from the rollups by quarter hours. The rule: a report reads no receipts, so
 * it takes as long as the number of quarter hours and series asks for, and not that of the requests.
 */
import { Context, Data, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"

import { type Picodollars, picodollars } from "../domain/Money.ts"
import { timestamp } from "../sql/Timestamp.ts"

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

/** These are counted in a table of their own, which is longer. */
const labels: ReadonlyArray<UsageDimension> = ["call_name", "end_user_id"]
const uuids: ReadonlyArray<UsageDimension> = ["organization_id", "project_id", "environment_id", "api_key_id"]

export interface UsageQuery {
  /** In milliseconds since 1970; both are taken down to a quarter hour. */
  readonly fromMillis: number
  /** Exclusive. */
  readonly toMillis: number
  /** Without it, the whole span is one row for each group. */
  readonly interval?: "hour" | "day" | "month" | undefined
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

/** Enough to group a month of a million requests in memory; PostgreSQL would sort them on disk. */
const groupingMemory = "'32MB'"

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

      const conditions = ({ filter, fromMillis, toMillis }: UsageQuery): ReadonlyArray<Statement.Fragment> => [
        sql`quarter >= date_bin('15 minutes', ${timestamp(fromMillis)}, '2000-01-01 00:00:00+00')`,
        sql`quarter < ${timestamp(toMillis)}`,
        ...usageDimensions.flatMap((name) => {
          const value = filter[name]
          if (value === undefined) return []
          return [sql`${sql(name)} = ${value}${sql.literal(uuids.includes(name) ? "::uuid" : "")}`]
        })
      ]

      const report = Effect.fn("UsageReports.report")(function* (query: UsageQuery) {
        const { groupBy, interval, timeZone } = query
        const byLabels = usageDimensions.some(
          (name) => labels.includes(name) && (groupBy.includes(name) || query.filter[name] !== undefined)
        )
        const start =
          interval === undefined
            ? sql`NULL::timestamptz`
            : sql`date_trunc(${interval}::text, quarter, ${timeZone}::text)`
        const columns = groupBy.map((name) => sql`${sql(name)}`)
        const grouped = sql.csv([sql.literal("1"), ...columns])
        const statement = sql<SumRow>`
          SELECT ${sql.csv([sql`${start} AS start`, ...columns])}, sum(requests)::text AS requests,
            sum(input_tokens)::text AS input, sum(cache_read_tokens)::text AS cache_read,
            sum(cache_write_5m_tokens + cache_write_1h_tokens)::text AS cache_write,
            sum(audio_input_tokens)::text AS audio_input, sum(output_tokens)::text AS output,
            sum(reasoning_tokens)::text AS reasoning, sum(audio_millis)::text AS audio_millis, sum(cost)::text AS cost,
            sum(coalesce(provider_cost, cost))::text AS provider_cost
          FROM ${sql.literal(byLabels ? "usage_label_quarter" : "usage_quarter")}
          WHERE ${sql.and(conditions(query))}
          GROUP BY ${grouped} ORDER BY 1, sum(cost) DESC, sum(requests) DESC LIMIT ${maxUsageRows + 1}`
        const rows = yield* sql`SET LOCAL work_mem = ${sql.literal(groupingMemory)}`.pipe(
          Effect.andThen(statement),
          sql.withTransaction,
          Effect.mapError((cause) => new UsageReportError({ reason: "Unavailable", cause }))
        )
        if (rows.length > maxUsageRows) return yield* new UsageReportError({ reason: "TooLong" })
        return rows.map((row) => usageRow(row, groupBy))
      })

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
