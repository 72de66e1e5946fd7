import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"

import { modelId, endpointId, requestId } from "../../src/domain/Ids.ts"
import { maximum, picodollars, zero } from "../../src/domain/Money.ts"
import { insertEarlier, insertLatest, logParameters } from "../../src/receipts/LogColumns.ts"
import type { Receipt } from "../../src/receipts/Receipt.ts"
import { rebuildUsage } from "../../src/receipts/UsageRebuild.ts"
import { usageByHourMigration } from "../../src/sql/migrations/0022_usage_by_hour.ts"
import { eventually } from "../support/Chat.ts"
import { describeOnEngines, layerPostgres, rolledBack } from "../support/TestDatabase.ts"
import { receiptOf } from "./receipts.ts"

const start = Date.parse("2026-03-01T23:50:00Z")

/** A receipt per minute, across two days, of two models and some labels; every fifth failed. */
const sample = (number: number): Receipt => {
  const { served: _s, usage: _u, rates: _r, ...rest } = receiptOf(number)
  const atMillis = start + number * 60_000
  const time = atMillis.toString(16).padStart(12, "0")
  const model = number % 2 === 0 ? "gpt-5-mini" : "claude-sonnet-4"
  const id = requestId(`${time.slice(0, 8)}-${time.slice(8)}-7000-9000-${number.toString(16).padStart(12, "0")}`)
  return {
    ...rest,
    id,
    atMillis,
    ...(number % 3 === 0 && { callName: `call ${number % 4}`, endUserId: "x".repeat(500) }),
    ...(number % 5 === 0
      ? { outcome: "internal_error", cost: zero }
      : {
          served: { model: modelId(model), endpoint: endpointId(`openai/${model}`) },
          usage: {
            input: 10 + number,
            cacheRead: 1,
            cacheWrite5m: 2,
            cacheWrite1h: 3,
            audioInput: 4,
            output: 20,
            reasoning: 5
          },
          cost: picodollars(BigInt(1_000_000 + number)),
          // Every other one is of a version that did not store what the provider bills.
          ...(number % 2 === 0 && { providerCost: picodollars(BigInt(700_000 + number)) })
        })
  }
}

const samples = Array.from({ length: 60 }, (_, number) => sample(number))

const store = (receipts: ReadonlyArray<Receipt>, statement = insertLatest) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement, logParameters(receipts)))

const measures = ["input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens"]
  .concat(["audio_input_tokens", "output_tokens", "reasoning_tokens", "cost"])
  .map((name) => `coalesce(sum(${name}), 0)::text AS ${name}`)
  .concat("sum(coalesce(provider_cost, cost))::text AS provider_cost")
  .join(", ")

const groups = "organization_id, project_id, environment_id, api_key_id, model, outcome"
const quarterOf = "date_bin('15 minutes', at, '2000-01-01 00:00:00+00')"
const provider = "split_part(endpoint, '/', 1) AS provider"

/** What is counted by hours, apart from the organization. */
const byHours: Record<string, ReadonlyArray<string>> = {
  usage_call_hour: ["call_name"],
  usage_user_hour: ["end_user_id"],
  usage_key_hour: ["project_id", "environment_id", "api_key_id", "outcome"],
  usage_model_hour: ["project_id", "model", "provider", "outcome"]
}

/** Every hour of each table, and the same counted from the log. */
const countedByHours = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rollups: Array<ReadonlyArray<unknown>> = []
  const log: Array<ReadonlyArray<unknown>> = []
  for (const [table, dimensions] of Object.entries(byHours)) {
    const names = ["organization_id", ...dimensions].join(", ")
    rollups.push(
      yield* sql.unsafe(`SELECT hour, ${names}, requests::text AS requests, duration_millis::text AS duration,
          ${measures} FROM ${table} WHERE requests <> 0
        GROUP BY hour, ${names}, requests, duration_millis ORDER BY hour, ${names}`)
    )
    log.push(
      yield* sql.unsafe(`SELECT date_trunc('hour', at, 'UTC') AS hour, ${names}, count(*)::text AS requests,
          sum(round(duration_millis::numeric))::text AS duration, ${measures}
        FROM (SELECT *, ${provider} FROM logged_request) AS named GROUP BY 1, ${names} ORDER BY 1, ${names}`)
    )
  }
  return { rollups, log }
})

/** Every quarter hour and hour of all tables, and the same counted from the log. */
const counted = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const hours = yield* countedByHours
  const of = (table: string, labels: string) =>
    sql.unsafe(`
      SELECT quarter, ${groups}, provider${labels}, sum(requests)::text AS requests, ${measures}
      FROM ${table} GROUP BY quarter, ${groups}, provider${labels} HAVING sum(requests) <> 0
      ORDER BY quarter, model, outcome${labels}`)
  const ofLog = (labels: string) =>
    sql.unsafe(`
      SELECT ${quarterOf} AS quarter, ${groups}, ${provider}${labels}, count(*)::text AS requests, ${measures}
      FROM logged_request GROUP BY ${quarterOf}, ${groups}, split_part(endpoint, '/', 1)${labels}
      ORDER BY quarter, model, outcome${labels}`)
  const labels = ", call_name, end_user_id"
  return {
    rollups: [yield* of("usage_quarter", ""), yield* of("usage_label_quarter", labels), ...hours.rollups],
    log: [yield* ofLog(""), yield* ofLog(labels), ...hours.log]
  }
})

