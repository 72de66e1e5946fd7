import { assert, describe, it } from "@effect/vitest"

import { chatCategory, isChatCategory, sharesAmong } from "../../../tools/router-training/ChatCategories.ts"
import { chatCategoryOf, chatGainOf, skillTargetsOf } from "../../../tools/router-training/TrainingLabels.ts"

const categories = ["coding", "writing", "roleplay", "fermi", "common-sense", "translation", "smalltalk", "agentic"]

describe("ChatCategories", () => {
  it("has targets and a gain for every category, and does not count exam questions as chat", () => {
    for (const category of categories) {
      assert.strictEqual(chatCategoryOf({ prompt: "x", category }), category)
      assert.isDefined(skillTargetsOf({ prompt: "x", category }))
      assert.isAbove(chatGainOf({ prompt: "x", category, grade: 5 }) ?? 0, chatGainOf({ prompt: "x", category }) ?? 1)
      assert.isUndefined(chatCategoryOf({ prompt: "x", category, strong: 1, weak: 0 }))
    }
    assert.isFalse(isChatCategory("physics") || isChatCategory("toString"))
  })

  it("divides chat traffic among the tasks that the data has", () => {
    const shares = sharesAmong(["creative", "coding", "instruction"])
    assert.approximately(
      [...shares.values()].reduce((sum, share) => sum + share, 0),
      1,
      1e-9
    )
    assert.isAbove(shares.get("creative") ?? 0, shares.get("coding") ?? 1)
    assert.strictEqual(sharesAmong(["instruction"]).get("instruction"), 1)
    assert.strictEqual(chatCategory("roleplay").task, chatCategory("creative").task)
  })
})
