/** Reports, whichever tables they read, against the same summed from the log. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { endpointId, modelId, requestId } from "../../src/domain/Ids.ts"
import { picodollars, zero } from "../../src/domain/Money.ts"
import { insertLatest, logParameters } from "../../src/receipts/LogColumns.ts"
import type { Receipt } from "../../src/receipts/Receipt.ts"
import { sumUsageDays } from "../../src/receipts/UsageDays.ts"
import { rebuildUsage } from "../../src/receipts/UsageRebuild.ts"
import { type UsageDimension, type UsageQuery, UsageReports } from "../../src/receipts/UsageReports.ts"
import { describeOnEngines, rolledBack } from "../support/TestDatabase.ts"
import { receiptOf } from "./receipts.ts"

const minute = 60_000
const hour = 60 * minute

/** In this night clocks were put forward in Europe, and a week later back by half an hour on Lord Howe Island. */
const start = Date.parse("2026-03-28T20:05:00Z")

/** Every 13 minutes for nine days. */
const sample = (number: number): Receipt => {
  const { served: _s, ...rest } = receiptOf(number)
  const atMillis = start + number * 13 * minute
  const time = atMillis.toString(16).padStart(12, "0")
  const model = ["gpt-5-mini", "claude-sonnet-4", "gpt-4o"][number % 3] ?? ""
  const failed = number % 11 === 0
  return {
    ...rest,
    id: requestId(`${time.slice(0, 8)}-${time.slice(8)}-7000-9000-${number.toString(16).padStart(12, "0")}`),
    atMillis,
    cost: failed ? zero : picodollars(BigInt(number)),
    ...(failed ? { outcome: "internal_error" } : {}),
    ...(!failed && { served: { model: modelId(model), endpoint: endpointId(`p${number % 3}/${model}`) } }),
    ...(number % 4 > 0 && { callName: `call ${number % 4}`, endUserId: `user ${number % 5}` })
  }
}

const samples = Array.from({ length: 990 }, (_, number) => sample(number))

const store = (receipts: ReadonlyArray<Receipt>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(insertLatest, logParameters(receipts)))

const fill = store(samples)

/** Adds up the days that are over a while after the last request. */
const sumDays = sumUsageDays(start + 12 * 24 * hour)

const groupings: ReadonlyArray<ReadonlyArray<UsageDimension>> = [
  [],
  ["organization_id", "model"],
  ["project_id", "environment_id", "api_key_id"],
  ["provider", "outcome"],
  ["api_key_id", "model"],
  ["call_name"],
  ["end_user_id"],
  ["organization_id", "call_name"],
  ["organization_id", "end_user_id"],
  ["call_name", "end_user_id"]
]

/** The same from the log: when, the group, how many and what they cost. */
const ofLog = ({ filter, fromMillis, groupBy, interval, timeZone, toMillis }: UsageQuery) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const started = interval === undefined ? "NULL::timestamptz" : `date_trunc('${interval}', at, '${timeZone}')`
    const columns = [started, ...groupBy].join(", ")
    const rows = yield* sql.unsafe<{ readonly row: string }>(
      `SELECT
        jsonb_build_array(floor(extract(epoch FROM start) * 1000)::bigint, names, requests, cost::text)::text AS row
      FROM (
        SELECT ${started} AS start, jsonb_build_array(${groupBy.join(", ")}) AS names,
          count(*) AS requests, sum(cost) AS cost
        FROM (SELECT *, split_part(endpoint, '/', 1) AS provider FROM logged_request) AS named
        WHERE at >= to_timestamp($1::float8 / 1000) AND at < to_timestamp($2::float8 / 1000)
          AND model IS NOT DISTINCT FROM coalesce($3, model)
        GROUP BY ${columns}
      ) AS counted`,
      [fromMillis, toMillis, filter.model ?? null]
    )
    return rows.map(({ row }) => JSON.stringify(JSON.parse(row))).sort()
  })

const ofReport = (query: UsageQuery) =>
  Effect.gen(function* () {
    const { report } = yield* UsageReports
    const rows = yield* report(query)
    return rows
      .map(({ cost, group, requests, startMillis }) =>
        JSON.stringify([startMillis ?? null, query.groupBy.map((name) => group[name] ?? null), requests, String(cost)])
      )
      .sort()
  }).pipe(Effect.provide(UsageReports.layer))

