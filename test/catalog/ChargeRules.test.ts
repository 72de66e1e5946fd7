import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { loadCatalog, loadCatalogFiles, servedCatalog } from "../../src/catalog/Catalog.ts"
import { chargedPrice, chargedTo, pricingFault, providerPriceOf } from "../../src/catalog/ChargeRules.ts"
import type { Model } from "../../src/catalog/Model.ts"
import { costOf, type Price } from "../../src/catalog/Price.ts"
import { priceOf } from "../../src/catalog/PriceFromFile.ts"
import type { ChargeEntry, PricingEntry } from "../../src/domain/PriceEntry.ts"
import { none, promptTokens, type Usage } from "../../src/domain/Usage.ts"
import { readText } from "../support/SourceTree.ts"

const price = { input: 2, output: "8.000001" }

/** Two chat models at two providers, and a transcription model by the hour. */
const catalogWith = (charge?: unknown) => ({
  providers: ["acme", "other"].map((id) => ({ id, protocol: "openai-chat", base_url: "https://api.acme.dev/v1" })),
  models: ["chat-1", "chat-2"].map((id) => ({
    id,
    context_window: 100_000,
    max_output: 1_000,
    endpoints: [
      { provider: "acme", price_usd_per_mtok: price },
      { provider: "other", price_usd_per_mtok: price }
    ]
  })),
  transcription_models: [{ id: "ear", endpoints: [{ provider: "acme", price_usd_per_audio_hour: 0.36 }] }],
  ...(charge !== undefined && { charge })
})

const modelsOf = (charge?: unknown) => Result.getOrThrow(loadCatalogFiles([catalogWith(charge)])).models

const modelIn = (models: ReadonlyMap<string, Model>, id: string): Model => {
  const model = models.get(id)
  if (model === undefined) throw new Error(`${id} was not loaded`)
  return model
}

/** What a million tokens of output are charged at the endpoints of a model, by the scope of the rule. */
const chargesOf = ({ endpoints }: Model) =>
  endpoints.map((endpoint) => [
    endpoint.charge?.rule.scope,
    costOf(endpoint.price, { ...none, output: 1_000_000 }) / 1_000_000n
  ])

const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_000_000 }))
const rate = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))
const millionths = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

