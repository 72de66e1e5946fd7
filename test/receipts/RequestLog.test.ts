import { assert, describe, layer } from "@effect/vitest"
import { Effect, Equal, Layer, Metric, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { inject } from "vitest"

import { organizationId, requestId } from "../../src/domain/Ids.ts"
import { picodollars, zero } from "../../src/domain/Money.ts"
import { RequestLog } from "../../src/receipts/RequestLog.ts"
import { describeOnEngines, layerPostgres, whileLocked } from "../support/TestDatabase.ts"
import { organization, receiptOf } from "./receipts.ts"

const stored = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly n: number }>`SELECT count(*)::int AS n FROM logged_request`, (rows) => rows[0]?.n ?? 0)
)

const empty = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`TRUNCATE logged_request`)

/** Lets the time pass in which a batch gathers. */
const gathered = TestClock.adjust("100 millis")

const storedAtLeast = (count: number) => Effect.repeat(Effect.andThen(gathered, stored), { while: (n) => n < count })

/** How many statements wrote what is stored. */
const writes = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<{ readonly n: number }>`SELECT count(DISTINCT xmin::text)::int AS n FROM logged_request`,
    (rows) => rows[0]?.n ?? 0
  )
)

const lost = Effect.map(Metric.snapshot, (metrics) => {
  const found = metrics.find(({ id }) => id === "tollgate_request_log_lost_total")
  return found?.type === "Counter" ? Number(found.state.count) : 0
})

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index)

