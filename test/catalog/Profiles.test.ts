/** The shipped profiles are complete, state their origin, and rank well-known models as the published figures do. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import shipped from "../../src/catalog/catalog.json" with { type: "json" }
import { type CatalogFile, catalogFileFromJson } from "../../src/catalog/CatalogFile.ts"
import { type Axis, axes, type Profile } from "../../src/catalog/Model.ts"
import type { ReasoningTier } from "../../src/domain/Reasoning.ts"
import { sources as figureSources } from "../../tools/capability-profiles/Figures.ts"
import profiledModelsFile from "../../tools/capability-profiles/models.json" with { type: "json" }
import type { ProfiledModels } from "../../tools/capability-profiles/ProfileDerivation.ts"

type Entry = NonNullable<CatalogFile["models"]>[number]

const models = Result.getOrThrow(catalogFileFromJson(shipped)).models ?? []
const profiledModels: ProfiledModels = profiledModelsFile
const served = ({ reasoning }: Entry): ReadonlyArray<ReasoningTier> => [
  ...(reasoning?.support === "always" ? [] : (["none"] as const)),
  ...((reasoning?.support ?? "none") === "none" ? [] : (["low", "high"] as const))
]

const profile = (id: string, tier: ReasoningTier): Profile => {
  const found = models.find((model) => model.id === id)?.profiles?.[tier]
  if (found === undefined) throw new Error(`${id} has no profile at tier ${tier}`)
  return found
}

const estimatedAt = ({ profile_estimates: estimates = [] }: Entry, tier: ReasoningTier): ReadonlyArray<Axis> =>
  estimates.flatMap((estimate) => (estimate.tiers.includes(tier) ? (estimate.axes ?? axes) : []))

describe("the shipped profiles", () => {
  it("exist for every tier that a model serves", () => {
    for (const model of models) assert.deepStrictEqual(Object.keys(model.profiles ?? {}), [...served(model)], model.id)
  })

  it("name the source and date of every measured level, and list every other level as an estimate once", () => {
    for (const model of models) {
      const sources = model.profile_sources ?? []
      for (const { date, name, tiers } of sources) {
        assert.strictEqual(new Map<string, { date: string }>(Object.entries(figureSources)).get(name)?.date, date, name)
        assert.isTrue(tiers.length > 0 && tiers.every((tier) => served(model).includes(tier)), `${model.id} ${name}`)
      }
      for (const tier of served(model)) {
        const estimated = estimatedAt(model, tier)
        assert.lengthOf(new Set(estimated), estimated.length, `${model.id} ${tier}: an axis is estimated twice`)
        const isMeasured = sources.some(({ tiers }) => tiers.includes(tier))
        assert.strictEqual(isMeasured, estimated.length < axes.length, `${model.id} ${tier}`)
      }
    }
  })

  it("are estimated from a model that was measured itself, or from other figures of the same model", () => {
    for (const { id, profile_estimates: estimates = [], profile_sources: sources = [] } of models) {
      for (const { from } of estimates) {
        assert.isTrue(
          from === undefined ? sources.length > 0 : profiledModels[from]?.rows !== undefined,
          `${id} ${from}`
        )
      }
    }
  })

  it("are measured for most models, and for most levels of those models", () => {
    const measured = models.filter(({ profile_sources: sources = [] }) => sources.length > 0)
    const estimated = measured.flatMap((model) => served(model).flatMap((tier) => estimatedAt(model, tier)))
    assert.isAbove(measured.length, models.length / 2)
    assert.isBelow(estimated.length, measured.flatMap((model) => served(model).flatMap(() => axes)).length / 2)
  })

  it("leave headroom above the best models, and separate strong from weak models on every axis", () => {
    const all = models.flatMap(({ profiles = {} }) => Object.values(profiles))
    for (const axis of axes) {
      const levels = all.map((levels) => levels[axis])
      assert.isTrue(Math.max(...levels) > 0.8 && Math.max(...levels) < 0.97, `${axis} ${Math.max(...levels)}`)
      assert.isBelow(Math.min(...levels), 0.25, axis)
    }
  })

  it("never rate a higher reasoning tier lower", () => {
    for (const { id, profiles = {} } of models) {
      const ascending = [profiles.none, profiles.low, profiles.high].flatMap((each) => each ?? [])
      for (const [index, higher] of ascending.entries()) {
        for (const axis of axes) assert.isAtLeast(higher[axis], ascending[index - 1]?.[axis] ?? 0, `${id} ${axis}`)
      }
    }
  })
})

/** Models in descending order of skill. */
const orders: ReadonlyArray<readonly [Axis, ReasoningTier, ReadonlyArray<string>]> = [
  ["coding", "high", ["gpt-5.5", "gpt-5.4-mini", "gpt-5-nano"]],
  ["coding", "high", ["gpt-5.4", "gpt-5-mini", "gpt-5-nano", "gpt-oss-20b"]],
  ["coding", "high", ["claude-opus-4-8", "claude-haiku-4-5"]],
  ["coding", "none", ["gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"]],
  ["math", "high", ["gpt-5.5", "gpt-5.1", "gpt-5-mini", "gpt-5-nano"]],
  ["math", "high", ["gemini-3.1-pro-preview", "gemini-2.5-flash", "gemini-2.5-flash-lite"]],
  ["reasoning", "high", ["claude-opus-4-8", "claude-sonnet-4-6", "claude-sonnet-4-5", "claude-haiku-4-5"]],
  ["reasoning", "high", ["deepseek-v4-pro", "grok-4.3", "gpt-oss-120b", "gpt-oss-20b"]],
  ["knowledge", "high", ["gemini-3.1-pro-preview", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"]],
  ["creative", "high", ["gemini-2.5-pro", "gemini-2.5-flash", "gpt-oss-120b", "gpt-oss-20b"]],
  ["multilingual", "none", ["gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"]],
  ["instruction", "high", ["gemini-3.1-pro-preview", "gpt-5-mini", "gpt-5-nano"]],
  ["agentic", "none", ["claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5", "gpt-4.1-mini", "nova-pro"]]
]

describe("the scale", () => {
  it.each(orders)("ranks well-known models in the known order: %s at tier %s", (axis, tier, order) => {
    for (const [index, weaker] of order.entries()) {
      const stronger = order[index - 1]
      if (stronger !== undefined) {
        assert.isAbove(profile(stronger, tier)[axis], profile(weaker, tier)[axis] + 0.03, `${stronger} ${weaker}`)
      }
    }
  })

  it("rates small and old models low on every axis", () => {
    for (const id of ["gpt-4o-mini", "llama-3.3-70b-versatile", "nova-pro", "gpt-4.1-nano"]) {
      for (const axis of axes) assert.isBelow(profile(id, "none")[axis], 0.3, `${id} ${axis}`)
    }
  })
})
