import { randomUUID } from "node:crypto"

import { assert, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Fiber, Layer, Schema, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { ConcurrencyLimits } from "../../src/access/ConcurrencyLimits.ts"
import { SlotPool } from "../../src/access/SlotPool.ts"
import { newClaim } from "../../src/access/SlotPools.ts"
import type { Caller } from "../../src/domain/Caller.ts"
import { apiKeyId, environmentId, organizationId, projectId } from "../../src/domain/Ids.ts"
import { connectionLost, eventually } from "../ledger/TestLedger.ts"
import { withManualTime } from "../support/ManualTime.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"

const newCaller = (own: number | undefined, common?: number): Caller => ({
  key: apiKeyId(randomUUID()),
  organization: organizationId(randomUUID()),
  project: projectId(randomUUID()),
  environment: environmentId(randomUUID()),
  endpoints: undefined,
  models: undefined,
  requestsPerMinute: undefined,
  concurrentRequests: own,
  organizationLimits: { concurrentRequests: common }
})

type Limits = ConcurrencyLimits["Service"]

/** A further gateway on the database, which stops with the scope. */
const startGateway = Effect.map(
  Layer.build(Layer.provide(Layer.fresh(ConcurrencyLimits.layerShared), SecureRandom.layerWebCrypto)),
  (context): Limits => Context.get(context, ConcurrencyLimits)
)

/** A request that runs until it is ended, or the reason for which it was refused. */
const start = Effect.fnUntraced(function* (limits: Limits, caller: Caller) {
  const scope = yield* Scope.make()
  const exit = yield* Effect.exit(Scope.provide(limits.occupy(caller), scope))
  if (Exit.isFailure(exit)) yield* Scope.close(scope, exit)
  return { isAdmitted: Exit.isSuccess(exit), end: Scope.close(scope, Exit.void), exit }
})

/** How many of so many requests, sent at once to these gateways in turn, run together. They are ended then. */
const together = Effect.fnUntraced(function* (gateways: ReadonlyArray<Limits>, caller: Caller, count: number) {
  const all = yield* Effect.forEach(
    Array.from({ length: count }, (_, index) => gateways[index % gateways.length]),
    (limits) => (limits === undefined ? Effect.die("no gateway") : start(limits, caller)),
    { concurrency: "unbounded" }
  )
  yield* Effect.forEach(all, ({ end }) => end, { discard: true })
  return all.filter(({ isAdmitted }) => isAdmitted).length
})

/** A database of which a test says when it is away, and that counts the statements. */
const watchedDatabase = Effect.map(SqlClient.SqlClient, (sql) => {
  const watch = { statements: 0, isLost: false }
  const client = new Proxy(sql, {
    get: (target, property) =>
      property === "unsafe"
        ? (...statement: Parameters<typeof sql.unsafe>) => {
            watch.statements++
            return watch.isLost ? connectionLost : sql.unsafe(...statement)
          }
        : Reflect.get(target, property)
  })
  return { watch, client }
})

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

const Command = Schema.Union([
  Schema.Struct({ do: Schema.Literal("start"), gateway: upTo(2), key: upTo(1) }),
  /** Ends a request, which may wait or have been refused. */
  Schema.Struct({ do: Schema.Literal("end"), which: upTo(30) }),
  Schema.Struct({ do: Schema.Literal("pause"), millis: upTo(20) })
])
type Command = typeof Command.Type

interface Running {
  readonly fiber: Fiber.Fiber<unknown>
  readonly end: Effect.Effect<void>
}

/** The model: how many requests of each subject run at a time, on all gateways together, and the most there were. */
class Model {
  private readonly running = new Map<string, number>()
  readonly passed: Array<string> = []

  change({ key, concurrentRequests, organization, organizationLimits }: Caller, by: 1 | -1): void {
    const limits = [
      [key, concurrentRequests],
      [organization, organizationLimits?.concurrentRequests]
    ] as const
    for (const [subject, limit] of limits) {
      const now = (this.running.get(subject) ?? 0) + by
      this.running.set(subject, now)
      if (limit !== undefined && now > limit) this.passed.push(`${now} of ${limit}`)
    }
  }
}

/** A request that occupies its slots until `end`, wherever it is then. */
const startIn = Effect.fnUntraced(function* (model: Model, limits: Limits, caller: Caller) {
  const scope = yield* Scope.make()
  const fiber = yield* Effect.forkDetach(
    Effect.gen(function* () {
      yield* limits.occupy(caller)
      // It ends before its slots are given back.
      yield* Effect.acquireRelease(
        Effect.sync(() => model.change(caller, 1)),
        () => Effect.sync(() => model.change(caller, -1))
      )
    }).pipe(Scope.provide(scope), Effect.exit)
  )
  const end = Effect.andThen(Fiber.interrupt(fiber), Scope.close(scope, Exit.void))
  return { fiber, end } satisfies Running
})

const play = Effect.fnUntraced(function* (
  commands: ReadonlyArray<Command>,
  limits: { readonly keys: readonly [number, number]; readonly organization: number | undefined }
) {
  const gateways = [yield* startGateway, yield* startGateway, yield* startGateway]
  const first = newCaller(limits.keys[0], limits.organization)
  const callers = [first, { ...newCaller(limits.keys[1], limits.organization), organization: first.organization }]
  const model = new Model()
  const requests: Array<Running> = []
  for (const command of commands) {
    if (command.do === "pause") yield* Effect.sleep(command.millis)
    else if (command.do === "end") yield* requests[command.which]?.end ?? Effect.void
    else {
      const [limits, caller] = [gateways[command.gateway], callers[command.key]]
      if (limits !== undefined && caller !== undefined) requests.push(yield* startIn(model, limits, caller))
    }
  }
  yield* Effect.forEach(requests, ({ end }) => end, { discard: true })
  assert.deepStrictEqual(model.passed, [])
  // Nothing was lost on the way: every gateway can have all slots for itself.
  const all = Math.min(limits.keys[0], limits.organization ?? Infinity)
  for (const gateway of gateways) yield* eventually(together([gateway], first, all), all)
})

it("A slot that goes back is not used any more, from the order on", () => {
  const pool = new SlotPool("subject", 2, false, 0)
  const claim = newClaim()
  pool.waiters.add(claim)
  const answer = { slots: 2, isShared: false, isKeptElsewhere: false }
  pool.receive(pool.order(0), answer, 0)
  pool.waiters.delete(claim)
  assert.isTrue(pool.hasFree(1))
  // Nobody used it for a second.
  assert.isTrue(pool.hasSurplus(1_000))
  assert.deepStrictEqual(pool.order(1_000), { used: 0, wanted: 0, ahead: false, givesBack: false })
  assert.isFalse(pool.hasFree(1_000))
})

describeOnEngines(
  "Shared limits of concurrent requests",
  (it) => {
    it.effect.prop(
      "are never passed and lose no slot, whatever the gateways do in whichever order",
      {
        commands: Schema.Array(Command).check(Schema.isMinLength(5), Schema.isMaxLength(40)),
        keys: Schema.Tuple([upTo(3), upTo(3)]),
        organization: upTo(4)
      },
      ({ commands, keys, organization }) =>
        Effect.scoped(
          play(commands, {
            keys: [keys[0] + 1, keys[1] + 1],
            organization: organization === 0 ? undefined : organization
          })
        ),
      { arbitrary: { runs: 10, maxShrinks: 20 } }
    )

    it.effect("let either of two gateways have both slots of two", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* startGateway, yield* startGateway]
        const caller = newCaller(2)
        assert.strictEqual(yield* together([one, other], caller, 2), 2)
        for (const limits of [one, other, one]) yield* eventually(together([limits], caller, 2), 2)
        assert.isAtMost(yield* together([one, other], caller, 10), 2)
      }).pipe(Effect.scoped)
    )

    it.effect("admit one request after the other in turn at two gateways, with a limit of one", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* startGateway, yield* startGateway]
        const caller = newCaller(1)
        for (let sent = 0; sent < 10; sent++) yield* eventually(together([sent % 2 === 0 ? one : other], caller, 1), 1)
      }).pipe(Effect.scoped)
    )

    it.effect("make no statement for each request of a gateway that has the key for itself", () =>
      Effect.gen(function* () {
        const { client, watch } = yield* watchedDatabase
        const limits = yield* Effect.provideService(startGateway, SqlClient.SqlClient, client)
        const caller = newCaller(8, 20)
        yield* together([limits], caller, 8)
        const before = watch.statements
        const startedAt = yield* Clock.currentTimeMillis
        for (let sent = 0; sent < 2_000; sent++) yield* together([limits], caller, 1)
        const seconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1_000
        // It renews its lease once a second.
        assert.isAtMost(watch.statements - before, 2 * seconds + 3)
      }).pipe(Effect.scoped)
    )

    it.effect("are kept by what was lent already while the database is away, and refuse what may be beyond", () =>
      withManualTime((pass) =>
        Effect.gen(function* () {
          const { client, watch } = yield* watchedDatabase
          const limits = yield* Effect.provideService(startGateway, SqlClient.SqlClient, client)
          const caller = newCaller(4)
          yield* eventually(together([limits], caller, 4), 4)
          watch.isLost = true
          assert.strictEqual(yield* together([limits], caller, 10), 4)
          const { exit } = yield* start(limits, newCaller(4))
          assert.include(JSON.stringify(exit), "SlotsUnavailable")
          // Then others may have been lent its slots.
          yield* pass("11 seconds")
          assert.strictEqual(yield* together([limits], caller, 10), 0)
          watch.isLost = false
          yield* eventually(together([limits], caller, 4), 4)
        })
      ).pipe(Effect.scoped)
    )

    it.effect("return the slots of a gateway at once when it stops", () =>
      Effect.gen(function* () {
        const caller = newCaller(3)
        const other = yield* startGateway
        yield* Effect.scoped(Effect.flatMap(startGateway, (stopping) => together([stopping], caller, 3)))
        assert.strictEqual(yield* together([other], caller, 3), 3)
      }).pipe(Effect.scoped)
    )
  },
  { liveClock: true }
)
