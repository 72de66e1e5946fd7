import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Clock, type Duration, Effect, Fiber, Layer, Queue, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import type { AccessError } from "../../src/access/AccessError.ts"
import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { AuditTrail } from "../../src/access/AuditTrail.ts"
import { Organizations } from "../../src/access/Organizations.ts"
import { Projects } from "../../src/access/Projects.ts"
import { apiKeyId, environmentId, modelId, organizationId } from "../../src/domain/Ids.ts"
import { describeOnEngines, layerUnreachable, whileLocked } from "../support/TestDatabase.ts"

const Access = Layer.mergeAll(ApiKeys.layer, Organizations.layer, Projects.layer).pipe(
  Layer.provideMerge(AuditTrail.layer),
  Layer.provide(NodeCrypto.layerSecureRandom)
)

/** A new organization with a project and an environment. */
const newEnvironment = Effect.gen(function* () {
  const projects = yield* Projects
  const organization = (yield* (yield* Organizations).create("acme")).id
  const project = (yield* projects.create(organization, "shop")).id
  const environment = (yield* projects.createEnvironment(project, "production")).id
  return { organization, project, environment }
})

/** Why a key is refused, or `accepted`. */
const outcomeOf = (secret: Redacted.Redacted) =>
  Effect.flatMap(ApiKeys, (keys) => keys.authenticate(secret)).pipe(
    Effect.as("accepted"),
    Effect.catch(({ reason }) => Effect.succeed(reason._tag === "InvalidKey" ? reason.because : reason._tag))
  )