const sixDecimals = (value: number): string => {
  const digits = String(value).padStart(7, "0")
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`
}

const parsedPrice = (entry: Parameters<typeof priceOf>[0]): Price => Result.getOrThrow(priceOf(entry, ""))
const underFactor = (providerPrice: Price, factor: string): Price =>
  Result.getOrThrow(chargedPrice(providerPrice, { factor }))

/** The exact quotient, rounded up. */
const ceiling = (amount: bigint, divisor: bigint): bigint => amount / divisor + (amount % divisor === 0n ? 0n : 1n)

describe("What is charged at a factor", () => {
  it.prop(
    "is what the provider bills times the factor, rounded up once",
    {
      rates: Schema.Struct({ input: rate, output: rate, cache_read: rate, above: rate }),
      tokens: Schema.Struct({ input: count, cacheRead: count, cacheWrite1h: count, output: count }),
      factor: millionths
    },
    ({ factor, rates: { above, ...rates }, tokens }) => {
      const entry = Object.fromEntries(Object.entries(rates).map(([bucket, value]) => [bucket, sixDecimals(value)]))
      const base = { input: "0", output: "0", ...entry }
      const tiers = [{ above_prompt_tokens: 1_000_000, ...base, output: sixDecimals(above) }]
      const providerPrice = parsedPrice({ price_usd_per_mtok: { ...base, tiers } })
      const usage: Usage = { ...none, ...tokens }
      const charged = costOf(underFactor(providerPrice, sixDecimals(factor)), usage)
      const output = promptTokens(usage) > 1_000_000 ? above : rates.output
      const cost =
        BigInt(rates.input) * BigInt(tokens.input + tokens.cacheWrite1h) +
        BigInt(rates.cache_read) * BigInt(tokens.cacheRead) +
        BigInt(output) * BigInt(tokens.output)
      assert.strictEqual(costOf(providerPrice, usage), cost)
      assert.strictEqual(charged, ceiling(cost * BigInt(factor), 1_000_000n))
    }
  )

  it.prop(
    "is exact for the time of audio too",
    { perHour: rate, audioMillis: count, factor: millionths },
    ({ audioMillis, factor, perHour }) => {
      const providerPrice = parsedPrice({ price_usd_per_audio_hour: sixDecimals(perHour) })
      const charged = costOf(underFactor(providerPrice, sixDecimals(factor)), { ...none, audioMillis })
      const exact = BigInt(perHour) * 1_000_000n * BigInt(audioMillis) * BigInt(factor)
      assert.strictEqual(charged, ceiling(exact, 3_600_000n * 1_000_000n))
    }
  )

  it.prop("of one is what the provider bills", { value: rate, output: count }, ({ output, value }) => {
    const providerPrice = parsedPrice({ price_usd_per_mtok: { input: sixDecimals(value), output: sixDecimals(value) } })
    assert.deepStrictEqual(underFactor(providerPrice, "1"), providerPrice)
    assert.deepStrictEqual(underFactor(providerPrice, "1.000000"), providerPrice)
    assert.strictEqual(costOf(underFactor(providerPrice, "0"), { ...none, output }), 0n)
  })
})

const all = {
  factor: "2",
  providers: { other: { factor: "3" } },
  models: { "chat-2": { factor: "5" }, ear: { price_usd_per_audio_hour: "1" } }
}
const own: PricingEntry = { factor: "7", models: { "chat-2": { price_usd_per_mtok: { input: 1, output: 11 } } } }

describe("Of several rules", () => {
  const output = 8_000_001n
  const cases: ReadonlyArray<
    readonly [name: string, charge: unknown, pricing: PricingEntry | undefined, id: string, expected: unknown]
  > = [
    ["none", undefined, undefined, "chat-1", [undefined, undefined].map((scope) => [scope, output])],
    [
      "the catalog's, by provider",
      all,
      undefined,
      "chat-1",
      [
        ["catalog", 2n * output],
        ["provider", 3n * output]
      ]
    ],
    [
      "the model's before the provider's",
      all,
      undefined,
      "chat-2",
      [
        ["model", 5n * output],
        ["model", 5n * output]
      ]
    ],
    [
      "the organization's before all of the catalog",
      all,
      own,
      "chat-1",
      [
        ["organization", 7n * output],
        ["organization", 7n * output]
      ]
    ],
    [
      "the organization's for the model before its own factor",
      all,
      own,
      "chat-2",
      [
        ["organization_model", 11_000_000n],
        ["organization_model", 11_000_000n]
      ]
    ],
    [
      "only models, for another one",
      all,
      { models: { "chat-2": { factor: "0" } } },
      "chat-1",
      [
        ["catalog", 2n * output],
        ["provider", 3n * output]
      ]
    ]
  ]
  for (const [name, charge, pricing, id, expected] of cases)
    it(`the most specific one counts: ${name}`, () => {
      const model = modelIn(modelsOf(charge), id)
      const charged = pricing === undefined ? model : chargedTo(model, pricing)
      assert.deepStrictEqual(chargesOf(charged), expected)
      for (const endpoint of charged.endpoints)
        assert.strictEqual(providerPriceOf(endpoint).rates.output, output as never)
    })

  it("a later file replaces those of an earlier one, one by one", () => {
    const later = { charge: { factor: "1.5", models: { "chat-1": { factor: "4" } } } }
    const { models } = Result.getOrThrow(loadCatalogFiles([catalogWith(all), later]))
    assert.deepStrictEqual(
      ["chat-1", "chat-2", "ear"].map((id) => modelIn(models, id).endpoints[0].charge?.rule),
      [
        { scope: "model", charge: { factor: "4" } },
        { scope: "model", charge: { factor: "5" } },
        { scope: "model", charge: { price_usd_per_audio_hour: "1" } }
      ]
    )
  })
})

describe("Rules of a catalog file", () => {
  const faults: ReadonlyArray<readonly [name: string, charge: unknown, path: string, message: string]> = [
    ["an unknown model", { models: { "chat-9": { factor: "2" } } }, "charge.models.chat-9", "not a model"],
    ["an unknown provider", { providers: { nobody: { factor: "2" } } }, "charge.providers.nobody", "not a provider"],
    ["a factor with seven decimals", { factor: "1.0000001" }, "charge.factor", "0 to 1000"],
    ["a negative factor", { factor: "-1" }, "charge.factor", "0 to 1000"],
    ["a factor above 1000", { factor: "1000.5" }, "charge.factor", "0 to 1000"],
    ["a factor that is a float", { factor: 1.5 }, "charge.factor", "Expected"],
    ["a member of another name", { faktor: "1.5" }, "charge.faktor", "Unexpected"],
    ["no rule", { models: { "chat-1": {} } }, "charge.models.chat-1", "one of factor"],
    [
      "a factor and prices",
      { models: { "chat-1": { factor: "1", price_usd_per_mtok: price } } },
      "charge.models.chat-1",
      "one of factor"
    ],
    [
      "another unit",
      { models: { ear: { price_usd_per_mtok: price } } },
      "charge.models.ear",
      "price_usd_per_audio_hour"
    ],
    [
      "a chat by the hour",
      { models: { "chat-1": { price_usd_per_audio_hour: 1 } } },
      "charge.models.chat-1",
      "must have price_usd_per_mtok"
    ],
    [
      "an absurd price",
      { models: { "chat-1": { price_usd_per_mtok: { input: 999_999, output: 999_999 } } } },
      "charge.models.chat-1",
      "more than 100,000 USD"
    ]
  ]
  for (const [name, charge, path, message] of faults)
    it(`are refused with their path: ${name}`, () => {
      const loaded = loadCatalogFiles([catalogWith(charge)])
      if (!Result.isFailure(loaded)) return assert.fail("it was loaded")
      assert.strictEqual(loaded.failure.path, path)
      assert.include(loaded.failure.message, message)
    })

  it("are part of the version, and nothing changes without them", () => {
    const versions = [undefined, {}, { factor: "2" }, { models: { "chat-1": { factor: "2" } } }].map(
      (charge) => servedCatalog(Result.getOrThrow(loadCatalogFiles([catalogWith(charge)])), new Map()).version
    )
    assert.strictEqual(versions[0], versions[1])
    assert.strictEqual(new Set(versions).size, 3)
  })

  it("load from the example that the manual shows", () => {
    const { models } = Result.getOrThrow(loadCatalog(readText("examples/catalog/charges.json")))
    const rule = modelIn(models, "gpt-5-mini").endpoints[0].charge?.rule
    assert.deepStrictEqual(rule, { scope: "model", charge: { factor: "1.333333" } })
  })
})

describe("The pricing of an organization", () => {
  const models = modelsOf()
  const faults: ReadonlyArray<readonly [name: string, models: Record<string, ChargeEntry>, message: RegExp]> = [
    ["an unknown model", { "chat-9": { factor: "2" } }, /^pricing\.models\.chat-9: is not a model/],
    ["another unit", { ear: { price_usd_per_mtok: price } }, /^pricing\.models\.ear: must have price_usd_per_audio/]
  ]
  for (const [name, named, message] of faults)
    it(`is refused with its path: ${name}`, () => {
      assert.match(String(pricingFault(models, { models: named })), message)
    })

  it("is passed over where it no longer fits the catalog", () => {
    const pricing: PricingEntry = { factor: "3", models: { ear: { price_usd_per_mtok: price } } }
    assert.strictEqual(chargedTo(modelIn(models, "ear"), pricing).endpoints[0].charge?.rule.scope, "organization")
    assert.isUndefined(pricingFault(models, own))
  })
})
