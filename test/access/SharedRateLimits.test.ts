import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

import { RateLimits } from "../../src/access/RateLimits.ts"
import type { Caller } from "../../src/domain/Caller.ts"
import { apiKeyId, environmentId, organizationId, projectId } from "../../src/domain/Ids.ts"
import { connectionLost, eventually } from "../ledger/TestLedger.ts"
import { withManualTime } from "../support/ManualTime.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"

const newCaller = (requestsPerMinute: number): Caller => ({
  key: apiKeyId(randomUUID()),
  organization: organizationId(randomUUID()),
  project: projectId(randomUUID()),
  environment: environmentId(randomUUID()),
  endpoints: undefined,
  models: undefined,
  requestsPerMinute
})

type Limits = RateLimits["Service"]

/** A further gateway on the database, which stops with the scope. */
const startGateway = Effect.map(
  Layer.build(Layer.fresh(RateLimits.layerShared({ requestsPerMinute: 600 }))),
  (context): Limits => Context.get(context, RateLimits)
)

const isAdmitted = (limits: Limits, caller: Caller): Effect.Effect<boolean> =>
  Effect.match(limits.consume(caller), { onSuccess: () => true, onFailure: () => false })

/** How many of these requests, which are sent at the same time, are admitted. */
const burst = (gateways: ReadonlyArray<Limits>, caller: Caller, count: number) =>
  Effect.map(
    Effect.all(
      Array.from({ length: count / gateways.length }, () => gateways)
        .flat()
        .map((limits) => isAdmitted(limits, caller)),
      { concurrency: "unbounded" }
    ),
    (admitted) => admitted.filter(Boolean).length
  )

/** A database whose leases can be counted, and can be made to fail. */
const watchedDatabase = Effect.map(SqlClient.SqlClient, (sql) => {
  const watch = { leases: 0, isLost: false }
  const client = new Proxy(sql, {
    get: (target, property) =>
      property === "unsafe"
        ? (...statement: Parameters<typeof sql.unsafe>) => {
            watch.leases++
            return watch.isLost ? connectionLost : sql.unsafe(...statement)
          }
        : Reflect.get(target, property)
  })
  return { watch, client }
})

