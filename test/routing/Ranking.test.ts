import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import type { Model } from "../../src/catalog/Model.ts"
import type { ChatRequest } from "../../src/domain/Conversation.ts"
import { modelId } from "../../src/domain/Ids.ts"
import { bandWidth, type Candidate } from "../../src/routing/Bands.ts"
import { calibrated, type DemandModel } from "../../src/routing/Demand.ts"
import { rankModels, shortfall, uncertainties, type Ranking } from "../../src/routing/Ranking.ts"
import type { RoutingRequest } from "../../src/routing/RoutingRequest.ts"
import { routingRequestOf, audio, endpointAt, flatProfile, image, modelOf, requestOf, tool } from "./TestModels.ts"

/** Predicts the same demand for every request. */
const demandOf = (level: number, difficulty = 0.5): DemandModel => ({
  predict: () => ({ levels: flatProfile(level), difficulty })
})

const noDemandModel: DemandModel = {
  predict: () => {
    throw new Error("demand must not be predicted for this conversation")
  }
}

const order = (
  models: ReadonlyArray<Model>,
  demand: DemandModel = demandOf(0.6),
  request: RoutingRequest = routingRequestOf(requestOf("Hi"))
) => rankModels(models, request, demand).candidates.map(({ band, model }) => `${band} ${model.id}`)

const Skill = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const Pool = Schema.Array(
  Schema.Struct({ skill: Skill, rate: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })) })
).check(Schema.isMaxLength(12))

const poolOf = (pool: typeof Pool.Type) =>
  pool.map(({ rate, skill }, index) => modelOf(`m${index}`, { skill, rate: BigInt(rate) }))

