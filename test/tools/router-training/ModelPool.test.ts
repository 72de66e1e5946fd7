import { assert, describe, it } from "@effect/vitest"

import { poolModelsOf, poolQualityOf, type PoolRow } from "../../../tools/router-training/ModelPool.ts"
import { flatProfile } from "../../routing/TestModels.ts"

/** A cheap model for code and an expensive one for mathematics, on as many prompts of code as of mathematics. */
const rows: ReadonlyArray<PoolRow> = Array.from({ length: 80 }, (_, index) => {
  const code = index % 4 < 2
  return {
    levels: flatProfile(0.1, code ? { coding: 0.8 } : { math: 0.8 }),
    models: new Map([
      ["coder", { score: code ? 1 : 0, cost: 1 }],
      ["mathematician", { score: code ? 0.5 : 1, cost: 10 }]
    ])
  }
})

describe("ModelPool", () => {
  it("estimates what models are good at, and pays for quality where it is needed", () => {
    const { oracle, router, withoutPrompt } = poolQualityOf(rows)
    assert.isAbove(router, withoutPrompt + 0.1)
    assert.approximately(router, oracle, 0.01)
  })

  it("estimates it from easy prompts as well as from hard ones", () => {
    const scaled = rows.map((row) => {
      const share = row.levels.math > row.levels.coding ? 0.1 : 1
      return { ...row, levels: flatProfile(0.3 * share, { [share < 1 ? "math" : "coding"]: 0.9 * share }) }
    })
    const { oracle, router } = poolQualityOf(scaled)
    assert.approximately(router, oracle, 0.01)
  })

  it("uses only rows on which every model was graded and priced", () => {
    const scores = { a: 1, b: 0 }
    assert.strictEqual(poolModelsOf({ scores, cost: { a: 2, b: 3 } })?.get("b")?.cost, 3)
    for (const row of [{ scores }, { scores, cost: { a: 2 } }, { scores: { a: 1, b: null }, cost: { a: 2, b: 3 } }]) {
      assert.isUndefined(poolModelsOf(row))
    }
  })
})
