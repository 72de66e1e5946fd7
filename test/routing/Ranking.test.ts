import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import type { Model } from "../../src/catalog/Model.ts"
import type { ChatRequest } from "../../src/domain/Conversation.ts"
import { modelId } from "../../src/domain/Ids.ts"
import { calibrated } from "../../src/routing/CalibratedDemand.ts"
import type { DemandModel } from "../../src/routing/Demand.ts"
import { bandWidth, rankModels, shortfall, uncertainties, type Ranking } from "../../src/routing/Ranking.ts"
import type { RoutingRequest } from "../../src/routing/RoutingRequest.ts"
import { askOf, audio, endpointAt, flatProfile, image, modelOf, requestOf, tool } from "./TestModels.ts"

/** Asks the same of every request. */
const demandOf = (level: number, difficulty = 0.5): DemandModel => ({
  predict: () => ({ levels: flatProfile(level), difficulty })
})

const blind: DemandModel = {
  predict: () => {
    throw new Error("the conversation must not be looked at")
  }
}

const order = (
  models: ReadonlyArray<Model>,
  demand: DemandModel = demandOf(0.6),
  ask: RoutingRequest = askOf(requestOf("Hi"))
) => rankModels(models, ask, demand).candidates.map(({ band, model }) => `${band} ${model.id}`)

const Skill = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const Pool = Schema.Array(
  Schema.Struct({ skill: Skill, rate: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })) })
).check(Schema.isMaxLength(12))

const poolOf = (pool: typeof Pool.Type) =>
  pool.map(({ rate, skill }, index) => modelOf(`m${index}`, { skill, rate: BigInt(rate) }))

