import { assert } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"

import { makeProviderIncidents } from "../../src/alerts/ProviderIncidents.ts"
import { Catalog } from "../../src/catalog/Catalog.ts"
import { type EndpointId, endpointId, modelId, providerId } from "../../src/domain/Ids.ts"
import { CreditLedger } from "../../src/ledger/CreditLedger.ts"
import type { EndpointHealth } from "../../src/providers/dispatch/EndpointHealth.ts"
import { ProviderHealth } from "../../src/providers/dispatch/ProviderHealth.ts"
import { describeOnEngines } from "../support/TestDatabase.ts"
import { layerAlerts, sentAlerts, webhookTo } from "./AlertLayers.ts"

const closed: EndpointHealth = { breaker: "closed", retryAfterMillis: 0, isRateLimited: false }

/** One gateway, and what it has seen of its endpoints. Two models of one provider. */
const makeGateway = Effect.fnUntraced(function* (provider: string, gateway: string) {
  const seen = new Map<EndpointId, EndpointHealth>()
  const [first, second] = [endpointId(`${provider}/first`), endpointId(`${provider}/second`)]
  const endpoints = [first, second].map((id) => ({ id, provider: providerId(provider) }))
  const layer = Layer.mergeAll(
    Layer.mock(Catalog)({
      version: "test",
      known: [],
      data: undefined as never,
      models: [{ id: modelId("model"), endpoints } as never],
      account: () => ({}) as never,
      lookup: () => ({ _tag: "Unknown" })
    }),
    Layer.mock(CreditLedger)({ gateway: Effect.succeed(gateway) }),
    Layer.succeed(ProviderHealth, ProviderHealth.of({ endpoint: (id) => seen.get(id) ?? closed }))
  )
  const check = yield* Effect.provide(makeProviderIncidents({ breakerMinutes: 5 }), layer)
  return {
    check,
    first,
    seen,
    see: (health: Partial<EndpointHealth>) => void seen.set(first, { ...closed, ...health })
  }
})

const one = "018f0000-0000-7000-8000-000000000001"
const two = "018f0000-0000-7000-8000-000000000002"

const newAlerts = Effect.fnUntraced(function* () {
  const sql = yield* SqlClient.SqlClient
  const alerts = yield* sentAlerts()
  yield* sql`DELETE FROM alert_event`
  return alerts.map(({ data, type }) => [type, data["endpoint"] ?? data["provider"]])
})

const pass = (minutes: number) => TestClock.adjust(`${minutes} minutes`)

describeOnEngines("ProviderIncidents", (suite) => {
  suite.layer(layerAlerts())((it) => {
    it.effect("begin with the first gateway that is refused, and end when the last one is accepted", () =>
      Effect.gen(function* () {
        yield* webhookTo("https://example.com/")
        const a = yield* makeGateway("openai", one)
        const b = yield* makeGateway("openai", two)
        const checks = Effect.all([a.check, b.check])
        yield* pass(1)
        const refused = yield* Clock.currentTimeMillis
        const lastFailure = { class: "Credentials", status: 401, atMillis: refused }
        a.see({ refusedSinceMillis: refused, lastFailure })
        b.see({ refusedSinceMillis: refused, lastFailure })
        yield* checks
        yield* pass(1)
        yield* checks
        assert.deepStrictEqual(yield* newAlerts(), [["provider.credentials_refused", "openai"]])
        // Only one of them has the new key.
        a.see({ lastFailure, lastAnswerMillis: yield* Clock.currentTimeMillis })
        for (let minute = 0; minute < 5; minute++) yield* Effect.andThen(pass(1), checks)
        assert.deepStrictEqual(yield* newAlerts(), [])
        b.see({ lastFailure, lastAnswerMillis: yield* Clock.currentTimeMillis })
        for (let minute = 0; minute < 5; minute++) yield* Effect.andThen(pass(1), checks)
        assert.deepStrictEqual(yield* newAlerts(), [["provider.credentials_accepted", "openai"]])
        const again = yield* Clock.currentTimeMillis
        a.see({ refusedSinceMillis: again, lastFailure: { ...lastFailure, atMillis: again } })
        yield* checks
        assert.deepStrictEqual(yield* newAlerts(), [["provider.credentials_refused", "openai"]])
      })
    )

    it.effect("are not ended by a gateway that was just started", () =>
      Effect.gen(function* () {
        yield* webhookTo("https://example.com/")
        const before = yield* makeGateway("groq", one)
        yield* pass(1)
        const refused = yield* Clock.currentTimeMillis
        const failed = {
          refusedSinceMillis: refused,
          lastFailure: { class: "Credentials", status: 401, atMillis: refused }
        }
        before.see(failed)
        yield* before.check
        const after = yield* makeGateway("groq", two)
        for (let minute = 0; minute < 5; minute++) yield* Effect.andThen(pass(1), after.check)
        after.see(failed)
        yield* after.check
        assert.deepStrictEqual(yield* newAlerts(), [["provider.credentials_refused", "groq"]])
      })
    )

    it.effect("are of a breaker that stays open for minutes, and end when it closes", () =>
      Effect.gen(function* () {
        yield* webhookTo("https://example.com/")
        const { check, first, see } = yield* makeGateway("anthropic", one)
        const open = { breaker: "open", retryAfterMillis: 1_000 } as const
        yield* pass(1)
        see(open)
        yield* check
        yield* pass(4)
        // It answered in between, so it has been open since then at most.
        see({ ...open, lastAnswerMillis: yield* Clock.currentTimeMillis })
        yield* check
        yield* pass(4)
        yield* check
        assert.deepStrictEqual(yield* newAlerts(), [])
        yield* pass(1)
        // A half-open breaker waits for somebody to call.
        see({ breaker: "half_open" })
        yield* check
        assert.deepStrictEqual(yield* newAlerts(), [])
        see(open)
        yield* check
        yield* pass(1)
        yield* check
        assert.deepStrictEqual(yield* newAlerts(), [["provider.breaker_open", first]])
        see({ breaker: "half_open" })
        for (let minute = 0; minute < 5; minute++) yield* Effect.andThen(pass(1), check)
        assert.deepStrictEqual(yield* newAlerts(), [])
        see({ lastAnswerMillis: yield* Clock.currentTimeMillis })
        yield* check
        assert.deepStrictEqual(yield* newAlerts(), [["provider.breaker_closed", first]])
        yield* pass(10)
        yield* check
        assert.deepStrictEqual(yield* newAlerts(), [])
      })
    )
  })
})
