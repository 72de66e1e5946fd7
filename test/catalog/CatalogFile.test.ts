import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { loadCatalog, loadCatalogFiles } from "../../src/catalog/Catalog.ts"
import { axes } from "../../src/catalog/Model.ts"
import { costOf, type Price } from "../../src/catalog/Price.ts"
import { none } from "../../src/domain/Usage.ts"

const profile = Object.fromEntries(axes.map((axis) => [axis, 0.5]))

/** A minimal catalog, with some of its fields replaced. */
const catalogWith = (parts: { provider?: object; model?: object; endpoint?: object; price?: object } = {}) => ({
  providers: [{ id: "acme", protocol: "openai-chat", base_url: "https://api.acme.dev/v1", ...parts.provider }],
  models: [
    {
      id: "acme-1",
      context_window: 1_000,
      max_output: 100,
      endpoints: [{ provider: "acme", price_usd_per_mtok: { input: 1, output: 2, ...parts.price }, ...parts.endpoint }],
      ...parts.model
    }
  ]
})

const only = (json: unknown) => {
  const model = Result.getOrThrow(loadCatalogFiles([json])).models.get("acme-1")
  if (model === undefined) throw new Error("not loaded")
  return model
}

const faultOf = (json: unknown) => {
  const result = loadCatalogFiles([json])
  return Result.isFailure(result) ? result.failure : undefined
}

const {
  models: [minimal],
  providers
} = catalogWith()
const endpoint = minimal?.endpoints[0]

/** What is wrong, the path that is reported, and a part of the message. */
const faults: ReadonlyArray<readonly [name: string, json: unknown, path: string, message: string]> = [
  [
    "a price with the decimal point in the wrong place",
    catalogWith({ model: { context_window: 1_000_000 }, price: { input: 900_000 } }),
    "models[0].endpoints[0]",
    "more than 100,000 USD"
  ],
  [
    "no price",
    catalogWith({ endpoint: { price_usd_per_mtok: undefined } }),
    "models[0].endpoints[0].price_usd_per_mtok",
    "Expected"
  ],
  [
    "no input price",
    catalogWith({ price: { input: undefined } }),
    "models[0].endpoints[0].price_usd_per_mtok.input",
    "Expected"
  ],
  [
    "seven decimals",
    catalogWith({ price: { output: "0.0000001" } }),
    "models[0].endpoints[0].price_usd_per_mtok.output",
    "six decimals"
  ],
  [
    "seven decimals as a number",
    catalogWith({ price: { output: 1e-7 } }),
    "models[0].endpoints[0].price_usd_per_mtok.output",
    "six decimals"
  ],
  [
    "a negative price",
    catalogWith({ price: { input: -1 } }),
    "models[0].endpoints[0].price_usd_per_mtok.input",
    "not negative"
  ],
  [
    "a misspelled price",
    catalogWith({ price: { cache_reed: 1 } }),
    "models[0].endpoints[0].price_usd_per_mtok.cache_reed",
    "Unexpected"
  ],
  [
    "a misspelled price in a tier",
    catalogWith({ price: { tiers: [{ above_prompt_tokens: 9, input: 1, output: 1, ouput: 1 }] } }),
    "models[0].endpoints[0].price_usd_per_mtok.tiers[0].ouput",
    "Unexpected"
  ],
  [
    "tiers out of order",
    catalogWith({
      price: {
        tiers: [
          { above_prompt_tokens: 9, input: 1, output: 1 },
          { above_prompt_tokens: 9, input: 1, output: 1 }
        ]
      }
    }),
    "models[0].endpoints[0].price_usd_per_mtok.tiers[1].above_prompt_tokens",
    "above the tier before"
  ],
  [
    "a misspelled endpoint field",
    catalogWith({ endpoint: { upstreem: "x" } }),
    "models[0].endpoints[0].upstreem",
    "Unexpected"
  ],
  ["a misspelled model field", catalogWith({ model: { tols: true } }), "models[0].tols", "Unexpected"],
  ["an unknown provider", catalogWith({ endpoint: { provider: "acne" } }), "models[0].endpoints[0].provider", '"acne"'],
  ["an unknown protocol", catalogWith({ provider: { protocol: "gopher" } }), "providers[0].protocol", "gopher"],
  [
    "an unknown protocol of an endpoint",
    catalogWith({ endpoint: { protocol: "gopher" } }),
    "models[0].endpoints[0].protocol",
    "gopher"
  ],
  ["an unknown dialect", catalogWith({ provider: { dialect: "cockney" } }), "providers[0].dialect", "cockney"],
  ["no endpoints", catalogWith({ model: { endpoints: [] } }), "models[0].endpoints[0]", "Missing"],
  [
    "two endpoints at one provider",
    catalogWith({ model: { endpoints: [endpoint, endpoint] } }),
    "models[0].endpoints[1].provider",
    "already"
  ],
  ["two models of one id", { providers, models: [minimal, minimal] }, "models[1].id", "already models[0]"],
  ["two providers of one id", { providers: [...providers, ...providers] }, "providers[1].id", "already providers[0]"],
  ["more output than context", catalogWith({ endpoint: { max_output: 1_001 } }), "models[0].endpoints[0]", "exceeds"],
  [
    "a skill above 1",
    catalogWith({ model: { profiles: { none: { ...profile, math: 1.5 } } } }),
    "models[0].profiles.none.math",
    "between 0 and 1"
  ],
  [
    "a profile without an axis",
    catalogWith({ model: { profiles: { none: { ...profile, math: undefined } } } }),
    "models[0].profiles.none.math",
    "Expected"
  ],
  [
    "a profile of a tier it cannot serve",
    catalogWith({ model: { profiles: { high: profile } } }),
    "models[0].profiles.high",
    "cannot serve"
  ],
  [
    "efforts without reasoning",
    catalogWith({ model: { reasoning: { support: "none", efforts: ["low"] } } }),
    "models[0].reasoning.support",
    "no efforts"
  ],
  ["an impossible month", catalogWith({ model: { released: "2026-13" } }), "models[0].released", "YYYY-MM"],
  ["something else", [], "", "Expected"]
]

