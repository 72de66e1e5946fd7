import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { surfaceCount, surfaceOf } from "../../src/routing/SurfaceFeatures.ts"
import { makeTextFeatures, readTextFeatures } from "../../src/routing/TextFeatures.ts"
import { requestOf } from "./TestModels.ts"

const read = (text: string, features = makeTextFeatures()) => {
  readTextFeatures(requestOf(text), features)
  const found = Array.from(features.touched.subarray(0, features.touchedCount)).sort((a, b) => a - b)
  return { features, found, counts: found.map((bucket) => features.counts[bucket] ?? 0) }
}

const Codes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })))

describe("TextFeatures", () => {
  it("does not mind case, and takes one digit for another", () => {
    const { found } = read("Sort 128 NUMBERS in Rust")
    assert.deepStrictEqual(read("sort 945 numbers in rust").found, found)
    assert.notDeepEqual(read("sort 1280 numbers in rust").found, found)
  })

  it("counts words, numbers, options and sentences", () => {
    const { features } = read("Add 1.5 and 1,000 to 7.\nA. one\nB) two\n今天")
    assert.deepStrictEqual(
      { words: features.words, numbers: features.numbers, joins: features.joins, options: features.enumerators },
      { words: 14, numbers: 3, joins: 2, options: 2 }
    )
  })

  it("sees that a text breaks off at a colon, and that an answered one does not", () => {
    for (const text of ["A. 4\nB. 5\nAnswer:", "答案： \n"]) assert.isTrue(read(text).features.endsOpen)
    for (const text of ["Answer: 5", "a : b", "", " \n"]) assert.isFalse(read(text).features.endsOpen)
  })

  it.prop(
    "finds the same in any text whatever it read before",
    { before: Codes, codes: Codes },
    ({ before, codes }) => {
      // Any code units at all, lone surrogates among them.
      const [text, used] = [String.fromCharCode(...codes), makeTextFeatures()]
      read(String.fromCharCode(...before), used)
      const [fresh, again] = [read(text), read(text, used)]
      assert.deepStrictEqual(again.counts, fresh.counts)
      assert.deepStrictEqual(again.found, fresh.found)
      const total = again.counts.reduce((sum, count) => sum + count, 0)
      assert.approximately(total, again.features.total, 1e-3)
      const surface = new Float32Array(surfaceCount)
      surfaceOf(again.features, surface)
      assert.isTrue(surface.every((value) => value >= 0 && value < 2))
    }
  )
})
