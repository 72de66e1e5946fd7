import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result, Schema } from "effect"

import { Catalog, loadCatalog, loadCatalogFiles } from "../../src/catalog/Catalog.ts"
import { billedMillis, costOf, type Price } from "../../src/catalog/Price.ts"
import { none } from "../../src/domain/Usage.ts"
import { readText } from "../support/SourceTree.ts"

const provider = { id: "acme", protocol: "openai-chat", base_url: "https://api.acme.dev/v1" }
const byToken = { price_usd_per_mtok: { input: 1, output: "2", audio_input: 3 } }
const byHour = { price_usd_per_audio_hour: 0.111, minimum_audio_seconds: 10 }

const catalogWith = (parts: { model?: object; endpoint?: object } = {}) => ({
  providers: [provider],
  transcription_models: [
    { id: "ear", endpoints: [{ provider: "acme", ...(parts.endpoint ?? byHour) }], ...parts.model }
  ]
})

const only = (json: unknown) => {
  const model = Result.getOrThrow(loadCatalogFiles([json])).models.get("ear")
  if (model === undefined) throw new Error("not loaded")
  return model
}

/** What is wrong, the path that is reported, and a part of the message. */
const faults: Record<string, readonly [json: unknown, path: string, message: string]> = {
  "no price": [
    catalogWith({ endpoint: {} }),
    "transcription_models[0].endpoints[0]",
    "must have price_usd_per_mtok or"
  ],
  "two prices": [
    catalogWith({ endpoint: { ...byToken, price_usd_per_audio_hour: 0 } }),
    "transcription_models[0].endpoints[0]",
    "not both"
  ],
  "a minimum of tokens": [
    catalogWith({ endpoint: { ...byToken, minimum_audio_seconds: 10 } }),
    "transcription_models[0].endpoints[0].minimum_audio_seconds",
    "goes with price_usd_per_audio_hour"
  ],
  "a negative price": [
    catalogWith({ endpoint: { price_usd_per_audio_hour: -0.1 } }),
    "transcription_models[0].endpoints[0].price_usd_per_audio_hour",
    "USD per hour of audio"
  ],
  "seven decimals": [
    catalogWith({ endpoint: { price_usd_per_audio_hour: "0.0000001" } }),
    "transcription_models[0].endpoints[0].price_usd_per_audio_hour",
    "six decimals"
  ],
  "half a second": [
    catalogWith({ endpoint: { ...byHour, minimum_audio_seconds: 0.5 } }),
    "transcription_models[0].endpoints[0].minimum_audio_seconds",
    "integer"
  ],
  tools: [catalogWith({ model: { tools: true } }), "transcription_models[0].tools", "Unexpected"],
  "no provider of that name": [
    catalogWith({ endpoint: { provider: "who", ...byHour } }),
    "transcription_models[0].endpoints[0].provider",
    '"who" is not a provider'
  ],
  "one id twice": [
    {
      providers: [provider],
      transcription_models: Array(2).fill({ id: "ear", endpoints: [{ provider: "acme", ...byHour }] })
    },
    "transcription_models[1].id",
    "is already transcription_models[0]"
  ],
  "the id of a chat model": [
    { transcription_models: [{ id: "gpt-5-mini", endpoints: [{ provider: "openai", ...byHour }] }] },
    "transcription_models[0].id",
    '"gpt-5-mini" is a chat model already'
  ],
  "a chat model of its id": [
    {
      models: [{ id: "whisper-1", context_window: 9, max_output: 9, endpoints: [{ provider: "openai", ...byToken }] }]
    },
    "models[0].id",
    '"whisper-1" is a transcription model already'
  ]
}

