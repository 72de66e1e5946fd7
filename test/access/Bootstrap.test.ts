import { NodeCrypto } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { AuditTrail } from "../../src/access/AuditTrail.ts"
import { bootstrap, firstOrganization } from "../../src/access/Bootstrap.ts"
import { Organizations } from "../../src/access/Organizations.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"

const Access = Layer.mergeAll(ApiKeys.layer, Organizations.layer).pipe(
  Layer.provide(AuditTrail.layer),
  Layer.provideMerge(NodeCrypto.layerSecureRandom)
)

const organizations = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT id FROM organization`)

const empty = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`TRUNCATE organization CASCADE`)

/** Does what a gateway does at its start; returns the organization and the keys that were shown. */
const start = (apiKey?: Redacted.Redacted) =>
  Effect.gen(function* () {
    const shown = yield* Ref.make<ReadonlyArray<Redacted.Redacted>>([])
    const announce = (secret: Redacted.Redacted) => Ref.update(shown, (secrets) => [...secrets, secret])
    const organization = yield* bootstrap({ apiKey, announce })
    return { organization, shown: yield* Ref.get(shown) }
  })

describeOnEngines("Bootstrap", (suite) => {
  suite.layer(Access)((it) => {
    it.effect("creates one organization, however many replicas start together, and shows its key once", () =>
      Effect.gen(function* () {
        yield* empty
        const starts = yield* Effect.all([start(), start(), start()], { concurrency: "unbounded" })
        for (const { organization } of starts) assert.deepStrictEqual(organization, Option.some(firstOrganization))
        const shown = starts.flatMap((one) => one.shown)
        assert.strictEqual(shown.length, 1)
        const keys = yield* ApiKeys
        const callers = yield* Effect.forEach(shown, keys.authenticate)
        assert.strictEqual(callers[0]?.organization, firstOrganization)
        assert.strictEqual((yield* organizations).length, 1)
      })
    )

    it.effect("uses the key of the operator, shows no key, and keeps it on later starts", () =>
      Effect.gen(function* () {
        yield* empty
        const apiKey = Redacted.make("operators-own-key")
        for (const key of [apiKey, apiKey, undefined]) assert.deepStrictEqual((yield* start(key)).shown, [])
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual((yield* (yield* ApiKeys).authenticate(apiKey)).organization, firstOrganization)
      })
    )

    it.effect("starts over after a crash before the commit", () =>
      Effect.gen(function* () {
        yield* empty
        const crash = bootstrap({ announce: () => Effect.die("killed") })
        yield* Effect.exit(crash)
        assert.deepStrictEqual(yield* organizations, [])
        assert.strictEqual((yield* start()).shown.length, 1)
      })
    )

    it.effect("leaves a database unchanged that was set up in another way", () =>
      Effect.gen(function* () {
        yield* empty
        yield* (yield* Organizations).create("acme")
        assert.deepStrictEqual(yield* start(), { organization: Option.none(), shown: [] })
      })
    )
  })
})
