import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { count, fromInclusive, promptTokens } from "../../src/domain/Usage.ts"

const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 }))
const Counts = {
  prompt: Tokens,
  completion: Tokens,
  cacheRead: Tokens,
  cacheWrite5m: Tokens,
  cacheWrite1h: Tokens,
  audioInput: Tokens,
  reasoning: Tokens
}

describe("Usage", () => {
  it.prop(
    "splits an inclusive prompt total into buckets that add up to it, whatever the parts are",
    Counts,
    (counts) => {
      const usage = fromInclusive(counts)
      assert.strictEqual(promptTokens(usage), counts.prompt)
      assert.strictEqual(usage.output, counts.completion)
      assert.isTrue(Object.values(usage).every((tokens) => tokens >= 0) && usage.reasoning <= usage.output)
    }
  )

  it("subtracts cached tokens from the input", () => {
    const usage = fromInclusive({ prompt: 100, completion: 10, cacheRead: 60, cacheWrite5m: 30, reasoning: 4 })
    assert.deepStrictEqual(
      [usage.input, usage.cacheRead, usage.cacheWrite5m, usage.output, usage.reasoning],
      [10, 60, 30, 10, 4]
    )
  })

  it("counts zero if a provider sent no sensible number", () => {
    for (const nonsense of [null, undefined, "7", NaN, Infinity, -1, {}]) assert.strictEqual(count(nonsense), 0)
    assert.strictEqual(count(7.9), 7)
  })
})
