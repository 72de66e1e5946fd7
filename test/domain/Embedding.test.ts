import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { vectorFromBase64, vectorFromNumbers, vectorToBase64 } from "../../src/domain/Embedding.ts"

const Numbers = Schema.NonEmptyArray(Schema.Finite)

describe("a vector", () => {
  it.prop("is the same after base64, bit by bit, and a list of its numbers", { numbers: Numbers }, ({ numbers }) => {
    const vector = Float32Array.from(numbers, (value) => Math.fround(value))
    if (!vector.every((value) => Number.isFinite(value))) return
    const text = vectorToBase64(vector)
    assert.deepStrictEqual(vectorFromBase64(text), vector)
    assert.deepStrictEqual(vectorFromBase64(text.replace(/=+$/, "")), vector)
    assert.deepStrictEqual(vectorFromNumbers(Array.from(vector)), vector)
  })

  it("is written as OpenAI writes it: four bytes for a number, the lowest first", () => {
    assert.strictEqual(vectorToBase64(Float32Array.of(0.5, -0.25, 0.125)), "AAAAPwAAgL4AAAA+")
    // The part of a larger buffer is only that part.
    assert.strictEqual(vectorToBase64(Float32Array.of(9, 0.5, 9).subarray(1, 2)), "AAAAPw==")
  })

  it("is not made of anything else", () => {
    const nan = Buffer.from(Float32Array.of(Number.NaN).buffer).toString("base64")
    const infinite = Buffer.from(Float32Array.of(Infinity).buffer).toString("base64")
    for (const text of ["", "AAA", "AAAA", "AAAAPw===", "AAAA PwA", "AAAAPwA", "!AAAPw==", nan, infinite])
      assert.isUndefined(vectorFromBase64(text), text)
    for (const list of [[], ["1"], [1, null], [Number.NaN], [1e39]]) assert.isUndefined(vectorFromNumbers(list))
  })
})
