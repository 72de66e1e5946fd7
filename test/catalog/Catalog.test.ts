import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"

import { Catalog, loadCatalog, type CatalogSources } from "../../src/catalog/Catalog.ts"
import { canStream, type Model, servesTier, type UsedFeatures } from "../../src/catalog/Model.ts"
import type { Provider } from "../../src/catalog/Provider.ts"
import { providerId } from "../../src/domain/Ids.ts"

/** Whether a model may be ranked in a tier: as one that serves it, or as one that stands in for those. */
const canReasonAt = (model: Model, tier: "none" | "low" | "high"): boolean =>
  tier === "none" ? servesTier(model, tier) : model.reasoning.support !== "none"

const shipped = Result.getOrThrow(loadCatalog())

const accountOf = (provider: Provider, key = "key") => ({
  provider,
  baseUrl: provider.baseUrl,
  apiKey: Redacted.make(key)
})

/** A catalog with these providers switched on. */
const catalog = (on: ReadonlyArray<string>, overlay?: object, key = "key") => {
  const sources: CatalogSources = {
    overlay: overlay === undefined ? undefined : JSON.stringify(overlay),
    account: (provider) => Effect.succeed(on.includes(provider.id) ? accountOf(provider, key) : undefined)
  }
  return Catalog.pipe(Effect.provide(Catalog.layer(sources)))
}

/** In picodollars per token: 1,000,000 is one USD per million tokens. Written by hand, not read from the file. */
const spotPrices = [
  ["gpt-5-mini", 250_000n, 25_000n, 250_000n, 250_000n, 2_000_000n],
  ["claude-sonnet-5", 2_000_000n, 200_000n, 2_500_000n, 4_000_000n, 10_000_000n],
  ["claude-opus-4-8", 5_000_000n, 500_000n, 6_250_000n, 10_000_000n, 25_000_000n],
  ["deepseek-v4-pro", 1_320_000n, 44_000n, 1_320_000n, 1_320_000n, 3_960_000n],
  ["gpt-oss-120b", 150_000n, 75_000n, 150_000n, 150_000n, 600_000n],
  ["mistral-large-4", 700_000n, 70_000n, 700_000n, 700_000n, 2_100_000n]
] as const

