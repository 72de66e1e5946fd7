import { assert, describe, it } from "@effect/vitest"

import { chatKind, isChatKind, sharesAmong } from "../../../tools/router-training/ChatKinds.ts"
import { chatGainOf, chatKindOf, meaningOf } from "../../../tools/router-training/Labels.ts"

const kinds = ["coding", "writing", "roleplay", "fermi", "common-sense", "translation", "smalltalk", "agentic"]

describe("ChatKinds", () => {
  it("knows of every kind what it asks for and what is gained, and leaves exams alone", () => {
    for (const category of kinds) {
      assert.strictEqual(chatKindOf({ prompt: "x", category }), category)
      assert.isDefined(meaningOf({ prompt: "x", category }))
      assert.isAbove(chatGainOf({ prompt: "x", category, grade: 5 }) ?? 0, chatGainOf({ prompt: "x", category }) ?? 1)
      assert.isUndefined(chatKindOf({ prompt: "x", category, strong: 1, weak: 0 }))
    }
    assert.isFalse(isChatKind("physics") || isChatKind("toString"))
  })

  it("shares the whole of chat among the kinds of work there are", () => {
    const shares = sharesAmong(["creative", "coding", "instruction"])
    assert.approximately(
      [...shares.values()].reduce((sum, share) => sum + share, 0),
      1,
      1e-9
    )
    assert.isAbove(shares.get("creative") ?? 0, shares.get("coding") ?? 1)
    assert.strictEqual(sharesAmong(["instruction"]).get("instruction"), 1)
    assert.strictEqual(chatKind("roleplay").work, chatKind("creative").work)
  })
})