describe("Ranking", () => {
  it("measures what a model lacks, and weighs an axis by what is asked of it", () => {
    const asked = flatProfile(0, { coding: 0.8, math: 0.4 })
    const of = (coding: number, math: number): number => shortfall(asked)(flatProfile(0, { coding, math }))
    // Axes of which nothing is asked do not matter.
    assert.strictEqual(of(1, 1), 0)
    assert.isAbove(of(0, 1), of(1, 0))
    // What has every skill lacks nothing; what has none of what is asked lacks about all of it.
    assert.strictEqual(shortfall(asked)(flatProfile(1)), 0)
    assert.approximately(shortfall(asked, 0.01)(flatProfile(0)), Math.sqrt((0.8 ** 4 + 0.4 ** 4) / 0.8), 0.01)
    // The same gap counts more where more is asked.
    assert.isAbove(of(0.5, 0.7), of(0.8, 0.4))
    assert.strictEqual(shortfall(flatProfile(0))(flatProfile(0)), 0)
  })

  it.prop(
    "never moves a model away for being better, and tells models apart that are all good enough",
    { level: Skill, skill: Skill, more: Skill },
    ({ level, more, skill }) => {
      const levels = flatProfile(level, { math: 0.9 })
      const better = flatProfile(skill, { math: Math.min(1, skill + more) })
      const distance = shortfall(levels)
      const [near, far] = [distance(better), distance(flatProfile(skill))]
      assert.isTrue(more > 0.01 && skill < 0.9 ? near < far : near <= far)
    }
  )

  it("puts the smaller shortfall first, then the lower cost, then the id", () => {
    const models = [
      modelOf("weak-free", { skill: 0.4, rate: 0n }),
      modelOf("good-b", { skill: 0.7, rate: 5n }),
      modelOf("good-a", { skill: 0.72, rate: 5n }),
      modelOf("good-cheap", { skill: 0.68, rate: 4n })
    ]
    assert.deepStrictEqual(order(models), ["0 good-cheap", "0 good-a", "0 good-b", "1 weak-free"])
  })

  it.prop(
    "measures a band from its best member, so that it never grows beyond its width",
    { pool: Pool },
    ({ pool }) => {
      const asked = { levels: flatProfile(0.5), difficulty: 0.5 }
      const distanceOf = shortfall(calibrated(asked).levels, uncertainties.ofManyPrompts)
      const { candidates } = rankModels(poolOf(pool), askOf(requestOf("Hi")), { predict: () => asked })
      const bands = [...Map.groupBy(candidates, ({ band }) => band).values()].map((band) =>
        band.map(({ model }) => distanceOf(model.profiles.none ?? flatProfile(0)))
      )
      const nearest = bands.map((band) => Math.min(...band))
      bands.forEach((band, at) => {
        for (const distance of band) assert.isAtMost(distance - (nearest[at] ?? 0), bandWidth)
        if (at > 0) assert.isAbove((nearest[at] ?? 0) - (nearest[at - 1] ?? 0), bandWidth)
      })
    }
  )

  it("takes the cheapest of those that are far better than an easy request needs, however they differ", () => {
    const models = poolOf([
      { skill: 0.6, rate: 1 },
      { skill: 0.95, rate: 2 }
    ])
    const easy = demandOf(0.1, 0.1)
    assert.deepStrictEqual(order(models, easy), ["0 m0", "0 m1"])
    // For themselves they do differ, by more than a band.
    const [worse, better] = rankModels(models, askOf(requestOf("Hi")), easy).candidates
    assert.isAbove((worse?.distance ?? 0) - (better?.distance ?? 1), bandWidth)
  })

  it("gives requests that differ little the same order, and reports how they differ", () => {
    const models = poolOf([0.2, 0.4, 0.6, 0.8].map((skill, at) => ({ skill, rate: at })))
    const [one, other] = [0.5, 0.53].map((level) => rankModels(models, askOf(requestOf("Hi")), demandOf(level, level)))
    const ids = (ranking?: Ranking) => ranking?.candidates.map(({ model }) => model.id)
    assert.deepStrictEqual(ids(one), ids(other))
    assert.isBelow(one?.candidates[0]?.distance ?? 1, other?.candidates[0]?.distance ?? 0)
  })

  it("compares by the profile of the tier that is in force", () => {
    const thinker = {
      ...modelOf("thinker"),
      profiles: { none: flatProfile(0.1), low: flatProfile(0.2), high: flatProfile(0.9) }
    }
    const plain = modelOf("plain", { skill: 0.5 })
    const first = (effort?: "none" | "low" | "high") =>
      order(
        [thinker, plain],
        demandOf(0.9),
        askOf(requestOf("", { reasoning: { exclude: false, ...(effort && { effort }) } }))
      )[0]
    assert.strictEqual(first("high"), "0 thinker")
    assert.strictEqual(first("low"), "0 plain")
    assert.strictEqual(first("none"), "0 plain")
    // An open tier is compared by the cheapest the model serves.
    assert.strictEqual(first(), "0 plain")
    const always = { ...thinker, reasoning: { support: "always", efforts: [] } } as const
    assert.strictEqual(
      rankModels([always], askOf(requestOf("")), demandOf(0.2)).candidates[0]?.distance,
      shortfall(flatProfile(0.2))(thinker.profiles.low)
    )
  })

  it("expects the prompt, the answer and the thinking at the first endpoint's price", () => {
    const model = { ...modelOf("m"), endpoints: [endpointAt(7n), endpointAt(1n)] as Model["endpoints"] }
    const costOf = (parts: Parameters<typeof requestOf>[1], promptTokens = 100) =>
      rankModels([model], askOf(requestOf("", parts), { promptTokens }), demandOf(0.5)).candidates[0]?.cost ?? -1n
    assert.strictEqual(costOf({ maxOutputTokens: 1 }), 7n * 101n)
    assert.strictEqual(costOf({ maxOutputTokens: 1 }, 1_000), 7n * 1_001n)
    const none = costOf({ reasoning: { effort: "none", exclude: false } })
    const high = costOf({ reasoning: { effort: "high", exclude: false } })
    assert.isTrue(none > 7n * 200n && high > 5n * none)
  })

  it("does not look at a conversation with images or audio, and ranks by overall skill", () => {
    const models = [
      modelOf("strong", { skill: 0.9, rate: 9n }),
      modelOf("good-enough", { skill: 0.72, rate: 2n }),
      modelOf("weak", { skill: 0.3, rate: 0n }),
      modelOf("deaf", { modalities: { image: false, audio: false } })
    ]
    const ranking = rankModels(models, askOf(requestOf([image])), blind)
    assert.deepStrictEqual(
      ranking.candidates.map(({ model }) => String(model.id)),
      ["good-enough", "strong", "weak"]
    )
    assert.deepStrictEqual(ranking.excluded, [{ model: modelId("deaf"), because: "image_input" }])
    assert.isUndefined(ranking.features.demand)
  })

  it("lets a model that cannot think hear audio when none that hears it thinks", () => {
    const plain = modelOf("plain", {
      reasoning: { support: "none", efforts: [] },
      profiles: { none: flatProfile(0.5) }
    })
    const deaf = modelOf("deaf", { modalities: { image: true, audio: false } })
    const thinking = { reasoning: { effort: "high", exclude: false } } as const
    const heard = rankModels([plain, deaf], askOf(requestOf([audio], thinking)), blind)
    assert.deepStrictEqual(
      heard.candidates.map(({ model }) => String(model.id)),
      ["plain"]
    )
    assert.deepStrictEqual(heard.excluded, [{ model: modelId("deaf"), because: "audio_input" }])
    // Switched-off thinking is never switched on again.
    const stubborn = modelOf("stubborn", { reasoning: { support: "always", efforts: [] } })
    const off = { reasoning: { effort: "none", exclude: false } } as const
    assert.deepStrictEqual(rankModels([stubborn], askOf(requestOf([audio], off)), blind).candidates, [])
  })

  it("holds to the tier as long as any model of the catalog can serve it", () => {
    const plain = modelOf("plain", {
      reasoning: { support: "none", efforts: [] },
      profiles: { none: flatProfile(0.5) }
    })
    const thinker = modelOf("thinker", { tools: false })
    const asked = { reasoning: { effort: "low", exclude: false }, tools: [tool] } as const
    const ids = (
      models: ReadonlyArray<Model>,
      allowed?: RoutingRequest["allowed"],
      parts: Partial<ChatRequest> = asked
    ) =>
      rankModels(models, askOf(requestOf("Hi", parts), { allowed }), demandOf(0.5)).candidates.map(
        ({ model }) => model.id
      )
    assert.deepStrictEqual(ids([plain, thinker]), [])
    assert.deepStrictEqual(ids([plain]), [plain.id])
    assert.deepStrictEqual(ids([plain, thinker], new Set([plain.id])), [])
    const stubborn = modelOf("stubborn", { reasoning: { support: "always", efforts: [] } })
    const off = { reasoning: { enabled: false, exclude: false } } as const
    assert.deepStrictEqual(ids([stubborn], undefined, off), [])
  })

  it("answers an empty list with reasons when nothing is eligible", () => {
    const ranking = rankModels(
      [modelOf("b"), modelOf("a")],
      askOf(requestOf("Hi"), { allowed: new Set() }),
      demandOf(0.5)
    )
    assert.deepStrictEqual(ranking.candidates, [])
    assert.deepStrictEqual(
      ranking.excluded.map(({ because, model }) => `${model} ${because}`),
      ["a not_allowed", "b not_allowed"]
    )
    assert.deepStrictEqual(rankModels([], askOf(requestOf("Hi")), demandOf(0.5)).candidates, [])
  })

  it.prop("does not depend on the order of the catalog", { pool: Pool, level: Skill }, ({ level, pool }) => {
    const models = poolOf(pool)
    const shuffled = models.toSorted((a, b) =>
      a.id.split("").reverse().join("") < b.id.split("").reverse().join("") ? 1 : -1
    )
    assert.deepStrictEqual(order(shuffled, demandOf(level)), order(models, demandOf(level)))
  })

  it.prop(
    "is not moved by a model that is not eligible",
    { pool: Pool, level: Skill, skill: Skill },
    ({ level, pool, skill }) => {
      const models = poolOf(pool)
      const allowed = new Set(models.map(({ id }) => id))
      const ask = askOf(requestOf("Hi"), { allowed })
      const stranger = modelOf("a-stranger", { skill, rate: 0n })
      assert.deepStrictEqual(order([stranger, ...models], demandOf(level), ask), order(models, demandOf(level), ask))
    }
  )
})
