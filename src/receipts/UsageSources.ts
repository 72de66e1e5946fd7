/**
 * Where a report finds the usage of its span. The rule: the largest sums that are of one interval as a whole. Those are
 * the sums of past days, where the day has been added up; then those by hours; and by quarter hours what is part of an
 * hour, as at both ends of a span and at midnight in zones whose days begin at half past. So a report is exact in every
 * zone, and mostly reads the shortest table.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { timestamp } from "../sql/Timestamp.ts"

export type UsageInterval = "hour" | "day" | "month"

export interface UsageSpan {
  readonly fromMillis: number
  /** Exclusive. */
  readonly toMillis: number
  readonly interval?: UsageInterval | undefined
  readonly timeZone: string
}

/** From when on, and until when, exclusively. */
export type UsageRange = readonly [fromMillis: number, toMillis: number]

/** A table, and which of its rows are read. */
export interface UsageSource {
  readonly table: string
  /** The column that says when. */
  readonly time: "quarter" | "hour" | "day"
  readonly rows:
    | {
        readonly ranges: ReadonlyArray<UsageRange>
        /** Times in the ranges that are read from another source. */
        readonly without: ReadonlyArray<number>
      }
    /** These times alone. */
    | { readonly only: ReadonlyArray<number> }
}

const quarterMillis = 900_000
const hourMillis = 4 * quarterMillis
const dayMillis = 24 * hourMillis

/** The tables by hours, the shortest first. Each is for an organization as well. */
const hourTables = [
  { table: "usage_key_hour", dimensions: ["project_id", "environment_id", "api_key_id", "outcome"] },
  { table: "usage_model_hour", dimensions: ["project_id", "model", "provider", "outcome"] },
  { table: "usage_call_hour", dimensions: ["call_name"] },
  { table: "usage_user_hour", dimensions: ["end_user_id"] }
]

/** What has been added up of past days, the shortest first. */
const pastTables = [
  { table: "usage_all_hour", time: "hour", dimensions: ["model", "provider", "outcome"] },
  { table: "usage_all_call_day", time: "day", dimensions: ["call_name"] },
  { table: "usage_all_user_day", time: "day", dimensions: ["end_user_id"] },
  { table: "usage_call_day", time: "day", dimensions: ["organization_id", "call_name"] },
  { table: "usage_user_day", time: "day", dimensions: ["organization_id", "end_user_id"] }
] as const

type PastTable = (typeof pastTables)[number]

/** Above this share of hours, reading quarter hours alone is not slower. */
const mostSplit = 0.25

const below = (millis: number, unit: number): number => Math.floor(millis / unit) * unit
const above = (millis: number, unit: number): number => Math.ceil(millis / unit) * unit

const quartersIn = (fromMillis: number, toMillis: number): ReadonlyArray<number> =>
  Array.from({ length: (toMillis - fromMillis) / quarterMillis }, (_, index) => fromMillis + index * quarterMillis)

const covers = (table: { readonly dimensions: ReadonlyArray<string> }, dimensions: ReadonlyArray<string>): boolean =>
  dimensions.every((name) => table.dimensions.includes(name))

/** The hours in which an interval ends that does not end with them, as the database knows the zone. */
const splitHours = ({ fromMillis, interval, timeZone, toMillis }: UsageSpan) =>
  Effect.gen(function* () {
    if (interval === undefined || timeZone === "UTC") return []
    const sql = yield* SqlClient.SqlClient
    // No hour before the first that was counted matters, however early the span begins.
    const rows = yield* sql<{ readonly hour: Date }>`
      SELECT hour FROM generate_series(
        greatest(${timestamp(fromMillis)}, (SELECT min(hour) FROM usage_key_hour)),
        ${timestamp(toMillis - hourMillis)}, '1 hour'
      ) AS hour
      WHERE date_trunc(${interval}::text, hour, ${timeZone}::text)
        <> date_trunc(${interval}::text, hour + interval '45 minutes', ${timeZone}::text)`
    return rows.map(({ hour }) => hour.getTime())
  })

/** The past days in a span that are added up, joined to ranges; by days, only those that are of one interval. */
const pastRanges = ({ fromMillis, interval, timeZone, toMillis }: UsageSpan, { time }: PastTable) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const isWhole =
      time === "hour" || interval === undefined
        ? []
        : [
            sql`date_trunc(${interval}::text, day, ${timeZone}::text)
              = date_trunc(${interval}::text, day + interval '23 hours 45 minutes', ${timeZone}::text)`
          ]
    const rows = yield* sql<{ readonly day: Date }>`
      SELECT day FROM usage_summed_day
      WHERE ${sql.and([
        sql`is_summed AND day >= ${timestamp(fromMillis)} AND day <= ${timestamp(toMillis - dayMillis)}`,
        ...isWhole
      ])}
      ORDER BY day`
    const ranges: Array<UsageRange> = []
    for (const { day } of rows) {
      const starts = day.getTime()
      const last = ranges.at(-1)
      if (last?.[1] === starts) ranges[ranges.length - 1] = [last[0], starts + dayMillis]
      else ranges.push([starts, starts + dayMillis])
    }
    return ranges
  })

/** What ranges in order leave of a span. */
const between = (
  fromMillis: number,
  toMillis: number,
  ranges: ReadonlyArray<UsageRange>
): ReadonlyArray<UsageRange> => {
  const starts = [fromMillis, ...ranges.map(([, to]) => to)]
  const ends = [...ranges.map(([from]) => from), toMillis]
  return starts.flatMap((start, index): ReadonlyArray<UsageRange> => {
    const end = ends[index] ?? toMillis
    return start < end ? [[start, end]] : []
  })
}

/** The tables for a report that is grouped by and narrowed to `dimensions`, and what is read of each. */
export const sourcesOf = (
  span: UsageSpan,
  dimensions: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<UsageSource>, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const own = dimensions.filter((name) => name !== "organization_id")
    const byLabels = own.includes("call_name") || own.includes("end_user_id")
    const quarters = { table: byLabels ? "usage_label_quarter" : "usage_quarter", time: "quarter" } as const
    const hours = hourTables.find((one) => covers(one, own))
    const [first, last] = [below(span.fromMillis, quarterMillis), above(span.toMillis, quarterMillis)]
    const [fromMillis, toMillis] = [above(first, hourMillis), below(last, hourMillis)]
    const alone: ReadonlyArray<UsageSource> = [{ ...quarters, rows: { ranges: [[first, last]], without: [] } }]
    if (hours === undefined || fromMillis >= toMillis) return alone
    const without = yield* splitHours({ ...span, fromMillis, toMillis })
    if (without.length > (mostSplit * (toMillis - fromMillis)) / hourMillis) return alone
    const past = pastTables.find((one) => covers(one, dimensions))
    const added = past === undefined ? [] : yield* pastRanges({ ...span, fromMillis, toMillis }, past)
    const others = between(fromMillis, toMillis, added)
    const only = [
      ...quartersIn(first, fromMillis),
      ...without.flatMap((hour) => quartersIn(hour, hour + hourMillis)),
      ...quartersIn(toMillis, last)
    ]
    const sources: ReadonlyArray<UsageSource | undefined> = [
      past && added.length > 0 ? { ...past, rows: { ranges: added, without } } : undefined,
      others.length > 0 ? { table: hours.table, time: "hour", rows: { ranges: others, without } } : undefined,
      only.length > 0 ? { ...quarters, rows: { only } } : undefined
    ]
    return sources.filter((source) => source !== undefined)
  })
