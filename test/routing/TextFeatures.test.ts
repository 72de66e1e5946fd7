import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { surfaceFeatureCount, writeSurfaceFeatures } from "../../src/routing/SurfaceFeatures.ts"
import { extractTextFeatures, makeTextFeatures } from "../../src/routing/TextFeatures.ts"
import { requestOf } from "./TestModels.ts"

const extract = (text: string, features = makeTextFeatures()) => {
  extractTextFeatures(requestOf(text), features)
  const found = Array.from(features.used.subarray(0, features.usedCount)).sort((a, b) => a - b)
  return { features, found, counts: found.map((bucket) => features.counts[bucket] ?? 0) }
}

const Codes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })))

describe("TextFeatures", () => {
  it("ignores case, and treats all digits alike", () => {
    const { found } = extract("Sort 128 NUMBERS in Rust")
    assert.deepStrictEqual(extract("sort 945 numbers in rust").found, found)
    assert.notDeepEqual(extract("sort 1280 numbers in rust").found, found)
  })

  it("counts words, numbers, options and sentences", () => {
    const { features } = extract("Add 1.5 and 1,000 to 7.\nA. one\nB) two\n今天")
    assert.deepStrictEqual(
      {
        words: features.words,
        numbers: features.numbers,
        separators: features.separators,
        options: features.enumerators
      },
      { words: 14, numbers: 3, separators: 2, options: 2 }
    )
  })

  it("recognises a text that ends with a colon", () => {
    for (const text of ["A. 4\nB. 5\nAnswer:", "答案： \n"]) assert.isTrue(extract(text).features.endsWithColon)
    for (const text of ["Answer: 5", "a : b", "", " \n"]) assert.isFalse(extract(text).features.endsWithColon)
  })

  it.prop(
    "gives the same features for a text whatever the buffers held before",
    { before: Codes, codes: Codes },
    ({ before, codes }) => {
      // Any code units at all, lone surrogates among them.
      const [text, used] = [String.fromCharCode(...codes), makeTextFeatures()]
      extract(String.fromCharCode(...before), used)
      const [fresh, again] = [extract(text), extract(text, used)]
      assert.deepStrictEqual(again.counts, fresh.counts)
      assert.deepStrictEqual(again.found, fresh.found)
      const total = again.counts.reduce((sum, count) => sum + count, 0)
      assert.approximately(total, again.features.total, 1e-3)
      const surface = new Float32Array(surfaceFeatureCount)
      writeSurfaceFeatures(again.features, surface)
      assert.isTrue(surface.every((value) => value >= 0 && value < 2))
    }
  )
})
