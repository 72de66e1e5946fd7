import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import type { Price, Rates } from "../../src/catalog/Price.ts"
import { picodollars } from "../../src/domain/Money.ts"
import { none } from "../../src/domain/Usage.ts"
import {
  affordableOutput,
  chargeForDelivered,
  defaultOutputTokens,
  estimate,
  estimateLikely,
  shortAnswerTokens
} from "../../src/ledger/Pricing.ts"

const rates = (input: bigint, audioInput: bigint, output: bigint): Rates => ({
  input: picodollars(input),
  cacheRead: picodollars(input / 10n),
  cacheWrite5m: picodollars(input),
  cacheWrite1h: picodollars(input),
  audioInput: picodollars(audioInput),
  output: picodollars(output)
})

const tierStart = 200_000
const price: Price = {
  rates: rates(3_000_000n, 10_000_000n, 15_000_000n),
  tiers: [{ abovePromptTokens: tierStart, rates: rates(6_000_000n, 20_000_000n, 22_500_000n) }]
}

const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const Tier = Schema.UndefinedOr(Schema.Literals(["none", "low", "high"]))
const Expected = Schema.Struct({
  modelMaxOutputTokens: Tokens,
  promptTokens: Tokens,
  audioTokens: Tokens,
  maxOutputTokens: Schema.UndefinedOr(Tokens),
  tier: Tier
})

describe("estimate", () => {
  const plain = { price, modelMaxOutputTokens: 64_000, promptTokens: 1_000, tier: "none" } as const

  it("multiplies every part of the request by its own price", () => {
    const cases = [
      [{ ...plain, maxOutputTokens: 10 }, 1_000n * 3_000_000n + 10n * 15_000_000n],
      [{ ...plain, maxOutputTokens: 0 }, 1_000n * 3_000_000n],
      [{ ...plain, audioTokens: 400, maxOutputTokens: 10 }, 600n * 3_000_000n + 400n * 10_000_000n + 10n * 15_000_000n],
      [plain, 1_000n * 3_000_000n + 1_024n * 15_000_000n],
      [{ ...plain, tier: "low" }, 1_000n * 3_000_000n + 2_048n * 15_000_000n],
      [{ ...plain, tier: undefined }, 1_000n * 3_000_000n + 2_048n * 15_000_000n],
      [{ ...plain, tier: "high" }, 1_000n * 3_000_000n + 8_192n * 15_000_000n],
      [{ ...plain, tier: "high", modelMaxOutputTokens: 4_096 }, 1_000n * 3_000_000n + 4_096n * 15_000_000n],
      [{ ...plain, maxOutputTokens: 90_000 }, 1_000n * 3_000_000n + 64_000n * 15_000_000n]
    ] as const
    for (const [expectation, expected] of cases) assert.strictEqual(estimate(expectation), expected)
  })

  it("prices the whole request at the higher rates once the prompt, audio included, is past the threshold", () => {
    const at = (promptTokens: number) => estimate({ ...plain, promptTokens, audioTokens: 1_000, maxOutputTokens: 1 })
    assert.strictEqual(at(tierStart), 199_000n * 3_000_000n + 1_000n * 10_000_000n + 15_000_000n)
    assert.strictEqual(at(tierStart + 1), 199_001n * 6_000_000n + 1_000n * 20_000_000n + 22_500_000n)
  })

  it.prop(
    "is never negative, and never falls when the prompt, the output or the reasoning grows",
    { expected: Expected },
    ({ expected }) => {
      const now = estimate({ price, ...expected })
      assert.isTrue(now >= 0n)
      const more = [
        { promptTokens: expected.promptTokens + 1 },
        { modelMaxOutputTokens: expected.modelMaxOutputTokens + 1 },
        { maxOutputTokens: (expected.maxOutputTokens ?? defaultOutputTokens[expected.tier ?? "low"]) + 1 },
        { tier: "high" as const }
      ]
      for (const change of more) assert.isTrue(estimate({ price, ...expected, ...change }) >= now)
    }
  )
})

describe("estimateLikely", () => {
  it.prop(
    "is the estimate of the output that is likely, with the whole prompt, and never more than the estimate",
    { expected: Expected, likely: Tokens },
    ({ expected, likely }) => {
      const whole = { price, ...expected }
      const estimated = estimateLikely(whole, likely)
      assert.isTrue(estimated <= estimate(whole))
      assert.isTrue(estimated === estimate(whole) || estimated === estimate({ ...whole, maxOutputTokens: likely }))
      assert.isTrue(estimated >= estimate({ ...whole, maxOutputTokens: 0 }))
      assert.strictEqual(estimateLikely(whole, undefined), estimate(whole))
    }
  )
})

describe("affordableOutput", () => {
  it.prop(
    "is the most output that the amount pays for, unless that is less than a short answer",
    { expected: Expected, share: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_200 })) },
    ({ expected, share }) => {
      const whole = { price, ...expected }
      const amount = picodollars((estimate(whole) * BigInt(share)) / 1_000n)
      const costs = (maxOutputTokens: number) => estimate({ ...whole, maxOutputTokens })
      const asked = expected.maxOutputTokens ?? defaultOutputTokens[expected.tier ?? "low"]
      const most = Math.min(asked, expected.modelMaxOutputTokens)
      const tokens = affordableOutput(whole, amount)
      if (tokens === undefined) return assert.isTrue(costs(Math.min(most, shortAnswerTokens)) > amount)
      assert.isTrue(costs(tokens) <= amount && tokens <= most)
      assert.isTrue(tokens === most || costs(tokens + 1) > amount)
    }
  )
})

describe("chargeForDelivered", () => {
  it.prop("is the cost of what was delivered, and at most the hold", [Tokens, Tokens], ([heldTokens, output]) => {
    const held = picodollars(BigInt(heldTokens) * price.rates.output)
    const charge = chargeForDelivered({ price, held, delivered: { ...none, output } })
    assert.strictEqual(charge, BigInt(Math.min(heldTokens, output)) * price.rates.output)
  })
})