describeOnEngines(
  "Shared rate limits",
  (it) => {
    it.effect("admit over a minute what one gateway would, however many there are", () =>
      withManualTime((pass) =>
        Effect.gen(function* () {
          const gateways = [yield* startGateway, yield* startGateway]
          const caller = newCaller(60)
          assert.strictEqual(yield* burst(gateways, caller, 200), 60)
          let admitted = 0
          for (let step = 0; step < 240; step++) {
            yield* pass("250 millis")
            admitted += yield* burst(gateways, caller, 4)
          }
          assert.isTrue(admitted >= 59 && admitted <= 60, String(admitted))
        })
      ).pipe(Effect.scoped)
    )

    it.effect("leave to one gateway what the other does not use", () =>
      withManualTime((pass) =>
        Effect.gen(function* () {
          const [busy, slow] = [yield* startGateway, yield* startGateway]
          const caller = newCaller(600)
          yield* burst([busy, slow], caller, 2_000)
          let admitted = 0
          for (let step = 0; step < 600; step++) {
            yield* pass("100 millis")
            if (step % 100 === 0) admitted += yield* burst([slow], caller, 1)
            admitted += yield* burst([busy], caller, 4)
          }
          assert.isTrue(admitted >= 588 && admitted <= 600, String(admitted))
        })
      ).pipe(Effect.scoped)
    )

    it.effect("take back what a gateway leased and did not use: at once when it stops, in a minute when it dies", () =>
      withManualTime((pass) =>
        Effect.gen(function* () {
          const caller = newCaller(600)
          const other = yield* startGateway
          yield* Effect.gen(function* () {
            const stopping = yield* startGateway
            assert.strictEqual(yield* burst([stopping], caller, 100), 100)
          }).pipe(Effect.scoped)
          assert.strictEqual(yield* burst([other], caller, 1_000), 500)
          yield* pass("1 minute")
          const dying = yield* startGateway
          assert.strictEqual(yield* burst([dying], caller, 100), 100)
          const left = yield* burst([other], caller, 1_000)
          assert.isTrue(left >= 470 && left <= 500, String(left))
          yield* pass("1 minute")
          assert.strictEqual(yield* burst([other], caller, 1_000), 600)
        })
      ).pipe(Effect.scoped)
    )

    it.effect("give back a slice that nobody used for a while", () =>
      withManualTime((pass) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const caller = newCaller(40)
          const limits = yield* startGateway
          yield* isAdmitted(limits, caller)
          yield* pass("6 seconds")
          const unspent = sql<{ readonly units: number }>`
            SELECT units::int AS units FROM rate_bucket WHERE subject_id = ${caller.key}`.pipe(
            Effect.map(([row]) => row?.units)
          )
          yield* eventually(unspent, 40 * 60_000)
        })
      ).pipe(Effect.scoped)
    )

    it.effect("count tokens on all gateways, also those that were used beyond what was held", () =>
      withManualTime((pass) =>
        Effect.gen(function* () {
          const [one, other] = [yield* startGateway, yield* startGateway]
          const caller = { ...newCaller(600), tokensPerMinute: 60_000 }
          const held = yield* one.holdTokens(caller, 30_000)
          yield* held.settle(90_000)
          // The debt reaches the shared bucket in the background.
          const left = Effect.map(
            Effect.andThen(Effect.ignore(other.holdTokens(caller, 60_000)), other.tokenStatus(caller)),
            (status) => status?.remaining
          )
          yield* eventually(left, 0)
          yield* pass("10 seconds")
          assert.isTrue(yield* Effect.isFailure(other.holdTokens(caller, 10_000)))
          yield* pass("50 seconds")
          yield* pass("50 seconds")
          assert.isTrue(yield* Effect.isSuccess(other.holdTokens(caller, 10_000)))
        })
      ).pipe(Effect.scoped)
    )

    it.effect("are counted in memory, with few statements outside of the requests", () =>
      withManualTime(() =>
        Effect.gen(function* () {
          const { client, watch } = yield* watchedDatabase
          const limits = yield* Effect.provideService(startGateway, SqlClient.SqlClient, client)
          const caller = newCaller(6_000)
          for (let sent = 0; sent < 2_000; sent++) assert.isTrue(yield* isAdmitted(limits, caller))
          assert.isBelow(watch.leases, 100)
        })
      ).pipe(Effect.scoped)
    )

    it.effect("are counted by each gateway for itself while the database does not answer, and shared again after", () =>
      withManualTime((pass) =>
        Effect.gen(function* () {
          const { client, watch } = yield* watchedDatabase
          const other = yield* startGateway
          const limits = yield* Effect.provideService(startGateway, SqlClient.SqlClient, client)
          const [known, unknown] = [newCaller(60), newCaller(60)]
          assert.strictEqual(yield* burst([other], known, 30), 30)
          assert.strictEqual(yield* burst([limits], known, 1), 1)
          watch.isLost = true
          assert.strictEqual(yield* burst([limits], unknown, 100), 60)
          const alone = yield* burst([limits], known, 100)
          assert.isTrue(alone >= 25 && alone <= 29, String(alone))
          yield* pass("10 seconds")
          assert.strictEqual(yield* burst([limits], unknown, 100), 10)
          watch.isLost = false
          const isShared = Effect.gen(function* () {
            const caller = newCaller(10)
            return (yield* burst([limits], caller, 20)) + (yield* burst([other], caller, 20))
          })
          yield* eventually(isShared, 10)
        })
      ).pipe(Effect.scoped)
    )
  },
  { liveClock: true }
)
