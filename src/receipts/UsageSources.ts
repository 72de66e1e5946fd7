/**
 * Where a report finds the usage of its span. The rule: sums by hours where an hour is of one interval as a whole, and
 * by quarter hours where it is not, as at both ends of a span and at midnight in zones whose days begin at half past;
 * so a report is exact in every zone and mostly reads the shorter table.
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

export interface UsageSources {
  /** Absent where the quarter hours alone are read. */
  readonly hours?: {
    readonly table: string
    readonly fromMillis: number
    readonly toMillis: number
    /** Hours in between that are read as quarter hours. */
    readonly without: ReadonlyArray<number>
  }
  readonly quarters: {
    readonly table: string
    /** These alone, or all of the span. */
    readonly only?: ReadonlyArray<number>
  }
}

const quarterMillis = 900_000
const hourMillis = 4 * quarterMillis

/** The tables by hours, the shortest first. Each is for an organization as well. */
const hourTables = [
  { table: "usage_key_hour", dimensions: ["project_id", "environment_id", "api_key_id", "outcome"] },
  { table: "usage_model_hour", dimensions: ["project_id", "model", "provider", "outcome"] },
  { table: "usage_call_hour", dimensions: ["call_name"] },
  { table: "usage_user_hour", dimensions: ["end_user_id"] }
]

/** Above this share of hours, reading quarter hours alone is not slower. */
const mostSplit = 0.25

const below = (millis: number, unit: number): number => Math.floor(millis / unit) * unit
const above = (millis: number, unit: number): number => Math.ceil(millis / unit) * unit

const quartersIn = (fromMillis: number, toMillis: number): ReadonlyArray<number> =>
  Array.from({ length: (toMillis - fromMillis) / quarterMillis }, (_, index) => fromMillis + index * quarterMillis)

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

/** The tables for a report that is grouped by and narrowed to `dimensions`, and what is read of each. */
export const sourcesOf = (
  span: UsageSpan,
  dimensions: ReadonlyArray<string>
): Effect.Effect<UsageSources, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const own = dimensions.filter((name) => name !== "organization_id")
    const byLabels = own.includes("call_name") || own.includes("end_user_id")
    const quarters = { table: byLabels ? "usage_label_quarter" : "usage_quarter" }
    const found = hourTables.find((one) => own.every((name) => one.dimensions.includes(name)))
    const [first, last] = [below(span.fromMillis, quarterMillis), above(span.toMillis, quarterMillis)]
    const [fromMillis, toMillis] = [above(first, hourMillis), below(last, hourMillis)]
    if (found === undefined || fromMillis >= toMillis) return { quarters }
    const without = yield* splitHours({ ...span, fromMillis, toMillis })
    if (without.length > (mostSplit * (toMillis - fromMillis)) / hourMillis) return { quarters }
    const only = [
      ...quartersIn(first, fromMillis),
      ...without.flatMap((hour) => quartersIn(hour, hour + hourMillis)),
      ...quartersIn(toMillis, last)
    ]
    return { hours: { table: found.table, fromMillis, toMillis, without }, quarters: { ...quarters, only } }
  })
