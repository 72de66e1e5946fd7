import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import {
  accuraciesOf,
  averageGapRecovered,
  type Outcome,
  qualityOverCost
} from "../../../tools/router-training/Metrics.ts"

const outcome = (score: number, strong: number, weak: number): Outcome => ({ score, strong, weak })

/** Half of the prompts gain. The scores are right about all of them, wrong about all of them, or all the same. */
const halves = (right: boolean | undefined): ReadonlyArray<Outcome> =>
  Array.from({ length: 100 }, (_, index) => {
    const gains = index % 2 === 0
    const score = right === undefined ? 0 : gains === right ? 1 : 0
    return outcome(score, 1, gains ? 0 : 1)
  })

describe("Metrics", () => {
  it("gives a constant router half of the gap, a perfect one three quarters, and its opposite one quarter", () => {
    assert.approximately(averageGapRecovered(halves(undefined)), 0.5, 1e-9)
    assert.approximately(averageGapRecovered(halves(true)), 0.75, 1e-9)
    assert.approximately(averageGapRecovered(halves(false)), 0.25, 1e-9)
  })

  it.prop(
    "recovers as much from scores as it loses from their opposites",
    { rows: Schema.Array(Schema.Struct({ score: Schema.Int, gain: Schema.Literals([0, 1]) })) },
    ({ rows }) => {
      const outcomes = [...rows.map(({ gain, score }) => outcome(score, gain, 0)), outcome(0, 1, 0)]
      const opposite = outcomes.map((row) => ({ ...row, score: -row.score }))
      assert.approximately(averageGapRecovered(outcomes) + averageGapRecovered(opposite), 1, 1e-9)
    }
  )

  it("computes the accuracies when half of the prompts go to the strong model", () => {
    assert.deepStrictEqual(accuraciesOf(halves(true)), {
      alwaysStrong: 1,
      alwaysWeak: 0.5,
      random: 0.75,
      router: 1,
      oracle: 1
    })
    assert.strictEqual(accuraciesOf(halves(false)).router, 0.5)
  })

  it("measures quality over cost by the best mixtures of policies", () => {
    const prompt = (hard: boolean, distances: readonly [number, number]) => ({
      models: [
        { distance: distances[0], score: hard ? 0 : 1, cost: 1 },
        { distance: distances[1], score: 1, cost: 10 }
      ]
    })
    const prompts = (knows: boolean) =>
      Array.from({ length: 10 }, (_, index) => prompt(index < 5, [knows && index >= 5 ? 0 : 0.5, 0]))
    // Without knowledge quality rises linearly from 0.5 at cost 1 to 1 at cost 10; with it, it is 1 from the middle on.
    assert.approximately(qualityOverCost(prompts(false)), 0.75, 1e-9)
    assert.approximately(qualityOverCost(prompts(true)), 0.875, 1e-9)
  })
})
