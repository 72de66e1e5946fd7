import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import type { Price } from "../../src/catalog/Price.ts"
import type { EmbeddingRequest } from "../../src/domain/Embedding.ts"
import { picodollars } from "../../src/domain/Money.ts"
import { textTokens } from "../../src/domain/TokenCount.ts"
import { none } from "../../src/domain/Usage.ts"
import {
  billedEmbedding,
  embeddingSizeOf,
  estimateEmbedding,
  worstEmbedding
} from "../../src/ledger/EmbeddingPricing.ts"

const [free, rate] = [picodollars(0n), picodollars(7n)]
const rates = { input: rate, cacheRead: rate, cacheWrite5m: rate, cacheWrite1h: rate, audioInput: rate, output: free }
const price: Price = { rates, tiers: [] }
const endpoint = { price, contextWindow: 100 }

const billed = (inputs: EmbeddingRequest["inputs"], reported: number | undefined) =>
  billedEmbedding(embeddingSizeOf({ inputs }), {
    vectors: [],
    usage: reported === undefined ? undefined : { ...none, input: reported }
  })

describe("the tokens of embeddings", () => {
  it("are counted exactly where they were sent as tokens", () => {
    const size = embeddingSizeOf({ inputs: [[1, 2, 3], [4]] })
    assert.deepStrictEqual([size.counted, size.expected], [4, 4])
    assert.strictEqual(estimateEmbedding(endpoint, size, 2), picodollars(28n))
  })

  it.prop(
    "of texts are held with a margin, and are never more than their bytes and a few",
    { texts: Schema.NonEmptyArray(Schema.NonEmptyString) },
    ({ texts }) => {
      const size = embeddingSizeOf({ inputs: texts })
      const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
      assert.strictEqual(
        size.counted,
        texts.map(textTokens).reduce((sum, tokens) => sum + tokens, 0)
      )
      assert.isAtLeast(size.expected, Math.min(size.counted, size.most))
      assert.isAtMost(size.expected, size.most)
      assert.strictEqual(size.most, bytes + 16 * texts.length)
      const [held, worst] = [estimateEmbedding, worstEmbedding].map((of) => of(endpoint, size, texts.length))
      assert.isTrue((held ?? 0n) <= (worst ?? 0n))
      assert.isTrue((worst ?? 0n) <= 7n * 100n * BigInt(texts.length))
    }
  )

  it("are billed as the provider counted them, as far as that can be right", () => {
    const inputs = ["Hello there"]
    const own = textTokens("Hello there")
    assert.deepStrictEqual(billed(inputs, 5), { usage: { ...none, input: 5 }, estimated: false })
    // Eleven bytes, and sixteen tokens that a model may put around them.
    assert.deepStrictEqual(billed(inputs, 27), { usage: { ...none, input: 27 }, estimated: false })
    const tooMany = { usage: { ...none, input: own }, estimated: true, implausible: { ...none, input: 28 } }
    assert.deepStrictEqual(billed(inputs, 28), tooMany)
    assert.deepStrictEqual(billed(inputs, 0), { ...tooMany, implausible: none })
    assert.deepStrictEqual(billed(inputs, undefined), {
      usage: { ...none, input: own },
      estimated: true,
      unreported: true
    })
  })
})
