import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { axes } from "../../src/catalog/Model.ts"
import { calibrated, taskTypes } from "../../src/routing/Demand.ts"
import { flatProfile } from "./TestModels.ts"

const Level = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

describe("a calibrated demand", () => {
  it("assigns every axis to exactly one type of task", () => {
    assert.sameMembers(taskTypes.flat(), [...axes])
  })

  it.prop(
    "does not change when it is calibrated again, whatever the demand was",
    { levels: Schema.Array(Level), difficulty: Level },
    (drawn) => {
      const levels = flatProfile(
        0.1,
        Object.fromEntries(drawn.levels.slice(0, axes.length).map((l, at) => [axes[at], l]))
      )
      const found = calibrated({ levels, difficulty: drawn.difficulty })
      assert.strictEqual(calibrated(found), found)
      assert.isTrue(axes.every((axis) => found.levels[axis] <= found.difficulty))
    }
  )

  it("stays the same when a level or the difficulty changes a little", () => {
    const demand = { levels: flatProfile(0.2, { coding: 0.5 }), difficulty: 0.5 }
    const near = { levels: flatProfile(0.25, { coding: 0.4, agentic: 0.41 }), difficulty: 0.6 }
    assert.strictEqual(calibrated(demand), calibrated(near))
    assert.notStrictEqual(calibrated(demand), calibrated({ ...demand, difficulty: 0.95 }))
    // The threshold of the hard class decides what most requests cost.
    assert.strictEqual(calibrated(demand), calibrated({ ...demand, difficulty: 0.77 }))
    assert.notStrictEqual(calibrated(demand), calibrated({ ...demand, difficulty: 0.79 }))
    assert.notStrictEqual(calibrated(demand), calibrated({ ...demand, levels: flatProfile(0.2, { math: 0.5 }) }))
  })
})