describeOnEngines("ApiKeys", (suite) => {
  suite.layer(Access)((it) => {
    it.effect("identify the caller and its limits", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const ids = yield* newEnvironment
        const limits = {
          endpoints: ["chat.completions"],
          models: [modelId("gpt-5-mini"), modelId("claude-haiku-4-5")],
          requestsPerMinute: 7
        } as const
        const limited = yield* keys.issue({ environment: ids.environment, name: "ci", ...limits })
        assert.deepStrictEqual(yield* keys.authenticate(limited.secret), {
          ...ids,
          key: limited.id,
          endpoints: new Set(limits.endpoints),
          models: new Set(limits.models),
          requestsPerMinute: 7
        })
        const free = yield* keys.issue({ environment: ids.environment, name: "all" })
        const caller = yield* keys.authenticate(free.secret)
        assert.deepStrictEqual(
          [caller.endpoints, caller.models, caller.requestsPerMinute],
          [undefined, undefined, undefined]
        )
        const none = yield* keys.issue({ environment: ids.environment, name: "none", models: [] })
        assert.deepStrictEqual((yield* keys.authenticate(none.secret)).models, new Set())
      })
    )

    it.effect("are stored as a hash, with a few characters by which they can be recognised", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const sql = yield* SqlClient.SqlClient
        const ids = yield* newEnvironment
        const { id, secret } = yield* keys.issue({ environment: ids.environment, name: "ci" })
        const text = Redacted.value(secret)
        assert.match(text, /^tg-[\w-]{43}$/)
        const [row] = yield* sql<{ readonly row: string }>`SELECT k::text AS row FROM api_key k WHERE id = ${id}`
        assert.include(row?.row, text.slice(0, 11))
        assert.notInclude(row?.row, text.slice(0, 12))
        const listed = yield* keys.list({ organization: ids.organization }, { limit: 10 })
        assert.deepInclude(listed.items[0], {
          id,
          name: "ci",
          displayPrefix: text.slice(0, 11),
          revokedAtMillis: undefined
        })
      })
    )

    it.effect("are refused when they are unknown, empty or far too long", () =>
      Effect.gen(function* () {
        for (const text of ["", "tg-nobody", "x".repeat(100_000)]) {
          assert.strictEqual(yield* outcomeOf(Redacted.make(text)), "unknown")
        }
      })
    )

    it.effect("expire by the clock, even while they are cached", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { environment } = yield* newEnvironment
        const expiresAtMillis = (yield* Clock.currentTimeMillis) + 1_500
        const { secret } = yield* keys.issue({ environment, name: "short", expiresAtMillis })
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* outcomeOf(secret), "accepted")
        yield* TestClock.adjust("499 millis")
        assert.strictEqual(yield* outcomeOf(secret), "accepted")
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* outcomeOf(secret), "expired")
      })
    )

    it.effect("are refused from at most two seconds after their revocation", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { environment, organization } = yield* newEnvironment
        const { id, secret } = yield* keys.issue({ environment, name: "leaked" })
        assert.strictEqual(yield* outcomeOf(secret), "accepted")
        yield* keys.revoke({ id, organization })
        yield* keys.revoke({ id, organization })
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* outcomeOf(secret), "revoked")
      })
    )

    it.effect("are accepted within two seconds of being issued, although they were refused before", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { environment } = yield* newEnvironment
        const secret = Redacted.make("chosen-by-the-operator")
        assert.strictEqual(yield* outcomeOf(secret), "unknown")
        yield* keys.issue({ environment, name: "chosen" }, secret)
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* outcomeOf(secret), "accepted")
      })
    )

    it.effect("belong to an environment, and only their organization can revoke them", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const projects = yield* Projects
        const { environment, organization, project } = yield* newEnvironment
        const other = (yield* (yield* Organizations).create("other")).id
        const { id } = yield* keys.issue({ environment, name: "ours" })
        const nowhere = "018f0000-0000-7000-8000-00000000dead"
        const failures = yield* Effect.forEach(
          [
            keys.issue({ environment: environmentId(nowhere), name: "lost" }),
            keys.revoke({ id, organization: other }),
            keys.revoke({ id: apiKeyId(nowhere), organization }),
            projects.create(organizationId(nowhere), "lost"),
            projects.create(organization, "shop"),
            projects.createEnvironment(project, "production")
          ],
          (effect: Effect.Effect<unknown, AccessError>) => Effect.flip(effect)
        )
        assert.deepStrictEqual(
          failures.map(({ reason }) => ("what" in reason ? reason.what : reason._tag)),
          ["environment", "key", "key", "organization", "NameTaken", "NameTaken"]
        )
        const { items } = yield* projects.list(organization, { limit: 10 })
        assert.deepStrictEqual(
          items.map(({ id, name }) => [id, name]),
          [[project, "shop"]]
        )
      })
    )

    it.effect("wait for a database that is busy for a few seconds", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { environment } = yield* newEnvironment
        const { secret } = yield* keys.issue({ environment, name: "calm" })
        const pending = yield* whileLocked("api_key", Effect.forkChild(outcomeOf(secret)), "4900 millis")
        assert.strictEqual(yield* Fiber.join(pending), "accepted")
      })
    )

    it.effect(
      "are neither accepted nor called invalid while the database does not answer, and are accepted afterwards",
      () =>
        Effect.gen(function* () {
          const keys = yield* ApiKeys
          const { environment } = yield* newEnvironment
          const { secret } = yield* keys.issue({ environment, name: "patient" })
          const pending = yield* whileLocked("api_key", Effect.forkChild(outcomeOf(secret)), "5 seconds")
          assert.strictEqual(yield* Fiber.join(pending), "Unavailable")
          assert.strictEqual(yield* outcomeOf(secret), "accepted")
        })
    )

    it.effect("are not accepted by a look-up that began long before their revocation and ends after it", () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { environment, organization } = yield* newEnvironment
        const { id, secret } = yield* keys.issue({ environment, name: "leaked" })
        const { layer, reads } = yield* delayedReads("3 seconds")
        const [early, late] = yield* Effect.gen(function* () {
          const before = yield* Effect.forkChild(outcomeOf(secret))
          yield* Queue.take(reads)
          yield* keys.revoke({ id, organization })
          yield* TestClock.adjust("2 seconds")
          const after = yield* Effect.forkChild(outcomeOf(secret))
          yield* TestClock.adjust("1 second")
          const accepted = yield* Fiber.join(before)
          yield* Queue.take(reads)
          yield* TestClock.adjust("3 seconds")
          return [accepted, yield* Fiber.join(after)]
        }).pipe(Effect.provide(layer))
        assert.deepStrictEqual([early, late], ["accepted", "revoked"])
      })
    )
  })
})

/** Keys whose rows arrive this long after they were read; each read is announced in `reads`. */
const delayedReads = Effect.fnUntraced(function* (delay: Duration.Input) {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* Queue.unbounded<void>()
  const delayed = new Proxy(sql, {
    apply: (target, self, args) => {
      const statement: Effect.Effect<unknown> = Reflect.apply(target, self, args)
      return Effect.tap(statement, () => Effect.andThen(Queue.offer(reads, undefined), Effect.sleep(delay)))
    }
  })
  const layer = ApiKeys.layer.pipe(
    Layer.provide(Layer.succeed(SqlClient.SqlClient, delayed)),
    Layer.provide(AuditTrail.layer),
    Layer.provide(NodeCrypto.layerSecureRandom)
  )
  return { layer: Layer.fresh(layer), reads }
})

layer(Access.pipe(Layer.provideMerge(layerUnreachable)))("ApiKeys without a database", (it) => {
  it.effect("are neither accepted nor called invalid", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* outcomeOf(Redacted.make("tg-somebody")), "Unavailable")
    })
  )
})
