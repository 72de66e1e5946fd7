import { assert, describe, it } from "@effect/vitest"

import {
  type Effort,
  effortOfBudget,
  efforts,
  nearestEffort,
  normalise,
  type ReasoningFields,
  type ReasoningTier,
  reasoningTierOf
} from "../../src/domain/Reasoning.ts"

/** The rules for a routed request: its fields, what they become, and the tier that candidates must serve. */
const routed: ReadonlyArray<
  readonly [fields: ReasoningFields, normalised: object | undefined, tier: ReasoningTier | undefined]
> = [
  [{}, { enabled: true, effort: "high", exclude: false }, "high"],
  [{ reasoning: {} }, { exclude: false }, undefined],
  [{ reasoning: { exclude: true } }, { exclude: true }, undefined],
  [{ reasoning: { enabled: true } }, { enabled: true, exclude: false }, undefined],
  [{ reasoning: { enabled: false } }, { enabled: false, exclude: false }, "none"],
  [{ reasoning: { enabled: false, effort: "high" } }, { enabled: false, effort: "high", exclude: false }, "none"],
  [{ reasoning: { effort: "none" } }, { effort: "none", exclude: false }, "none"],
  [{ reasoningEffort: "none" }, { effort: "none", exclude: false }, "none"],
  [{ reasoningEffort: "minimal" }, { effort: "minimal", exclude: false }, "low"],
  [{ reasoningEffort: "low" }, { effort: "low", exclude: false }, "low"],
  [{ reasoningEffort: "medium" }, { effort: "medium", exclude: false }, "high"],
  [{ reasoningEffort: "xhigh" }, { effort: "xhigh", exclude: false }, "high"],
  [{ reasoning: { effort: "low" }, reasoningEffort: "high" }, { effort: "low", exclude: false }, "low"],
  [{ reasoning: {}, reasoningEffort: "high" }, { exclude: false }, undefined],
  [{ reasoning: { maxTokens: 0 } }, { maxTokens: 0, exclude: false }, "none"],
  [{ reasoning: { maxTokens: 4_095 } }, { maxTokens: 4_095, exclude: false }, "low"],
  [{ reasoning: { maxTokens: 4_096 } }, { maxTokens: 4_096, exclude: false }, "high"],
  [{ reasoning: { maxTokens: 9, effort: "high" } }, { maxTokens: 9, effort: "high", exclude: false }, "high"]
]

describe("Reasoning", () => {
  for (const [fields, normalised, tier] of routed) {
    it(`reads ${JSON.stringify(fields)} as tier ${tier ?? "open"}`, () => {
      const reasoning = normalise(fields, { routed: true })
      assert.deepStrictEqual(reasoning, normalised as typeof reasoning)
      assert.strictEqual(reasoningTierOf(reasoning), tier)
    })
  }

  it("leaves reasoning unset if a direct call omits both fields, and reads all else as on a routed request", () => {
    assert.isUndefined(normalise({}, { routed: false }))
    for (const [fields] of routed.slice(1)) {
      assert.deepStrictEqual(normalise(fields, { routed: false }), normalise(fields, { routed: true }))
    }
  })

  it("chooses the nearest level a model knows, at or below the requested one if possible", () => {
    const nearest = (requested: Effort, ...levels: ReadonlyArray<string>) => nearestEffort(requested, levels)
    // A level of the tier that was asked for comes before a nearer one of another tier.
    assert.strictEqual(nearest("medium", "high", "low"), "high")
    assert.strictEqual(nearest("medium", "low", "minimal"), "low")
    assert.strictEqual(nearest("low", "max", "high"), "high")
    assert.strictEqual(nearest("xhigh", "low", "high", "max"), "high")
    assert.strictEqual(nearest("xhigh", "max"), "max")
    assert.strictEqual(nearest("minimal", "low", "medium"), "low")
    assert.isUndefined(nearest("high"))
  })

  it("turns a budget into a higher effort, the larger its share of the output", () => {
    const found = [0, 500, 2_000, 4_100, 7_000, 9_500].map((budget) => effortOfBudget(budget, 10_000))
    assert.deepStrictEqual(found, [...efforts])
  })

  it("keeps the effort of a budget in the budget's tier, however many tokens the answer may have", () => {
    assert.deepStrictEqual(
      [effortOfBudget(1_500, 1_600), effortOfBudget(4_095, 5_000), effortOfBudget(8_000, 128_000)],
      ["low", "low", "medium"]
    )
  })
})
