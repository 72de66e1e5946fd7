import { assert, describe, it } from "@effect/vitest"

import {
  countRow,
  emptyStatistics,
  groupScores,
  modelGroupsOf
} from "../../../tools/router-training/DatasetStatistics.ts"
import type { Row } from "../../../tools/router-training/Rows.ts"

/** Of every ten prompts the strong models solve all, the weak ones seven and five, and one model too few to count. */
const rows: ReadonlyArray<Row> = Array.from({ length: 100 }, (_, index) => {
  const right = (share: number) => (index % 10 < share ? 1 : 0)
  return {
    dataset: "made-up",
    prompt: `prompt ${index}`,
    scores: { best: 1, near: 1, middling: right(7), low: right(5), lost: right(2) }
  }
})

describe("DatasetStatistics", () => {
  it("divides models into strong and weak ones, and finds the best of the weak", () => {
    const statistics = emptyStatistics()
    rows.forEach((row) => countRow(statistics, row))
    const groups = modelGroupsOf(statistics).get("made-up")
    assert.deepStrictEqual(
      groups && { strong: [...groups.strong], weak: [...groups.weak], bestWeak: groups.bestWeak },
      { strong: ["best", "near"], weak: ["middling", "low"], bestWeak: "middling" }
    )
    assert.approximately(groups?.gain ?? 0, 1 - 0.6, 1e-9)
  })

  it("compares only models that were scored", () => {
    const groups = { strong: new Set(["best", "near"]), weak: new Set(["low"]) }
    const row = (scores: NonNullable<Row["scores"]>): Row => ({ prompt: "x", scores })
    assert.deepStrictEqual(groupScores(row({ best: 1, near: null, low: 0 }), groups), { strong: 1, weak: 0 })
    assert.isUndefined(groupScores(row({ best: 1, low: null }), groups))
  })
})
