import { assert, describe, it } from "@effect/vitest"

import type { Message } from "../../src/domain/Conversation.ts"
import { charactersMax, weightedTextsOf } from "../../src/routing/WeightedTexts.ts"
import { requestOf } from "./TestModels.ts"

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })

describe("the weighted texts of a conversation", () => {
  it("are bounded for any conversation, and keep the head and the tail of a long message", () => {
    const long = `BEGIN ${"x ".repeat(50_000)} END`
    const messages = Array.from({ length: 500 }, () => user(long))
    const texts = weightedTextsOf(requestOf("", { messages }))
    assert.isAtMost(
      texts.reduce((total, { text }) => total + text.length, 0),
      charactersMax
    )
    assert.isTrue(texts[0]?.text.startsWith("BEGIN") && texts[0].text.endsWith("END"))
    const parts = [
      { type: "text", text: "first ".repeat(2_000) },
      { type: "text", text: "second ".repeat(2_000) }
    ] as const
    const [both] = weightedTextsOf(requestOf(parts))
    assert.isTrue(both?.text.startsWith("first") && both.text.endsWith("second "))
  })

  it("give the newest user message the most weight and the system prompt the least", () => {
    const system: Message = { role: "system", content: [{ type: "text", text: "Be brief." }] }
    const texts = weightedTextsOf(requestOf("", { messages: [system, user("one"), user("two"), user("three")] }))
    assert.deepStrictEqual(
      texts.map(({ text }) => text),
      ["three", "two", "one", "Be brief."]
    )
    const weights = texts.map(({ weight }) => weight)
    assert.deepStrictEqual(
      weights,
      weights.toSorted((a, b) => b - a)
    )
  })
})
