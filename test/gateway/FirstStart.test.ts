import { NodeCrypto } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Effect, Layer, Logger, Option } from "effect"
import { SqlClient } from "effect/sql"

import { AdminKeys } from "../../src/access/AdminKeys.ts"
import { ApiKeys } from "../../src/access/ApiKeys.ts"
import { AuditTrail } from "../../src/access/AuditTrail.ts"
import { bootstrap } from "../../src/access/Bootstrap.ts"
import { zero } from "../../src/domain/Money.ts"
import { firstStartLayer } from "../../src/gateway/FirstStart.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"

const services = Layer.mergeAll(
  ApiKeys.layer,
  AdminKeys.layer({ environmentKey: Option.none() }),
  Layer.mock(CreditLedger)({})
).pipe(Layer.provide(AuditTrail.layer), Layer.provideMerge(NodeCrypto.layerSecureRandom))

/** What a start without a key and without leave to make one logs. */
const warnings = Effect.gen(function* () {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => lines.push(String(message)))
  const options = { apiKey: Option.none(), mayGenerate: false, credit: zero }
  yield* Effect.scoped(Layer.build(firstStartLayer(options).pipe(Layer.provide(Logger.layer([logger])))))
  return lines
})

describeOnEngines("A start without BOOTSTRAP_API_KEY", (suite) => {
  suite.layer(services)((it) => {
    it.effect("says how to get a key while the database is empty, and nothing afterwards", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`TRUNCATE organization CASCADE`
        const [line = "", ...others] = yield* warnings
        assert.match(line, /no API key is valid.*Set BOOTSTRAP_API_KEY/)
        assert.deepStrictEqual(others, [])
        yield* bootstrap({ announce: () => Effect.void })
        assert.deepStrictEqual(yield* warnings, [])
      })
    )
  })
})