describe("Ranking", () => {
  it("measures a model's shortfall, with each axis weighted by its demanded level", () => {
    const levels = flatProfile(0, { coding: 0.8, math: 0.4 })
    const of = (coding: number, math: number): number => shortfall(levels)(flatProfile(0, { coding, math }))
    // Axes with a level of 0 do not matter.
    assert.strictEqual(of(1, 1), 0)
    assert.isAbove(of(0, 1), of(1, 0))
    // A model with every skill lacks nothing; one without any of the demanded skills lacks about all of them.
    assert.strictEqual(shortfall(levels)(flatProfile(1)), 0)
    assert.approximately(shortfall(levels, 0.01)(flatProfile(0)), Math.sqrt((0.8 ** 4 + 0.4 ** 4) / 0.8), 0.01)
    // The same gap counts more on an axis with a higher level.
    assert.isAbove(of(0.5, 0.7), of(0.8, 0.4))
    assert.strictEqual(shortfall(flatProfile(0))(flatProfile(0)), 0)
  })

  it.prop(
    "never gives a better model a greater distance, and distinguishes models that are all good enough",
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
      const demand = { levels: flatProfile(0.5), difficulty: 0.5 }
      const distanceOf = shortfall(calibrated(demand).levels, uncertainties.calibrated)
      const { candidates } = rankModels(poolOf(pool), routingRequestOf(requestOf("Hi")), { predict: () => demand })
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

  it.prop(
    "never gives a worse first candidate, and never a cheaper one, for more quality",
    { pool: Pool, one: Skill, other: Skill },
    ({ one, other, pool }) => {
      const demand = { levels: flatProfile(0.5), difficulty: 0.5 }
      const distanceOf = shortfall(calibrated(demand).levels, uncertainties.calibrated)
      const firstAt = (content: Parameters<typeof requestOf>[0], costQuality?: number) => {
        const request = routingRequestOf(requestOf(content), costQuality === undefined ? {} : { costQuality })
        return rankModels(poolOf(pool), request, { predict: () => demand }).candidates[0]
      }
      const profileIn = ({ model }: Candidate) => model.profiles.none ?? flatProfile(0)
      for (const [content, qualityOf] of [
        ["Hi", (candidate: Candidate) => -distanceOf(profileIn(candidate))],
        // What has images is compared by mean skill, which is the same on every axis here.
        [[image], (candidate: Candidate) => profileIn(candidate).math]
      ] as const) {
        const [less, more] = [firstAt(content, Math.min(one, other)), firstAt(content, Math.max(one, other))]
        if (less === undefined || more === undefined) assert.lengthOf(pool, 0)
        else {
          assert.isAtLeast(qualityOf(more), qualityOf(less) - 1e-12)
          assert.isTrue(more.cost >= less.cost)
          const candidates = poolOf(pool).map((model) => ({ model }) as Candidate)
          const [cheapest, best] = [firstAt(content, 0), firstAt(content, 1)]
          const rates = pool.map(({ rate }) => rate)
          assert.strictEqual(cheapest?.model.endpoints[0].price.rates.input, BigInt(Math.min(...rates)))
          assert.approximately(best ? qualityOf(best) : NaN, Math.max(...candidates.map(qualityOf)), 1e-12)
          assert.deepStrictEqual(firstAt(content, 0.5), firstAt(content))
        }
      }
    }
  )

  it("puts the cheapest first among models that are far better than an easy request needs", () => {
    const models = poolOf([
      { skill: 0.6, rate: 1 },
      { skill: 0.95, rate: 2 }
    ])
    const easy = demandOf(0.1, 0.1)
    assert.deepStrictEqual(order(models, easy), ["0 m0", "0 m1"])
    // Their own distances differ by more than the width of a band.
    const [worse, better] = rankModels(models, routingRequestOf(requestOf("Hi")), easy).candidates
    assert.isAbove((worse?.distance ?? 0) - (better?.distance ?? 1), bandWidth)
  })

  it("gives similar requests the same order, and still reports different distances", () => {
    const models = poolOf([0.2, 0.4, 0.6, 0.8].map((skill, at) => ({ skill, rate: at })))
    const [one, other] = [0.5, 0.53].map((level) =>
      rankModels(models, routingRequestOf(requestOf("Hi")), demandOf(level, level))
    )
    const ids = (ranking?: Ranking) => ranking?.candidates.map(({ model }) => model.id)
    assert.deepStrictEqual(ids(one), ids(other))
    assert.isBelow(one?.candidates[0]?.distance ?? 1, other?.candidates[0]?.distance ?? 0)
  })

  it("compares models by their profile at the effective tier", () => {
    const thinker = {
      ...modelOf("thinker"),
      profiles: { none: flatProfile(0.1), low: flatProfile(0.2), high: flatProfile(0.9) }
    }
    const plain = modelOf("plain", { skill: 0.5 })
    const first = (effort?: "none" | "low" | "high") =>
      order(
        [thinker, plain],
        demandOf(0.9),
        routingRequestOf(requestOf("", { reasoning: { exclude: false, ...(effort && { effort }) } }))
      )[0]
    assert.strictEqual(first("high"), "0 thinker")
    assert.strictEqual(first("low"), "0 plain")
    assert.strictEqual(first("none"), "0 plain")
    // With an open tier the cheapest tier that the model serves counts.
    assert.strictEqual(first(), "0 plain")
    const always = { ...thinker, reasoning: { support: "always", efforts: [] } } as const
    assert.strictEqual(
      rankModels([always], routingRequestOf(requestOf("")), demandOf(0.2)).candidates[0]?.distance,
      shortfall(flatProfile(0.2))(thinker.profiles.low)
    )
  })

  it("computes the expected cost of prompt, answer and reasoning at the first endpoint's price", () => {
    const model = { ...modelOf("m"), endpoints: [endpointAt(7n), endpointAt(1n)] as Model["endpoints"] }
    const costOf = (parts: Parameters<typeof requestOf>[1], promptTokens = 100) =>
      rankModels([model], routingRequestOf(requestOf("", parts), { promptTokens }), demandOf(0.5)).candidates[0]
        ?.cost ?? -1n
    assert.strictEqual(costOf({ maxOutputTokens: 1 }), 7n * 101n)
    assert.strictEqual(costOf({ maxOutputTokens: 1 }, 1_000), 7n * 1_001n)
    const none = costOf({ reasoning: { effort: "none", exclude: false } })
    const high = costOf({ reasoning: { effort: "high", exclude: false } })
    assert.isTrue(none > 7n * 200n && high > 5n * none)
  })

  it("ranks by mean skill, without predicting demand, when the conversation has images or audio", () => {
    const models = [
      modelOf("strong", { skill: 0.9, rate: 9n }),
      modelOf("good-enough", { skill: 0.72, rate: 2n }),
      modelOf("weak", { skill: 0.3, rate: 0n }),
      modelOf("text-only", { modalities: { image: false, audio: false } })
    ]
    const ranking = rankModels(models, routingRequestOf(requestOf([image])), noDemandModel)
    assert.deepStrictEqual(
      ranking.candidates.map(({ model }) => String(model.id)),
      ["good-enough", "strong", "weak"]
    )
    assert.deepStrictEqual(ranking.excluded, [{ model: modelId("text-only"), reason: "image_input" }])
    assert.isUndefined(ranking.features.demand)
  })

  it("relaxes the tier for audio when no model that accepts audio can reason", () => {
    const plain = modelOf("plain", {
      reasoning: { support: "none", efforts: [] },
      profiles: { none: flatProfile(0.5) }
    })
    const textOnly = modelOf("text-only", { modalities: { image: true, audio: false } })
    const highEffort = { reasoning: { effort: "high", exclude: false } } as const
    const ranking = rankModels([plain, textOnly], routingRequestOf(requestOf([audio], highEffort)), noDemandModel)
    assert.deepStrictEqual(
      ranking.candidates.map(({ model }) => String(model.id)),
      ["plain"]
    )
    assert.deepStrictEqual(ranking.excluded, [{ model: modelId("text-only"), reason: "audio_input" }])
    // Reasoning that the client switched off is never switched on again.
    const alwaysReasons = modelOf("always-reasons", { reasoning: { support: "always", efforts: [] } })
    const off = { reasoning: { effort: "none", exclude: false } } as const
    assert.deepStrictEqual(
      rankModels([alwaysReasons], routingRequestOf(requestOf([audio], off)), noDemandModel).candidates,
      []
    )
  })

  it("does not relax the tier as long as any model of the catalog serves it", () => {
    const plain = modelOf("plain", {
      reasoning: { support: "none", efforts: [] },
      profiles: { none: flatProfile(0.5) }
    })
    const thinker = modelOf("thinker", { tools: false })
    const lowEffort = { reasoning: { effort: "low", exclude: false }, tools: [tool] } as const
    const ids = (
      models: ReadonlyArray<Model>,
      allowed?: RoutingRequest["allowed"],
      parts: Partial<ChatRequest> = lowEffort
    ) =>
      rankModels(models, routingRequestOf(requestOf("Hi", parts), { allowed }), demandOf(0.5)).candidates.map(
        ({ model }) => model.id
      )
    assert.deepStrictEqual(ids([plain, thinker]), [])
    assert.deepStrictEqual(ids([plain]), [plain.id])
    assert.deepStrictEqual(ids([plain, thinker], new Set([plain.id])), [])
    const alwaysReasons = modelOf("always-reasons", { reasoning: { support: "always", efforts: [] } })
    const off = { reasoning: { enabled: false, exclude: false } } as const
    assert.deepStrictEqual(ids([alwaysReasons], undefined, off), [])
  })

  it("returns no candidates, and the reasons, when no model is eligible", () => {
    const ranking = rankModels(
      [modelOf("b"), modelOf("a")],
      routingRequestOf(requestOf("Hi"), { allowed: new Set() }),
      demandOf(0.5)
    )
    assert.deepStrictEqual(ranking.candidates, [])
    assert.deepStrictEqual(
      ranking.excluded.map(({ model, reason }) => `${model} ${reason}`),
      ["a not_allowed", "b not_allowed"]
    )
    assert.deepStrictEqual(rankModels([], routingRequestOf(requestOf("Hi")), demandOf(0.5)).candidates, [])
  })

  it.prop("does not depend on the order of the catalog", { pool: Pool, level: Skill }, ({ level, pool }) => {
    const models = poolOf(pool)
    const shuffled = models.toSorted((a, b) =>
      a.id.split("").reverse().join("") < b.id.split("").reverse().join("") ? 1 : -1
    )
    assert.deepStrictEqual(order(shuffled, demandOf(level)), order(models, demandOf(level)))
  })

  it.prop(
    "does not depend on a model that is not eligible",
    { pool: Pool, level: Skill, skill: Skill },
    ({ level, pool, skill }) => {
      const models = poolOf(pool)
      const allowed = new Set(models.map(({ id }) => id))
      const request = routingRequestOf(requestOf("Hi"), { allowed })
      const other = modelOf("a-model-that-is-not-allowed", { skill, rate: 0n })
      assert.deepStrictEqual(
        order([other, ...models], demandOf(level), request),
        order(models, demandOf(level), request)
      )
    }
  )
})
