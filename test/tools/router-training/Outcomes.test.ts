import { assert, describe, it } from "@effect/vitest"

import { emptySurvey, groupingsOf, note, scoredBy } from "../../../tools/router-training/Outcomes.ts"
import type { Row } from "../../../tools/router-training/Rows.ts"

/** Of every ten prompts: the strong are right on all, the weak on seven and five, and one on too few to be compared. */
const rows: ReadonlyArray<Row> = Array.from({ length: 100 }, (_, index) => {
  const right = (share: number) => (index % 10 < share ? 1 : 0)
  return {
    dataset: "made-up",
    prompt: `prompt ${index}`,
    scores: { best: 1, near: 1, middling: right(7), low: right(5), lost: right(2) }
  }
})

describe("Outcomes", () => {
  it("tells strong models from weak ones, and knows the best of the weak", () => {
    const survey = emptySurvey()
    rows.forEach((row) => note(survey, row))
    const grouping = groupingsOf(survey).get("made-up")
    assert.deepStrictEqual(
      grouping && { strong: [...grouping.strong], weak: [...grouping.weak], bestWeak: grouping.bestWeak },
      { strong: ["best", "near"], weak: ["middling", "low"], bestWeak: "middling" }
    )
    assert.approximately(grouping?.gain ?? 0, 1 - 0.6, 1e-9)
  })

  it("compares only what was scored", () => {
    const groups = { strong: new Set(["best", "near"]), weak: new Set(["low"]) }
    const row = (scores: NonNullable<Row["scores"]>): Row => ({ prompt: "x", scores })
    assert.deepStrictEqual(scoredBy(row({ best: 1, near: null, low: 0 }), groups), { strong: 1, weak: 0 })
    assert.isUndefined(scoredBy(row({ best: 1, low: null }), groups))
  })
})