const assertAgree = Effect.gen(function* () {
  const { log, rollups } = yield* counted
  assert.isNotEmpty(log[0] ?? [])
  assert.deepStrictEqual(rollups, log)
})

const spoilt = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM usage_quarter WHERE model IS NULL`
  yield* sql`UPDATE usage_quarter SET cost = cost + 1`
  yield* sql`UPDATE usage_label_quarter SET requests = 7`
  yield* sql`DELETE FROM usage_call_hour WHERE call_name IS NULL`
  yield* sql`UPDATE usage_model_hour SET cost = 7`
})

describeOnEngines("Usage by quarter hours and hours", (it) => {
  it.effect("is the sum of the log, also after rows were sent again and replaced", () =>
    Effect.gen(function* () {
      yield* store(samples.slice(0, 40))
      // A batch whose answer was lost is sent again; what failed is charged by a repeat; what was charged fails later.
      yield* store(samples.slice(20))
      yield* assertAgree
      const repeats = samples.map((receipt) => ({
        ...sample(1),
        ...(receipt.cost === zero ? {} : { cost: zero, outcome: "failed" }),
        id: receipt.id,
        atMillis: receipt.atMillis
      }))
      yield* store(repeats)
      yield* store(samples, insertEarlier)
      yield* assertAgree
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ readonly requests: string; readonly cost: string }>`
        SELECT sum(requests)::text AS requests, sum(cost)::text AS cost FROM usage_quarter`
      const charged = samples.reduce((sum, { cost }) => sum + (cost === zero ? sample(1).cost : cost), 0n)
      assert.deepStrictEqual(row, { requests: "60", cost: String(charged) })
    }).pipe(rolledBack)
  )

  it.effect("counts the cost as the provider's in all that earlier versions counted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* store(samples.slice(0, 30))
      // As the migration finds the sums.
      for (const table of ["usage_quarter", "usage_label_quarter"]) {
        yield* sql.unsafe(`UPDATE ${table} SET provider_cost = NULL`)
      }
      yield* store(samples.slice(30))
      const [row] = yield* sql<{ readonly cost: string; readonly provider_cost: string }>`
        SELECT sum(cost)::text AS cost, sum(coalesce(provider_cost, cost))::text AS provider_cost FROM usage_quarter`
      const sum = (receipts: ReadonlyArray<Receipt>, of: (receipt: Receipt) => bigint) =>
        receipts.reduce((total, receipt) => total + of(receipt), 0n)
      const early = sum(samples.slice(0, 30), ({ cost }) => cost)
      const late = sum(samples.slice(30), ({ cost, providerCost }) => providerCost ?? cost)
      assert.deepStrictEqual(row, {
        cost: String(sum(samples, ({ cost }) => cost)),
        provider_cost: String(early + late)
      })
    }).pipe(rolledBack)
  )

  it.effect("is counted anew for the days that are kept, and stays for those that were dropped", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* store(samples)
      const before = yield* counted
      yield* spoilt
      assert.deepStrictEqual(yield* rebuildUsage, { days: 2, requests: 60n })
      assert.deepStrictEqual(yield* counted, before)
      yield* sql`DELETE FROM logged_request WHERE at < '2026-03-02 00:00:00+00'`
      assert.deepStrictEqual(yield* rebuildUsage, { days: 1, requests: 50n })
      assert.deepStrictEqual((yield* counted).rollups, before.rollups)
    }).pipe(rolledBack)
  )

  it.effect("is added up from the quarter hours by the migration, also where the log has no receipts any more", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* store(samples)
      const before = yield* countedByHours
      yield* sql`DELETE FROM logged_request`
      yield* sql`UPDATE usage_quarter SET provider_cost = NULL WHERE provider_cost = cost`
      for (const table of Object.keys(byHours)) yield* sql.unsafe(`DROP TABLE ${table}`)
      yield* usageByHourMigration
      assert.deepStrictEqual((yield* countedByHours).rollups, before.rollups)
      // And it goes on counting what is there already.
      yield* sql`DELETE FROM usage_quarter`
      yield* store(samples)
      const [row] = yield* sql<{ readonly requests: string }>`
        SELECT sum(requests)::text AS requests FROM usage_model_hour`
      assert.deepStrictEqual(row, { requests: "120" })
    }).pipe(rolledBack)
  )

  it.effect("stays within its bounds where costs and usage are absurd, and the log is written", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const most = Number.MAX_SAFE_INTEGER
      const absurd = samples.slice(11, 17).map(({ atMillis, id }) => ({
        ...sample(2),
        id,
        atMillis,
        durationMillis: 1e300,
        cost: maximum,
        providerCost: maximum,
        usage: {
          input: most,
          cacheRead: most,
          cacheWrite5m: most,
          cacheWrite1h: most,
          audioInput: most,
          output: most,
          reasoning: most
        }
      }))
      // In one statement, and in one for each: the sums of an hour are of several rows, and are added to.
      yield* store(absurd.slice(0, 3))
      for (const receipt of absurd.slice(3)) yield* store([receipt])
      const [row] = yield* sql<{ readonly exact: string; readonly bound: string; readonly requests: string }>`
        SELECT sum(cost)::text AS exact, (SELECT max(cost)::text FROM usage_model_hour) AS bound,
          (SELECT sum(requests)::text FROM usage_key_hour) AS requests FROM usage_quarter`
      assert.deepStrictEqual(row, { exact: String(6n * maximum), bound: String(2n ** 63n - 1n), requests: "6" })
    }).pipe(rolledBack)
  )
})

describe.runIf(inject("postgresUrl") !== undefined)("Gateways that count usage at once", () => {
  it.live("never wait for each other in a circle, also where rows are replaced", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // One series in three quarter hours.
      const at = (quarter: number, number: number): Receipt => {
        const { atMillis, id } = sample(5 + 15 * quarter + number)
        return { ...sample(0), id, atMillis }
      }
      yield* store([at(0, 0), at(1, 0), at(2, 0)])
      const waiting = (count: number) =>
        eventually(
          Effect.map(
            sql<{ readonly waiting: bigint }>`SELECT count(DISTINCT pid) AS waiting FROM pg_locks
              WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`,
            ([row]) => (row?.waiting === BigInt(count) ? count : undefined)
          ),
          `${count} writers that wait`
        )
      const [locked, finished] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const holder = yield* sql`SELECT FROM usage_quarter ORDER BY quarter LIMIT 1 FOR UPDATE`.pipe(
        Effect.andThen(Deferred.succeed(locked, undefined)),
        Effect.andThen(Deferred.await(finished)),
        sql.withTransaction,
        Effect.forkChild
      )
      yield* Deferred.await(locked)
      // Replaces a row of the last quarter hour and then adds to the earlier ones, of which the first is locked.
      const one = yield* Effect.forkChild(store([at(2, 0), at(0, 1), at(1, 1)]))
      yield* waiting(1)
      const other = yield* Effect.forkChild(store([at(1, 2), at(2, 2)]))
      yield* waiting(2)
      yield* Deferred.succeed(finished, undefined)
      yield* Fiber.join(holder)
      for (const writer of [one, other]) yield* Fiber.join(writer)
      yield* assertAgree
    }).pipe(Effect.provide(layerPostgres(inject("postgresUrl") ?? "")))
  )

  it.live("are all counted on a day that is added up meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const day = sql`'2026-03-01 00:00:00+00'::timestamptz`
      const requests = Effect.map(
        sql<{ readonly is_summed: boolean; readonly requests: string | null }>`
          SELECT is_summed, (SELECT sum(requests)::text FROM usage_all_hour) AS requests FROM usage_summed_day`,
        ([row]) => row
      )
      const waiting = eventually(
        Effect.map(
          sql<{ readonly pid: number }>`SELECT pid FROM pg_locks
            WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`,
          ([row]) => row
        ),
        "one that waits"
      )
      /** Runs `effect` in a transaction, and `meanwhile` while that is open, which has to wait for it. */
      const during = <E, F>(
        effect: Effect.Effect<unknown, E, SqlClient.SqlClient>,
        meanwhile: Effect.Effect<unknown, F, SqlClient.SqlClient>
      ) =>
        Effect.gen(function* () {
          const [done, finished] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
          const first = yield* effect.pipe(
            Effect.andThen(Deferred.succeed(done, undefined)),
            Effect.andThen(Deferred.await(finished)),
            sql.withTransaction,
            Effect.forkChild
          )
          yield* Deferred.await(done)
          const second = yield* Effect.forkChild(meanwhile)
          yield* waiting
          yield* Deferred.succeed(finished, undefined)
          yield* Fiber.join(first)
          yield* Fiber.join(second)
        })
      const [one, two, three] = [0, 1, 2].map((number) => store([sample(number)]))
      assert.isDefined(one)
      assert.isDefined(two)
      assert.isDefined(three)
      // A request that is not committed yet when the day is marked is in the sum.
      yield* during(one, sql`SELECT mark_usage_day(${day})`)
      yield* sql`SELECT sum_usage_day(${day})`
      assert.deepStrictEqual(yield* requests, { is_summed: true, requests: "1" })
      // One that is counted afterwards takes the mark away, also while the day is being added up.
      yield* two
      assert.isUndefined(yield* requests)
      yield* sql`SELECT mark_usage_day(${day})`
      yield* during(sql`SELECT sum_usage_day(${day})`, three)
      assert.isUndefined(yield* requests)
      // Two gateways add it up once.
      yield* sql`SELECT mark_usage_day(${day})`
      yield* during(sql`SELECT sum_usage_day(${day})`, sql`SELECT sum_usage_day(${day})`)
      assert.deepStrictEqual(yield* requests, { is_summed: true, requests: "3" })
    }).pipe(Effect.provide(layerPostgres(inject("postgresUrl") ?? "")))
  )
})
