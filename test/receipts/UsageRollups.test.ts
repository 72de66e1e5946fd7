import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { modelId, endpointId, requestId } from "../../src/domain/Ids.ts"
import { picodollars, zero } from "../../src/domain/Money.ts"
import { insertEarlier, insertLatest, logParameters } from "../../src/receipts/LogColumns.ts"
import type { Receipt } from "../../src/receipts/Receipt.ts"
import { rebuildUsage } from "../../src/receipts/UsageRebuild.ts"
import { describeOnEngines, rolledBack } from "../support/TestDatabase.ts"
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

/** Every quarter hour of both tables, and the same counted from the log. */
const counted = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
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
    rollups: [yield* of("usage_quarter", ""), yield* of("usage_label_quarter", labels)],
    log: [yield* ofLog(""), yield* ofLog(labels)]
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
})

describeOnEngines("Usage by quarter hours", (it) => {
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
})