const assertExact = Effect.fnUntraced(function* (query: UsageQuery) {
  const expected = yield* ofLog(query)
  assert.isNotEmpty(expected)
  assert.deepStrictEqual(yield* ofReport(query), expected, JSON.stringify(query))
})

/** Whole hours, quarters at both ends, within one hour, and before anything was used. */
const spans = [
  [start - 5 * minute, start + 9 * 24 * hour - 5 * minute],
  [start + 10 * minute, start + 8 * 24 * hour + 25 * minute],
  [start + 10 * minute, start + 40 * minute],
  [start + 25 * minute, start + hour + 10 * minute],
  [start - 400 * 24 * hour, start + 200 * 24 * hour]
] as const

const wholeSpan = { fromMillis: spans[0][0], toMillis: spans[0][1], timeZone: "UTC", filter: {} }

const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "America/St_Johns"].concat(
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Pacific/Kiritimati"
)

describeOnEngines("Reports of usage", (it) => {
  it.effect("are exact in every zone, by every interval and group", () =>
    Effect.gen(function* () {
      yield* fill
      for (const [index, timeZone] of zones.entries()) {
        for (const interval of ["hour", "day", "month"] as const) {
          const [fromMillis, toMillis] = spans[index % 2] ?? spans[0]
          for (const groupBy of groupings) {
            yield* assertExact({ fromMillis, toMillis, interval, timeZone, groupBy, filter: {} })
          }
        }
      }
    }).pipe(rolledBack)
  )

  it.effect("are the same once past days are added up, and where only some of them are", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* fill
      const assertAll = Effect.gen(function* () {
        for (const [index, timeZone] of ["UTC", "Europe/Berlin", "Asia/Kolkata", "Pacific/Kiritimati"].entries()) {
          for (const interval of ["hour", "day", "month", undefined] as const) {
            const [fromMillis, toMillis] = spans[index % 2] ?? spans[0]
            for (const groupBy of [
              ["provider", "outcome"],
              ["call_name"],
              ["organization_id", "end_user_id"]
            ] as const) {
              yield* assertExact({ fromMillis, toMillis, interval, timeZone, groupBy, filter: {} })
            }
          }
        }
      })
      yield* sumDays
      yield* assertAll
      yield* sql`DELETE FROM usage_summed_day WHERE extract(day FROM day AT TIME ZONE 'UTC')::int % 3 = 0`
      yield* assertAll
      for (const [fromMillis, toMillis] of spans) {
        yield* assertExact({ fromMillis, toMillis, timeZone: "UTC", groupBy: ["call_name"], filter: {} })
      }
    }).pipe(rolledBack)
  )

  it.effect("are exact for every span, and where they are narrowed", () =>
    Effect.gen(function* () {
      yield* fill
      for (const [fromMillis, toMillis] of spans) {
        for (const groupBy of groupings) {
          for (const filter of [{}, { model: "gpt-4o" }]) {
            yield* assertExact({ fromMillis, toMillis, timeZone: "UTC", groupBy, filter })
            yield* assertExact({ fromMillis, toMillis, interval: "day", timeZone: "Asia/Kolkata", groupBy, filter })
          }
        }
      }
    }).pipe(rolledBack)
  )

  it.effect("read the shorter tables where hours are whole", () =>
    Effect.gen(function* () {
      yield* fill
      const sql = yield* SqlClient.SqlClient
      yield* sql`DELETE FROM usage_quarter`
      yield* sql`DELETE FROM usage_label_quarter`
      const [fromMillis, toMillis] = spans[0]
      for (const groupBy of groupings.slice(0, 4).concat([["call_name"], ["end_user_id"]])) {
        for (const interval of ["hour", "day", undefined] as const) {
          yield* assertExact({ fromMillis, toMillis, interval, timeZone: "Europe/Berlin", groupBy, filter: {} })
        }
      }
      // Of each day in a zone at half past, one hour is read by its quarters.
      const days = { fromMillis, toMillis, interval: "day", timeZone: "Asia/Kolkata", groupBy: [], filter: {} } as const
      const found = (yield* ofReport(days)).length
      assert.strictEqual(found, (yield* ofLog(days)).length)
    }).pipe(rolledBack)
  )

  it.effect("read no hours of days that are added up", () =>
    Effect.gen(function* () {
      yield* fill
      yield* sumDays
      const sql = yield* SqlClient.SqlClient
      for (const table of ["key", "model", "call", "user"]) {
        yield* sql.unsafe(`DELETE FROM usage_${table}_hour
          WHERE hour >= '2026-03-29 00:00:00+00' AND hour < '2026-04-06 00:00:00+00'`)
      }
      yield* sql`DELETE FROM usage_quarter`
      const [fromMillis, toMillis] = spans[0]
      for (const groupBy of [["model"], ["provider", "outcome"]] as const) {
        for (const interval of ["hour", "day", undefined] as const) {
          yield* assertExact({ fromMillis, toMillis, interval, timeZone: "Europe/Berlin", groupBy, filter: {} })
        }
      }
      for (const label of ["call_name", "end_user_id"] as const) {
        for (const groupBy of [[label], ["organization_id", label]] as const) {
          yield* assertExact({ fromMillis, toMillis, timeZone: "Europe/Berlin", groupBy, filter: {} })
          yield* assertExact({ fromMillis, toMillis, interval: "day", timeZone: "UTC", groupBy, filter: {} })
        }
      }
    }).pipe(rolledBack)
  )

  it.effect("are exact after a day that was added up is counted in again, and once it is added up anew", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [early, late] = [samples.slice(0, 700), samples.slice(700)]
      yield* store(early.filter((_, number) => number % 2 === 0))
      yield* sumDays
      const summed = Effect.map(
        sql<{ readonly days: bigint }>`SELECT count(*) AS days FROM usage_summed_day WHERE is_summed`,
        ([row]) => row?.days
      )
      // Days to the end of the span are marked as well, although nothing was used on them.
      assert.strictEqual(yield* summed, 12n)
      const query = { ...wholeSpan, timeZone: "Europe/Berlin", groupBy: ["model"] } as const
      yield* store(early)
      assert.strictEqual(yield* summed, 4n)
      yield* assertExact(query)
      // A repeat takes the place of a receipt that cost nothing.
      yield* sumDays
      const failed = early.find(({ cost }) => cost === zero)
      assert.isDefined(failed)
      yield* store([{ ...samples[1], ...failed, cost: picodollars(7_777n) } as Receipt])
      assert.strictEqual(yield* summed, 11n)
      yield* assertExact(query)
      yield* sumDays
      yield* store(late)
      yield* assertExact(query)
      yield* sumDays
      yield* assertExact(query)
      yield* sql`UPDATE usage_all_hour SET cost = 1`
      yield* sql`UPDATE usage_call_day SET cost = 1`
      yield* rebuildUsage
      // By the clock of the test none of the days is over.
      assert.strictEqual(yield* summed, 2n)
      yield* assertExact(query)
      yield* sumDays
      yield* assertExact(query)
      yield* assertExact({ ...query, groupBy: ["organization_id", "call_name"] })
      assert.strictEqual(yield* summed, 12n)
    }).pipe(rolledBack)
  )

  it.effect("are refused where they are too long, whether the beginning is so already or not", () =>
    Effect.gen(function* () {
      yield* fill
      const sql = yield* SqlClient.SqlClient
      const [fromMillis, toMillis] = spans[0]
      const tooMany = (groupBy: ReadonlyArray<UsageDimension>, interval?: "hour") =>
        Effect.flip(ofReport({ fromMillis, toMillis, interval, timeZone: "UTC", groupBy, filter: {} })).pipe(
          Effect.map(({ reason }) => reason)
        )
      const names = (from: number, to: number) => sql`
        INSERT INTO usage_call_hour SELECT hour, organization_id, sha256(n::text::bytea), 'name ' || n, requests,
          input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, audio_input_tokens,
          output_tokens, reasoning_tokens, audio_millis, cost, duration_millis, provider_cost
        FROM generate_series(${from}::int, ${to}::int) AS n,
          (SELECT * FROM usage_call_hour WHERE hour = (SELECT max(hour) FROM usage_call_hour) LIMIT 1) AS one`
      yield* names(1, 9_000)
      assert.isAbove((yield* ofReport({ ...wholeSpan, groupBy: ["call_name"] })).length, 9_000)
      yield* names(9_001, 10_001)
      assert.strictEqual(yield* tooMany(["call_name"]), "TooLong")
      yield* sql`UPDATE usage_call_hour SET hour = (SELECT min(hour) FROM usage_call_hour)
        WHERE call_name LIKE 'name %'`
      assert.strictEqual(yield* tooMany(["call_name"]), "TooLong")
      assert.strictEqual(yield* tooMany(["call_name"], "hour"), "TooLong")
    }).pipe(rolledBack)
  )
})
