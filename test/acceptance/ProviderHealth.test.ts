/** What operators see of the catalog and of the providers, through HTTP. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { inject } from "vitest"

import { at, type Json, user } from "../support/Chat.ts"
import { describeGateway, type Reply, TestGateway } from "../support/TestGateway.ts"

const faulty = [
  { model: "limited", provider: "openai", fault: "429 retry-after=600" },
  { model: "refused", provider: "groq", fault: "401" },
  { model: "down", provider: "mistral", fault: "503" }
] as const

/** A model for each fault, so that no other test meets its open breaker. */
const overlay = (): string => {
  const file = join(inject("scratch"), `health-${process.pid}.json`)
  const models = faulty.map(({ model, provider }) => ({
    id: model,
    context_window: 8_000,
    max_output: 1_000,
    endpoints: [{ provider, price_usd_per_mtok: { input: 1, output: 2 } }]
  }))
  writeFileSync(file, JSON.stringify({ models }))
  return file
}

const ok = (reply: Reply): Reply => {
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
}

const data = (reply: Reply) => ok(reply).at("data") as ReadonlyArray<Json>

const askWithFault = ({ fault, model }: (typeof faulty)[number]) =>
  Effect.flatMap(TestGateway, ({ chat }) => chat({ model, messages: [user(`[fault:${fault}] Hello`)] }))

const endpointOf = Effect.fnUntraced(function* ({ model, provider }: (typeof faulty)[number]) {
  const { admin } = yield* TestGateway
  const found = data(yield* admin("GET", "/admin/v1/providers")).find(({ id }) => id === provider)
  const endpoints = found?.["endpoints"] as ReadonlyArray<Json>
  return { provider: found, endpoint: endpoints.find((endpoint) => endpoint["model"] === model) }
})

describeGateway(
  "The health of providers",
  (it) => {
    it.effect("names the rest of a rate limit, and why the endpoint is left alone", () =>
      Effect.gen(function* () {
        const [limited] = faulty
        assert.strictEqual((yield* askWithFault(limited)).status, 429)
        const { endpoint, provider } = yield* endpointOf(limited)
        assert.strictEqual(endpoint?.["id"], "openai/limited")
        assert.deepStrictEqual([endpoint?.["breaker"], endpoint?.["rate_limited"]], ["open", true])
        assert.isAtMost(Number(endpoint?.["retry_after_seconds"]), 600)
        assert.isAbove(Number(endpoint?.["retry_after_seconds"]), 0)
        assert.deepStrictEqual(
          [at(endpoint, "last_failure", "class"), at(endpoint, "last_failure", "status")],
          ["rate_limited", 429]
        )
        assert.isNull(provider?.["account_refused_since"])
      })
    )

    it.effect("says since when a provider refuses the account", () =>
      Effect.gen(function* () {
        const [, refused] = faulty
        assert.strictEqual((yield* askWithFault(refused)).status, 500)
        const { endpoint, provider } = yield* endpointOf(refused)
        assert.deepStrictEqual([endpoint?.["breaker"], endpoint?.["rate_limited"]], ["open", false])
        assert.strictEqual(at(endpoint, "last_failure", "class"), "Credentials")
        const since = String(provider?.["account_refused_since"])
        assert.strictEqual(since, endpoint?.["refused_since"])
        assert.strictEqual(new Date(since).toISOString(), since)
      })
    )

    it.effect("shows a single failure without leaving the endpoint alone", () =>
      Effect.gen(function* () {
        const [, , down] = faulty
        yield* askWithFault(down)
        const { endpoint } = yield* endpointOf(down)
        assert.strictEqual(at(endpoint, "last_failure", "status"), 503)
        assert.deepStrictEqual([endpoint?.["breaker"], endpoint?.["retry_after_seconds"]], ["closed", null])
      })
    )

    it.effect("lists providers in pages, each once, under the id of the gateway that answers", () =>
      Effect.gen(function* () {
        const { admin } = yield* TestGateway
        const all = yield* admin("GET", "/admin/v1/providers?limit=200")
        const ids = data(all).map(({ id }) => id)
        assert.isAbove(ids.length, 10)
        assert.isNull(all.at("next_cursor"))
        assert.match(String(all.at("gateway_id")), /^[\da-f-]{36}$/)
        const first = yield* admin("GET", "/admin/v1/providers?limit=7")
        const rest = yield* admin("GET", `/admin/v1/providers?limit=200&cursor=${String(first.at("next_cursor"))}`)
        assert.deepStrictEqual(
          [...data(first), ...data(rest)].map(({ id }) => id),
          ids
        )
        // The simulated provider stands in for all of them.
        assert.deepStrictEqual(data(yield* admin("GET", "/admin/v1/providers?enabled=false")), [])
      })
    )
  },
  { CATALOG_FILE: overlay() }
)

