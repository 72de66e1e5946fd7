import { assert } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { modelId, requestId } from "../../src/domain/Ids.ts"
import { zero } from "../../src/domain/Money.ts"
import { moveEarlierReceipts } from "../../src/receipts/EarlierReceipts.ts"
import { insertLatest, logParameters } from "../../src/receipts/LogColumns.ts"
import { keepPartitions } from "../../src/receipts/LogPartitions.ts"
import type { Receipt } from "../../src/receipts/Receipt.ts"
import { RequestLog } from "../../src/receipts/RequestLog.ts"
import { encodeReceipt } from "../../src/receipts/StoredReceipt.ts"
import { describeOnEngines, rolledBack } from "../support/TestDatabase.ts"
import { features, organization, receiptOf as sampleReceipt } from "./receipts.ts"

const dayMillis = 86_400_000

/** A receipt of the first day of the virtual clock. */
const receiptOf = (number: number): Receipt => ({
  ...sampleReceipt(number),
  id: requestId(`00000000-0001-7000-9000-${number.toString(16).padStart(12, "0")}`),
  atMillis: 1
})

const store = (...receipts: ReadonlyArray<Receipt>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(insertLatest, logParameters(receipts)))

/** As a gateway of an earlier version stores it. */
const storeEarlier = Effect.fnUntraced(function* (receipt: Receipt) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO request_log (id, organization_id, at, receipt)
    VALUES (${receipt.id}, ${receipt.organization}, to_timestamp(${receipt.atMillis / 1_000}),
      ${encodeReceipt(receipt)}::text::jsonb)`
})

const partitions = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<{ readonly name: string }>`
      SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
      WHERE inhparent = 'logged_request'::regclass ORDER BY relname`,
    (rows) => rows.map(({ name }) => name)
  )
)

const rowsIn = (table: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ readonly id: string }>`SELECT id FROM ${sql(table)} ORDER BY id`, (rows) =>
      rows.map(({ id }) => id)
    )
  )

const ofTheDay = "logged_request_19700101"

describeOnEngines("The partitions of the request log", (suite) => {
  suite.layer(RequestLog.layer)((it) => {
    it.effect("are made ahead once, and take in what was stored without them", () =>
      Effect.gen(function* () {
        yield* store(receiptOf(1))
        assert.deepStrictEqual(yield* rowsIn("logged_request_default"), [receiptOf(1).id])
        for (let time = 0; time < 2; time++) {
          yield* keepPartitions({ requestLogDays: undefined })
          assert.deepStrictEqual(yield* partitions, [
            "logged_request_19691231",
            ofTheDay,
            "logged_request_19700102",
            "logged_request_19700103",
            "logged_request_19700104",
            "logged_request_default"
          ])
        }
        yield* store(receiptOf(1), receiptOf(2))
        assert.deepStrictEqual(yield* rowsIn(ofTheDay), [receiptOf(1).id, receiptOf(2).id])
        assert.deepStrictEqual(yield* rowsIn("logged_request_default"), [])
        const log = yield* RequestLog
        assert.deepStrictEqual(yield* log.find(organization, receiptOf(1).id), Option.some(receiptOf(1)))
      }).pipe(rolledBack)
    )

    it.effect("are dropped when they are older than receipts are kept, and not before", () =>
      Effect.gen(function* () {
        yield* keepPartitions({ requestLogDays: 5 })
        yield* store(receiptOf(1))
        yield* TestClock.adjust(5 * dayMillis)
        yield* keepPartitions({ requestLogDays: 5 })
        assert.deepStrictEqual(yield* rowsIn(ofTheDay), [receiptOf(1).id])
        assert.notInclude(yield* partitions, "logged_request_19691231")
        yield* TestClock.adjust(dayMillis)
        yield* keepPartitions({ requestLogDays: 5 })
        assert.notInclude(yield* partitions, ofTheDay)
        assert.deepStrictEqual(yield* rowsIn("logged_request"), [])
      }).pipe(rolledBack)
    )
  })
})

const routed = (number: number): Receipt => ({
  ...receiptOf(number),
  callName: "nightly",
  endUserId: "ada",
  firstOutputMillis: 12.25,
  adjusted: ["top_p=omitted"],
  audio: { millis: 4_000, basis: "header" },
  routing: {
    latencyMillis: 1,
    pinned: true,
    demand: { math: 0.5 },
    difficulty: 0.5,
    features,
    candidates: [{ model: modelId("gpt-5-mini"), distance: 0, cost: receiptOf(1).cost }],
    excluded: []
  }
})

describeOnEngines("Receipts of earlier versions", (suite) => {
  suite.layer(RequestLog.layer)((it) => {
    it.effect("are found before they are moved and afterwards, and each of them once", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const sql = yield* SqlClient.SqlClient
        const { served: _s, usage: _u, rates: _r, ...failed } = { ...receiptOf(3), cost: zero, outcome: "timeout" }
        const receipts = [routed(1), { ...receiptOf(2), atMillis: receiptOf(2).atMillis + 5_000 }, failed]
        yield* Effect.forEach(receipts, storeEarlier)
        const found = Effect.forEach(receipts, ({ id }) => log.find(organization, id))
        const expected = receipts.map((receipt) => Option.some(receipt))
        assert.deepStrictEqual(yield* found, expected)
        yield* moved
        assert.deepStrictEqual(yield* found, expected)
        assert.deepStrictEqual(yield* rowsIn("request_log"), [])
        assert.deepStrictEqual(
          yield* rowsIn(ofTheDay),
          receipts.map(({ id }) => id)
        )
        const typed = yield* sql`
          SELECT call_name, pinned, routed, attempts, cost, input_tokens, first_output_millis FROM logged_request
          WHERE id = ${receiptOf(1).id}`
        assert.deepStrictEqual(typed, [
          {
            call_name: "nightly",
            pinned: true,
            routed: true,
            attempts: 1,
            cost: receiptOf(1).cost,
            input_tokens: 10n,
            first_output_millis: 12.25
          }
        ])
      }).pipe(rolledBack)
    )

    it.effect("replace a later one only if they were charged, and stay where they are if they cannot be read", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const sql = yield* SqlClient.SqlClient
        const later = (number: number) => ({ ...receiptOf(number), outcome: "failed", cost: zero })
        yield* store(later(1), later(2))
        yield* storeEarlier(receiptOf(1))
        yield* storeEarlier({ ...later(2), outcome: "first" })
        const unreadable = requestId("00000000-0001-7000-9000-0000000000ff")
        yield* sql`INSERT INTO request_log (id, organization_id, at, receipt)
          VALUES (${unreadable}, ${organization}, now(), '{"from":"the future"}')`
        yield* moved
        const outcomes = yield* Effect.forEach([1, 2], (number) => log.find(organization, receiptOf(number).id))
        assert.deepStrictEqual(
          outcomes.map((one) => Option.getOrThrow(one).outcome),
          ["completed", "failed"]
        )
        assert.deepStrictEqual(yield* rowsIn("request_log"), [unreadable])
        const error = yield* Effect.flip(log.find(organization, unreadable))
        assert.strictEqual(error.reason, "Unreadable")
      }).pipe(rolledBack)
    )
  })
})

/** Moves all receipts, on a clock that passes the pauses between batches. */
const moved = Effect.gen(function* () {
  const fiber = yield* Effect.forkChild(moveEarlierReceipts)
  while (fiber.pollUnsafe() === undefined) {
    yield* TestClock.adjust("100 millis")
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
  yield* Fiber.join(fiber)
})