describe("Catalog", () => {
  for (const [id, input, cacheRead, cacheWrite5m, cacheWrite1h, output] of spotPrices) {
    it(`ships the price of ${id}`, () => {
      assert.deepStrictEqual(shipped.models.get(id)?.endpoints[0].price.rates, {
        input,
        cacheRead,
        cacheWrite5m,
        cacheWrite1h,
        audioInput: input,
        output
      } as never)
    })
  }

  it("ships the higher rates of long prompts and the price of audio", () => {
    assert.deepStrictEqual(
      shipped.models
        .get("claude-haiku-5-5")
        ?.endpoints[0].price.tiers.map((tier) => [tier.abovePromptTokens, tier.rates.input]),
      [[100_000, 500_000n]] as never
    )
    assert.strictEqual(shipped.models.get("gpt-audio")?.endpoints[0].price.rates.audioInput, 32_000_000n as never)
  })

  it("ships only priced models, with a profile for exactly the tiers that each may be ranked in", () => {
    assert.isAbove(shipped.models.size, 40)
    for (const model of shipped.models.values()) {
      if (model.kind !== "chat") continue
      for (const tier of ["none", "low", "high"] as const) {
        assert.strictEqual(model.profiles[tier] !== undefined, canReasonAt(model, tier), `${model.id} ${tier}`)
      }
      for (const { price } of model.endpoints) {
        assert.isTrue(price.rates.input > 0n && price.rates.cacheRead <= price.rates.input, model.id)
      }
    }
  })

  it("knows which endpoints refuse to stream JSON, alone or beside tools", () => {
    const streams = (model: string, provider: string, used: Partial<UsedFeatures>): boolean => {
      const endpoint = shipped.models.get(model)?.endpoints.find(({ id }) => id === `${provider}/${model}`)
      if (endpoint === undefined) return assert.fail(`${model} at ${provider} is not shipped`)
      return canStream(endpoint, { json_object: false, json_schema: false, tools: false, ...used })
    }
    for (const model of ["gpt-oss-120b", "gpt-oss-20b", "llama-3.3-70b-versatile", "qwen3.8-27b"]) {
      assert.isTrue(streams(model, "groq", { tools: true }), model)
      assert.isFalse(streams(model, "groq", { json_object: true }), model)
    }
    assert.isFalse(streams("gpt-oss-120b", "groq", { json_schema: true }))
    assert.isTrue(streams("gpt-oss-120b", "cerebras", { json_schema: true }))
    assert.isTrue(streams("gpt-oss-120b", "cerebras", { json_object: true }))
    assert.isFalse(streams("gpt-oss-120b", "cerebras", { json_object: true, tools: true }))
    assert.isTrue(streams("kimi-k3", "moonshotai", { json_schema: true, tools: true }))
  })

  it("never rates a model lower at a higher reasoning tier", () => {
    for (const { id, profiles } of shipped.models.values()) {
      for (const [axis, high] of Object.entries(profiles.high ?? {})) {
        const key = axis as keyof NonNullable<typeof profiles.low>
        assert.isTrue(high >= (profiles.low?.[key] ?? 0) && high >= (profiles.none?.[key] ?? 0), `${id} ${axis}`)
      }
    }
  })

  it.effect("serves a model at those of its endpoints that have an account, in order of preference", () =>
    Effect.gen(function* () {
      const endpoints = (on: ReadonlyArray<string>) =>
        Effect.map(catalog(on), ({ lookup }) => {
          const found = lookup("gpt-oss-120b")
          return found._tag === "Served" ? found.model.endpoints.map((endpoint) => String(endpoint.id)) : found
        })
      assert.deepStrictEqual(yield* endpoints(["groq", "cerebras"]), ["groq/gpt-oss-120b", "cerebras/gpt-oss-120b"])
      assert.deepStrictEqual(yield* endpoints(["cerebras"]), ["cerebras/gpt-oss-120b"])
      assert.deepStrictEqual(yield* endpoints([]), {
        _tag: "Unserved",
        variables: ["GROQ_API_KEY", "CEREBRAS_API_KEY"]
      })
    })
  )

  it.effect("lists all models, and the served ones with their details", () =>
    Effect.gen(function* () {
      const { known, lookup, models } = yield* catalog(["mistral"])
      assert.deepStrictEqual(
        models.map((model) => String(model.id)),
        [
          "codestral-latest",
          "mistral-embed",
          "mistral-large-4",
          "mistral-medium-latest",
          "mistral-small-latest",
          "voxtral-mini-latest",
          "voxtral-small-latest"
        ]
      )
      assert.strictEqual(known.length, shipped.models.size)
      assert.deepStrictEqual(lookup("gpt-7"), { _tag: "Unknown" })
    })
  )

  it.effect("adds the operator's models, at shipped providers and at others, and replaces models by id", () =>
    Effect.gen(function* () {
      const entry = (id: string, provider: string) => ({
        id,
        context_window: 8_192,
        max_output: 1_024,
        endpoints: [{ provider, price_usd_per_mtok: { input: "0.5", output: 1 } }]
      })
      const overlay = {
        providers: [{ id: "own-lab", protocol: "openai-chat", base_url: "http://lab:9/v1/", auth: "none" }],
        models: [entry("llama-local", "vllm"), entry("lab-1", "own-lab"), entry("gpt-5-mini", "openai")]
      }
      const { account, models, version } = yield* catalog(["openai", "vllm", "own-lab"], overlay)
      const byId = new Map(models.map((model) => [String(model.id), model]))
      assert.strictEqual(byId.get("llama-local")?.endpoints[0].protocol, "openai-chat")
      assert.strictEqual(byId.get("lab-1")?.endpoints[0].id, "own-lab/lab-1" as never)
      assert.strictEqual(byId.get("gpt-5-mini")?.endpoints[0].contextWindow, 8_192)
      assert.isTrue(byId.has("gpt-5-nano"))
      assert.strictEqual(account(providerId("own-lab"))?.baseUrl, "http://lab:9/v1")
      assert.notStrictEqual(version, (yield* catalog(["openai"])).version)
    })
  )

  it.effect("sends an optional key as a bearer token, and sends none if none is set", () =>
    Effect.gen(function* () {
      const auth = (key: string) =>
        Effect.map(catalog(["vllm"], undefined, key), ({ account }) => account(providerId("vllm"))?.provider.auth)
      assert.strictEqual(yield* auth("secret"), "bearer")
      assert.strictEqual(yield* auth(""), "none")
    })
  )

  it.effect("does not switch on a provider that has a key but no base URL", () =>
    Effect.gen(function* () {
      const { account } = yield* catalog(["azure"])
      assert.isUndefined(account(providerId("azure")))
    })
  )

  it.effect("stops with the path of the fault in the operator's file", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(catalog([], { models: [{ id: "x", context_window: 1, max_output: 1 }] }))
      assert.strictEqual(error.path, "models[0].endpoints")
    })
  )

  it.effect("has a version that depends on the data and not on its order", () =>
    Effect.gen(function* () {
      const price_usd_per_mtok = { input: 1, output: 1 }
      const entry = { context_window: 10, max_output: 1, endpoints: [{ provider: "groq", price_usd_per_mtok }] }
      const versionOf = (...models: ReadonlyArray<object>) =>
        Effect.map(catalog([], { models }), ({ version }) => version)
      const a = { id: "a", ...entry }
      const b = { ...entry, id: "b" }
      assert.match(yield* versionOf(a, b), /^[0-9a-f]{12}$/)
      assert.strictEqual(yield* versionOf(a, b), yield* versionOf(b, a))
      assert.notStrictEqual(yield* versionOf(a), yield* versionOf({ ...a, context_window: 11 }))
    })
  )
})