describeGateway(
  "The catalog for operators",
  (it) => {
    it.effect("has the prices in force, and says which providers are switched on", () =>
      Effect.gen(function* () {
        const { admin, request } = yield* TestGateway
        const listed = yield* admin("GET", "/admin/v1/catalog/models?limit=200")
        const models = data(listed)
        assert.match(String(listed.at("catalog_version")), /^[\da-f]{12}$/)
        const mini = models.find(({ id }) => id === "gpt-4o-mini")
        assert.deepStrictEqual([mini?.["served"], at(mini, "endpoints", 0, "enabled")], [true, true])
        const card = yield* request("GET", "/v1/models/gpt-4o-mini")
        assert.deepStrictEqual(at(mini, "endpoints", 0, "price_usd_per_mtok"), card.at("svc.price_usd_per_mtok"))
        const claude = models.find(({ id }) => String(id).startsWith("claude-"))
        assert.strictEqual(claude?.["served"], false)
        assert.isDefined(at(claude, "endpoints", 0, "price_usd_per_mtok"))
        const whisper = models.find((model) => at(model, "endpoints", 0, "price_usd_per_audio_hour") !== undefined)
        assert.strictEqual(whisper?.["kind"], "transcription")
      })
    )

    it.effect("can be narrowed to what is served or to a provider, and turned in pages", () =>
      Effect.gen(function* () {
        const { admin } = yield* TestGateway
        const path = "/admin/v1/catalog/models"
        const all = data(yield* admin("GET", `${path}?limit=200`))
        const served = data(yield* admin("GET", `${path}?limit=200&served=true`))
        const unserved = data(yield* admin("GET", `${path}?limit=200&served=false`))
        assert.strictEqual(served.length + unserved.length, all.length)
        const providers = data(yield* admin("GET", "/admin/v1/providers?enabled=true"))
        assert.deepStrictEqual(
          providers.map(({ id }) => id),
          ["openai"]
        )
        const ofOpenAi = data(yield* admin("GET", `${path}?limit=200&provider=openai`))
        assert.deepStrictEqual(ofOpenAi, served)
        const first = yield* admin("GET", `${path}?limit=3`)
        const second = yield* admin("GET", `${path}?limit=3&cursor=${String(first.at("next_cursor"))}`)
        assert.deepStrictEqual([...data(first), ...data(second)], all.slice(0, 6))
      })
    )

    it.effect("is for operators alone, and refuses bad queries with the field", () =>
      Effect.gen(function* () {
        const { admin, request } = yield* TestGateway
        for (const path of ["/admin/v1/catalog/models", "/admin/v1/providers"]) {
          assert.strictEqual((yield* request("GET", path)).status, 401)
          for (const query of ["limit=0", "limit=201", "cursor=", "enabeld=true"]) {
            const refused = yield* admin("GET", `${path}?${query}`)
            assert.deepStrictEqual([refused.status, refused.at("error.code")], [400, "invalid_request"], query)
            assert.include(String(refused.at("error.message")), query.slice(0, query.indexOf("=")))
          }
        }
      })
    )
  },
  { OPENAI_API_KEY: "sk-nobody-calls-it" }
)
