import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { loadCatalog, loadCatalogFiles } from "../../src/catalog/Catalog.ts"
import { costOf } from "../../src/catalog/Price.ts"
import { none } from "../../src/domain/Usage.ts"
import { readText } from "../support/SourceTree.ts"

const provider = { id: "acme", protocol: "openai-chat", base_url: "https://api.acme.dev/v1" }
const priced = { price_usd_per_mtok: { input: "0.02" } }

const catalogWith = (model: object = {}, endpoint: object = priced) => ({
  providers: [provider],
  embedding_models: [{ id: "eye", context_window: 512, endpoints: [{ provider: "acme", ...endpoint }], ...model }]
})

const only = (json: unknown) =>
  Result.getOrThrow(loadCatalogFiles([json])).models.get("eye") ?? assert.fail("not loaded")

/** What is wrong, the path that is reported, and a part of the message. */
const faults: Record<string, readonly [json: unknown, path: string, message: string]> = {
  "no price": [catalogWith({}, {}), "embedding_models[0].endpoints[0].price_usd_per_mtok", "Missing"],
  "a price for output": [
    catalogWith({}, { price_usd_per_mtok: { input: 1, output: 1 } }),
    "embedding_models[0].endpoints[0].price_usd_per_mtok.output",
    "Unexpected"
  ],
  "an absurd price": [
    catalogWith({ context_window: 8_192 }, { price_usd_per_mtok: { input: 999_999 } }),
    "embedding_models[0].endpoints[0]",
    "100,000 USD"
  ],
  "no limit of an input": [
    { ...catalogWith(), embedding_models: [{ id: "eye", endpoints: [{ provider: "acme", ...priced }] }] },
    "embedding_models[0].context_window",
    "Missing"
  ],
  "a least length above the usual": [
    catalogWith({ dimensions: 64, min_dimensions: 65 }),
    "embedding_models[0].min_dimensions",
    "must not be above"
  ],
  "a least length alone": [catalogWith({ min_dimensions: 8 }), "embedding_models[0].min_dimensions", "goes with"],
  tools: [catalogWith({ tools: true }), "embedding_models[0].tools", "Unexpected"],
  "the id of a chat model": [catalogWith({ id: "gpt-5-mini" }), "embedding_models[0].id", "is a chat model already"],
  "one id twice": [
    { providers: [provider], embedding_models: Array(2).fill(catalogWith().embedding_models[0]) },
    "embedding_models[1].id",
    "is already embedding_models[0]"
  ]
}

describe("embedding models of a catalog file", () => {
  for (const [name, [json, path, message]] of Object.entries(faults)) {
    it(`are refused with the path for ${name}`, () => {
      const error = Result.getOrThrow(Result.flip(loadCatalog(JSON.stringify(json))))
      assert.strictEqual(error.path, path)
      assert.include(error.message, message)
    })
  }

  it("take texts, through the embeddings protocol, and cost nothing but their input", () => {
    const { dimensions, endpoints, kind, modalities, takesTokens } = only(catalogWith())
    assert.deepStrictEqual([kind, modalities, takesTokens], ["embedding", { image: false, audio: false }, false])
    assert.isUndefined(dimensions)
    const [{ contextWindow, id, maxOutputTokens, price, protocol, upstream }] = endpoints
    assert.deepStrictEqual([String(id), protocol, upstream], ["acme/eye", "openai-embeddings", "eye"])
    assert.deepStrictEqual([contextWindow, maxOutputTokens], [512, 0])
    assert.strictEqual(costOf(price, { ...none, input: 3, output: 100 }), 60_000n as never)
    const adjustable = only(catalogWith({ dimensions: 64, min_dimensions: 8, token_input: true }))
    assert.deepStrictEqual([adjustable.dimensions, adjustable.takesTokens], [{ usual: 64, min: 8 }, true])
  })

  it("load from the example that the manual shows", () => {
    const { models } = Result.getOrThrow(loadCatalog(readText("examples/catalog/own-servers.json")))
    assert.strictEqual(models.get("nomic-local")?.kind, "embedding")
  })
})

/** Picodollars per token, and the lengths of vectors. Written by hand, not read from the file. */
const spotFacts: Record<string, readonly [bigint, number, number | undefined]> = {
  "text-embedding-3-small": [20_000n, 1_536, 1],
  "text-embedding-3-large": [130_000n, 3_072, 1],
  "text-embedding-ada-002": [100_000n, 1_536, undefined],
  "mistral-embed": [100_000n, 1_024, undefined],
  "gemini-embedding-001": [150_000n, 3_072, 128],
  "bge-m3": [10_000n, 1_024, undefined],
  "qwen3-embedding-4b": [20_000n, 2_560, 32]
}

describe("the shipped embedding models", () => {
  const shipped = [...Result.getOrThrow(loadCatalog()).models.values()].filter(({ kind }) => kind === "embedding")

  it("are these, at these prices, which are the same at every endpoint", () => {
    const facts = shipped.map(({ dimensions, endpoints, id }) => {
      const inputs = new Set(endpoints.map(({ price }) => price.rates.input))
      assert.strictEqual(inputs.size, 1, id)
      return [id, [...inputs, dimensions?.usual, dimensions?.min]]
    })
    assert.deepStrictEqual(Object.fromEntries(facts), spotFacts)
  })
})
