import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { axes } from "../../src/catalog/Model.ts"
import { calibrated, kindsOfWork } from "../../src/routing/CalibratedDemand.ts"
import { flatProfile } from "./TestModels.ts"

const Level = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

describe("FirmDemand", () => {
  it("counts every axis to one kind of work", () => {
    assert.sameMembers(kindsOfWork.flat(), [...axes])
  })

  it.prop(
    "rounds what is rounded to itself, whatever is asked",
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

  it("does not move for a small change of level or difficulty", () => {
    const demand = { levels: flatProfile(0.2, { coding: 0.5 }), difficulty: 0.5 }
    const near = { levels: flatProfile(0.25, { coding: 0.4, agentic: 0.41 }), difficulty: 0.6 }
    assert.strictEqual(calibrated(demand), calibrated(near))
    assert.notStrictEqual(calibrated(demand), calibrated({ ...demand, difficulty: 0.95 }))
    // Where hard work begins decides what most requests cost.
    assert.strictEqual(calibrated(demand), calibrated({ ...demand, difficulty: 0.77 }))
    assert.notStrictEqual(calibrated(demand), calibrated({ ...demand, difficulty: 0.79 }))
    assert.notStrictEqual(calibrated(demand), calibrated({ ...demand, levels: flatProfile(0.2, { math: 0.5 }) }))
  })
})