describe("CatalogFile", () => {
  for (const [name, json, path, message] of faults) {
    it(`refuses ${name} and reports the path`, () => {
      const fault = faultOf(json)
      assert.strictEqual(fault?.path, path)
      assert.include(fault?.message, message)
      assert.isTrue(fault?.message.startsWith(path))
    })
  }

  it("names models by aliases, of which a later file replaces the earlier, and refuses those of no model", () => {
    const later = { aliases: { fast: "acme-2" }, models: [{ ...catalogWith().models[0], id: "acme-2" }] }
    const { aliases } = Result.getOrThrow(
      loadCatalogFiles([{ ...catalogWith(), aliases: { fast: "acme-1", same: "acme-1" } }, later])
    )
    assert.deepStrictEqual(Object.fromEntries(aliases ?? []), { fast: "acme-2", same: "acme-1" } as never)
    const nobody = faultOf({ ...catalogWith(), aliases: { fast: "nobody" } })
    assert.strictEqual(nobody?.message, 'aliases.fast: "nobody" is not a model of this catalog')
    const taken = faultOf({ ...catalogWith(), aliases: { "acme-1": "acme-1" } })
    assert.strictEqual(taken?.message, "aliases.acme-1: is the id of a model")
  })

  it("refuses an operator's file that is not JSON", () => {
    const result = loadCatalog("{")
    assert.isTrue(Result.isFailure(result) && result.failure.message.startsWith("is not JSON"))
  })

  it("fills in the defaults of a minimal entry", () => {
    const model = only(catalogWith())
    assert.deepStrictEqual(
      [model.ownedBy, model.created, model.modalities, model.tools, model.forcedToolChoice, model.structuredOutput],
      ["acme", 0, { image: false, audio: false }, true, true, false]
    )
    assert.deepStrictEqual([model.endpoints[0].id, model.endpoints[0].upstream], ["acme/acme-1", "acme-1"])
    assert.deepStrictEqual(Object.keys(model.profiles), ["none"])
  })

  it("uses the input price for cache and audio without a price, and the five-minute price for the hour cache", () => {
    const rates = (price: object) => only(catalogWith({ price })).endpoints[0].price.rates
    assert.deepStrictEqual(rates({}), {
      input: 1_000_000n,
      cacheRead: 1_000_000n,
      cacheWrite5m: 1_000_000n,
      cacheWrite1h: 1_000_000n,
      audioInput: 1_000_000n,
      output: 2_000_000n
    } as never)
    assert.strictEqual(rates({ cache_write: 1.25 }).cacheWrite1h, 1_250_000n)
    assert.strictEqual(rates({ input: 0, output: "0" }).output, 0n)
  })

  it("applies a price tier to the whole request once the prompt, cached tokens included, exceeds it", () => {
    const tiers = [{ above_prompt_tokens: 100, input: 3, output: 4, cache_read: 0.5 }]
    const { price } = only(catalogWith({ price: { cache_read: 0.1, tiers } })).endpoints[0]
    const cost = (input: number) => costOf(price, { ...none, input, cacheRead: 50, output: 1 })
    assert.strictEqual(cost(50), 50n * 1_000_000n + 50n * 100_000n + 2_000_000n)
    assert.strictEqual(cost(51), 51n * 3_000_000n + 50n * 500_000n + 4_000_000n)
    assert.strictEqual(price.tiers[0]?.rates.cacheWrite1h, 3_000_000n)
  })

  it.prop(
    "keeps every price of six decimals exactly, written as a number or as a string",
    { millionths: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999_999_999 })) },
    ({ millionths }) => {
      const digits = String(millionths).padStart(7, "0")
      const text = `${digits.slice(0, -6)}.${digits.slice(-6)}`
      const inputRate = (input: number | string): Price["rates"]["input"] =>
        only(catalogWith({ price: { input } })).endpoints[0].price.rates.input
      assert.strictEqual(inputRate(text), BigInt(millionths))
      assert.strictEqual(inputRate(JSON.parse(text)), BigInt(millionths))
    }
  )
})