describeOnEngines("RequestLog", (suite) => {
  suite.layer(RequestLog.layer)((it) => {
    it.effect("finds a recorded receipt, for its organization only", () =>
      Effect.gen(function* () {
        yield* empty
        const log = yield* RequestLog
        const receipt = receiptOf(1)
        yield* log.record(receipt)
        yield* log.record(receipt)
        yield* storedAtLeast(1)
        assert.deepStrictEqual(yield* log.find(organization, receipt.id), Option.some(receipt))
        const otherOrganization = organizationId("018f0000-0000-7000-8000-0000000000ff")
        assert.deepStrictEqual(yield* log.find(otherOrganization, receipt.id), Option.none())
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql<{ readonly at: Date }>`SELECT at FROM logged_request`
        assert.deepStrictEqual(
          rows.map(({ at }) => at.getTime()),
          [receipt.atMillis]
        )
      })
    )

    it.effect("stores any text that a client sends as a name", () =>
      Effect.gen(function* () {
        yield* empty
        const log = yield* RequestLog
        yield* log.record({ ...receiptOf(1), callName: `nul \0, half a pair \ud800, "quotes" and \\u0000` })
        const callName = Effect.map(
          log.find(organization, receiptOf(1).id),
          (found) => Option.getOrThrow(found).callName
        )
        const stored = `nul \ufffd, half a pair \ufffd, "quotes" and \\u0000`
        assert.strictEqual(yield* callName, stored, "before it is stored")
        yield* storedAtLeast(1)
        assert.strictEqual(yield* callName, stored, "afterwards")
      })
    )

    it.effect("keeps one receipt of a request that ran twice: of the run that was charged, or else of the last", () =>
      Effect.gen(function* () {
        yield* empty
        const log = yield* RequestLog
        const left = (number: number) => ({ ...receiptOf(number), outcome: "client_left", cost: zero })
        const later = { ...receiptOf(1), cost: picodollars(7n) }
        const outcomes = Effect.forEach(numbers(4), (number) =>
          Effect.map(
            log.find(organization, receiptOf(number).id),
            Option.map(({ cost, outcome }) => [outcome, cost])
          )
        )
        const { cost } = receiptOf(1)
        const expected = [
          ["failed", zero],
          ["completed", cost],
          ["completed", cost],
          ["completed", cost]
        ]
        // First as one batch, then one by one: the result must be the same.
        for (const pause of [false, true]) {
          yield* empty
          const runs = [
            [left(0), { ...left(0), outcome: "failed" }],
            [receiptOf(1), later],
            [left(2), receiptOf(2)],
            [receiptOf(3), left(3)]
          ]
          for (const receipt of [...runs.map(([first]) => first), ...runs.map(([, second]) => second)]) {
            if (receipt === undefined) continue
            yield* log.record(receipt)
            if (pause) yield* Effect.repeat(stored, { times: 3 })
          }
          yield* storedAtLeast(4)
          yield* Effect.repeat(Effect.andThen(gathered, outcomes), {
            until: (found) =>
              Equal.equals(
                found,
                expected.map((one) => Option.some(one))
              )
          })
        }
      })
    )

    it.effect("loses a receipt that cannot be stored, and no other of its batch", () =>
      Effect.gen(function* () {
        yield* empty
        const log = yield* RequestLog
        const before = yield* lost
        yield* Effect.forEach(numbers(50), (number) =>
          log.record(number === 25 ? { ...receiptOf(number), id: requestId("no uuid") } : receiptOf(number))
        )
        yield* storedAtLeast(49)
        assert.strictEqual((yield* lost) - before, 1)
      })
    )

    it.effect("writes the first receipt at once, and those of the next tenth of a second together", () =>
      Effect.gen(function* () {
        yield* empty
        const log = yield* RequestLog
        yield* log.record(receiptOf(0))
        yield* Effect.repeat(stored, { while: (n) => n < 1 })
        for (const number of numbers(20, 1)) {
          yield* log.record(receiptOf(number))
          yield* stored
        }
        yield* storedAtLeast(21)
        assert.strictEqual(yield* writes, 2)
      }).pipe(Effect.provide(Layer.fresh(RequestLog.layer)))
    )

    it.effect("never waits, and counts the receipts that find the queue full", () =>
      Effect.gen(function* () {
        yield* empty
        const log = yield* RequestLog
        const before = yield* lost
        const offered = 12_000
        yield* whileLocked(
          "logged_request",
          Effect.forEach(numbers(offered), (n) => log.record(receiptOf(n))),
          0
        )
        const dropped = (yield* lost) - before
        // The queue holds 10,000 and the batch in flight up to 500 more.
        assert.isTrue(dropped >= 1_500 && dropped <= 2_000, `dropped ${dropped}`)
        assert.strictEqual(yield* storedAtLeast(offered - dropped), offered - dropped)
      })
    )

    it.effect("stores what is queued before it closes", () =>
      Effect.gen(function* () {
        yield* empty
        yield* Effect.gen(function* () {
          const log = yield* RequestLog
          yield* Effect.forEach(numbers(1_200), (number) => log.record(receiptOf(number)))
        }).pipe(Effect.provide(Layer.fresh(RequestLog.layer)))
        assert.strictEqual(yield* stored, 1_200)
      })
    )
  })
})

const server = inject("postgresUrl")
describe.runIf(server !== undefined)("RequestLog [postgresql]", () => {
  layer(RequestLog.layer.pipe(Layer.provideMerge(Layer.suspend(() => layerPostgres(server ?? "")))))((it) => {
    it.effect("tries again when its connection is lost", () =>
      Effect.gen(function* () {
        const log = yield* RequestLog
        const sql = yield* SqlClient.SqlClient
        const cut = sql<{ readonly cut: boolean }>`
          SELECT pg_terminate_backend(pid) AS cut FROM pg_stat_activity
          WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO logged_request%' AND pid <> pg_backend_pid()`
        const cutConnection = cut.pipe(Effect.repeat({ while: (rows) => rows.length === 0 }))
        yield* whileLocked("logged_request", Effect.andThen(log.record(receiptOf(1)), cutConnection), 0)
        yield* stored.pipe(Effect.tap(gathered), Effect.repeat({ while: (n) => n === 0 }))
        assert.deepStrictEqual(yield* log.find(organization, receiptOf(1).id), Option.some(receiptOf(1)))
      })
    )
  })
})
