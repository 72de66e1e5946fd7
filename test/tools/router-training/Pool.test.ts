import { assert, describe, it } from "@effect/vitest"

import { type PricedModel, pricedModelsOf, poolQualityOf } from "../../../tools/router-training/Pool.ts"
import { flatProfile } from "../../routing/TestModels.ts"

/** A cheap coder and a dear mathematician, on as much code as mathematics. */
const rows: ReadonlyArray<PricedModel> = Array.from({ length: 80 }, (_, index) => {
  const code = index % 4 < 2
  return {
    levels: flatProfile(0.1, code ? { coding: 0.8 } : { math: 0.8 }),
    models: new Map([
      ["coder", { score: code ? 1 : 0, cost: 1 }],
      ["mathematician", { score: code ? 0.5 : 1, cost: 10 }]
    ])
  }
})

describe("Pool", () => {
  it("learns what models are good at, and buys quality where it is needed", () => {
    const { blind, oracle, router } = poolQualityOf(rows)
    assert.isAbove(router, blind + 0.1)
    assert.approximately(router, oracle, 0.01)
  })

  it("learns it from easy prompts as well as from hard ones", () => {
    const scaled = rows.map((row) => {
      const share = row.levels.math > row.levels.coding ? 0.1 : 1
      return { ...row, levels: flatProfile(0.3 * share, { [share < 1 ? "math" : "coding"]: 0.9 * share }) }
    })
    const { oracle, router } = poolQualityOf(scaled)
    assert.approximately(router, oracle, 0.01)
  })

  it("takes only rows on which every model was graded and priced", () => {
    const scores = { a: 1, b: 0 }
    assert.strictEqual(pricedModelsOf({ scores, cost: { a: 2, b: 3 } })?.get("b")?.cost, 3)
    for (const row of [{ scores }, { scores, cost: { a: 2 } }, { scores: { a: 1, b: null }, cost: { a: 2, b: 3 } }]) {
      assert.isUndefined(pricedModelsOf(row))
    }
  })
})