describe("transcription models of a catalog file", () => {
  for (const [name, [json, path, message]] of Object.entries(faults)) {
    it(`are refused with the path for ${name}`, () => {
      const error = Result.getOrThrow(Result.flip(loadCatalog(JSON.stringify(json))))
      assert.strictEqual(error.path, path)
      assert.include(error.message, `${path}: `)
      assert.include(error.message, message)
    })
  }

  it("accept audio only, through the transcription protocol, and have default limits", () => {
    const { endpoints, kind, modalities, tools } = only(catalogWith())
    assert.deepStrictEqual([kind, modalities, tools], ["transcription", { image: false, audio: true }, false])
    const [{ contextWindow, id, maxOutputTokens, protocol, upstream }] = endpoints
    assert.deepStrictEqual([String(id), protocol, upstream], ["acme/ear", "openai-transcription", "ear"])
    assert.deepStrictEqual([contextWindow, maxOutputTokens], [131_072, 131_072])
  })

  it("are priced by the token as chat models are", () => {
    const [{ price }] = only(catalogWith({ endpoint: byToken })).endpoints
    assert.strictEqual(costOf(price, { ...none, input: 10, audioInput: 100, output: 5 }), 320_000_000n as never)
    assert.isUndefined(billedMillis(price, 1_000))
  })

  it("are priced by the hour, rounded up to a whole picodollar, with a minimum if there is one", () => {
    const priceOf = (endpoint: object): Price => only(catalogWith({ endpoint })).endpoints[0].price
    const cost = (price: Price, audioMillis: number) => costOf(price, { ...none, input: 9, output: 9, audioMillis })
    const groq = priceOf(byHour)
    assert.strictEqual(cost(groq, 3_600_000), 111_000_000_000n as never)
    assert.strictEqual(cost(groq, 1), 30_834n as never)
    assert.deepStrictEqual(
      [1, 9_999, 10_000, 10_001].map((millis) => billedMillis(groq, millis)),
      [10_000, 10_000, 10_000, 10_001]
    )
    const own = priceOf({ price_usd_per_audio_hour: 0 })
    assert.deepStrictEqual([cost(own, 3_600_000), billedMillis(own, 5)], [0n as never, 5])
  })

  it.prop(
    "never cost less than the exact price of the time, and always less than a picodollar more",
    { millis: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000_000 })) },
    ({ millis }) => {
      const [{ price }] = only(catalogWith()).endpoints
      const excess = costOf(price, { ...none, audioMillis: millis }) * 3_600_000n - BigInt(millis) * 111_000_000_000n
      assert.isTrue(excess >= 0n && excess < 3_600_000n)
    }
  )

  it("load from the example that the manual shows", () => {
    const { models, providers } = Result.getOrThrow(loadCatalog(readText("examples/catalog/own-servers.json")))
    assert.deepStrictEqual(
      ["whisper-local", "llama-local"].map((id) => models.get(id)?.kind),
      ["transcription", "chat"]
    )
    assert.strictEqual(providers.get("speaches")?.baseUrlEnv, "SPEACHES_BASE_URL")
  })

  it.effect("of an operator are added to the shipped ones, and replace them by id", () =>
    Effect.gen(function* () {
      const local = { id: "whisper-local", endpoints: [{ provider: "speaches", price_usd_per_audio_hour: 0 }] }
      const cheaper = { id: "whisper-1", endpoints: [{ provider: "openai", price_usd_per_audio_hour: "0.1" }] }
      const overlay = JSON.stringify({
        providers: [{ id: "speaches", protocol: "openai-chat", base_url: "http://localhost:8000/v1", auth: "none" }],
        transcription_models: [local, cheaper]
      })
      const { models } = yield* Catalog.pipe(
        Effect.provide(
          Catalog.layer({
            overlay,
            account: (provider) => Effect.succeed({ provider, baseUrl: "http://a", apiKey: Redacted.make("") })
          })
        )
      )
      const hourly = new Map(models.map(({ endpoints, id }) => [String(id), endpoints[0].price.rates.audioHour]))
      assert.strictEqual(hourly.get("whisper-local"), 0n as never)
      assert.strictEqual(hourly.get("whisper-1"), 100_000_000_000n as never)
      assert.strictEqual(hourly.get("voxtral-mini-latest"), 180_000_000_000n as never)
      assert.isTrue(hourly.has("gpt-4o-transcribe") && hourly.has("gpt-4o"))
    })
  )
})

/** Picodollars per token of text, audio and output, or per hour of audio. Written by hand, not read from the file. */
const spotPrices: Record<string, readonly [bigint, bigint, bigint] | bigint> = {
  "gpt-4o-transcribe": [2_500_000n, 6_000_000n, 10_000_000n],
  "gpt-4o-mini-transcribe": [1_250_000n, 3_000_000n, 5_000_000n],
  "gpt-transcribe": 360_000_000_000n,
  "whisper-1": 360_000_000_000n,
  "whisper-large-v3": 111_000_000_000n,
  "whisper-large-v3-turbo": 40_000_000_000n,
  "voxtral-mini-latest": 180_000_000_000n
}

describe("the shipped transcription models", () => {
  it("are these, at these prices", () => {
    const shipped = [...Result.getOrThrow(loadCatalog()).models.values()].filter(({ kind }) => kind === "transcription")
    const prices = shipped.map(({ endpoints: [{ price }], id }) => {
      const { audioHour, audioInput, input, output } = price.rates
      return [id, audioHour ?? [input, audioInput, output]]
    })
    assert.deepStrictEqual(Object.fromEntries(prices), spotPrices)
  })
})
