/** Lists of requests, on a log of a month. */
import { assert } from "@effect/vitest"
import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"

import { requestId } from "../../src/domain/Ids.ts"
import { type LoggedRequestFilter, LoggedRequests, pageStatement } from "../../src/receipts/LoggedRequests.ts"
import { fillLog, sampleId } from "../support/SampleLog.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"

const rows = 20_000
const days = 30
const dayMillis = 86_400_000

/** Every filter, and combinations of which one leads to an index and the others do not, with the same in plain SQL. */
const filters: ReadonlyArray<readonly [filter: LoggedRequestFilter, where: string]> = [
  [{ organization: sampleId("organization", 7) }, `organization_id = '${sampleId("organization", 7)}'`],
  [{ key: sampleId("key", 3) }, `api_key_id = '${sampleId("key", 3)}'`],
  [{ project: "018e0000-0000-7000-8000-000000000007" }, "project_id = '018e0000-0000-7000-8000-000000000007'"],
  [{ environment: "018d0000-0000-7000-8000-000000000007" }, "environment_id = '018d0000-0000-7000-8000-000000000007'"],
  [{ model: "model-39" }, "model = 'model-39'"],
  [{ provider: "p3", minCost: 8_000_000_000n }, "endpoint LIKE 'p3/%' AND cost >= 8000000000"],
  [{ endpoint: "p7/model-39" }, "endpoint = 'p7/model-39'"],
  [{ outcome: "broken" }, "outcome = 'broken'"],
  [{ outcome: "completed", maxCost: 1_100_000n }, "outcome = 'completed' AND cost <= 1100000"],
  [{ callName: "call-17" }, "call_name = 'call-17'"],
  [{ endUserId: "user-3", stream: true }, "end_user_id = 'user-3' AND stream"],
  [{ failedOver: true, pinned: true }, "attempts > 1 AND pinned"],
  [{ failedOver: false, outcome: "client_left" }, "attempts = 1 AND outcome = 'client_left'"],
  [{ routed: true, pinned: false, minDurationMillis: 30_000 }, "routed AND NOT pinned AND duration_millis >= 30000"],
  [{ maxDurationMillis: 210 }, "duration_millis <= 210"],
  [
    { organization: sampleId("organization", 0), outcome: "broken", failedOver: true, callName: "call-0" },
    `organization_id = '${sampleId("organization", 0)}' AND outcome = 'broken' AND attempts > 1
      AND call_name = 'call-0'`
  ],
  [{ callName: "nobody" }, "false"],
  [{ model: "nobody" }, "false"]
]

const filled = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* fillLog({ rows, days, nowMillis: yield* Clock.currentTimeMillis })
  })
)

/** Fewer than the log has, so that pages end before they are full. */
const scanned = 6_000

/** The ids on all pages, and how many pages there were. */
const walked = Effect.fnUntraced(function* (filter: LoggedRequestFilter, limit: number) {
  const { list } = yield* LoggedRequests
  const ids: Array<string> = []
  let [pages, cursor]: [number, string | undefined] = [0, undefined]
  do {
    const page: Effect.Success<ReturnType<typeof list>> = yield* list({ fromMillis: 0, filter }, { limit, cursor })
    assert.isAtMost(page.items.length, limit)
    ids.push(...page.items.map(({ id }) => id))
    cursor = page.next
    pages++
  } while (cursor !== undefined)
  return { ids, pages }
})

describeOnEngines(
  "A list of requests",
  (suite) => {
    suite.layer(Layer.merge(filled, LoggedRequests.layerScanning(scanned)), { timeout: "5 minutes" })((it) => {
      it.effect(
        "has what a plain search finds, once and in order, however far a page looks",
        () =>
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            for (const [filter, where] of filters) {
              const expected = yield* sql.unsafe<{ readonly id: string }>(
                `SELECT id FROM logged_request WHERE ${where} ORDER BY at DESC, id DESC`
              )
              const { ids } = yield* walked(filter, 2_000)
              assert.deepStrictEqual(
                ids,
                expected.map(({ id }) => id),
                where
              )
            }
            // Nothing leads to an index, so every page but the last looks at as many rows as it may.
            assert.strictEqual((yield* walked({ model: "nobody" }, 2_000)).pages, Math.ceil(rows / scanned))
            assert.strictEqual((yield* walked({ callName: "nobody" }, 2_000)).pages, 1)
          }),
        300_000
      )

      it.effect("keeps to its span of time, and turns pages within it", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const { list } = yield* LoggedRequests
          const toMillis = (yield* Clock.currentTimeMillis) - 5 * dayMillis
          const fromMillis = toMillis - 3 * dayMillis
          const expected = yield* sql<{ readonly id: string }>`
            SELECT id FROM logged_request
            WHERE at >= to_timestamp(${fromMillis}::float8 / 1000) AND at < to_timestamp(${toMillis}::float8 / 1000)
            ORDER BY at DESC, id DESC`
          const first = yield* list({ fromMillis, toMillis, filter: {} }, { limit: 7 })
          const second = yield* list({ fromMillis, toMillis, filter: {} }, { limit: 2_900, cursor: first.next })
          assert.deepStrictEqual(
            [...first.items, ...second.items].map(({ id }) => id),
            expected.map(({ id }) => id)
          )
          assert.isUndefined(second.next)
        })
      )

      it.effect("reads its first page and its rare labels without a scan of whole partitions", () =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          for (const filter of [{}, { callName: "call-4000" }, { endUserId: "user-15000" }, { outcome: "broken" }]) {
            const [text, values] = pageStatement(sql, { fromMillis: 0, filter }, { limit: 50 }, 1_000).compile()
            const plan = yield* sql.unsafe<{ readonly "QUERY PLAN": string }>(`EXPLAIN ${text}`, values)
            const lines = plan.map((line) => line["QUERY PLAN"])
            // Empty partitions ahead of now may be read whole.
            const whole = lines.filter((line) => /Seq Scan on logged_request_\d+/.test(line) && !/rows=1 /.test(line))
            assert.deepStrictEqual(whole, [], `${JSON.stringify(filter)}\n${lines.join("\n")}`)
          }
        })
      )

      it.effect("has the receipt of each", () =>
        Effect.gen(function* () {
          const { get, list } = yield* LoggedRequests
          const { items } = yield* list({ fromMillis: 0, filter: { failedOver: true, routed: true } }, { limit: 1 })
          const [item] = items
          const receipt = Option.getOrThrow(yield* get(requestId(item?.id ?? "")))
          assert.deepStrictEqual(
            [receipt.attempts.length, receipt.cost, receipt.organization],
            [2, item?.cost, item?.organization]
          )
          assert.isTrue(Option.isNone(yield* get(requestId("018f0000-0000-7000-8000-00000000dead"))))
        })
      )
    })
  },
  { liveClock: true }
)
