import { assert, describe, it } from "@effect/vitest"

import type { Message } from "../../src/domain/Conversation.ts"
import { charactersMax, excerptsOf } from "../../src/routing/Excerpt.ts"
import { requestOf } from "./TestModels.ts"

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })

describe("Excerpt", () => {
  it("reads a bounded part of any conversation, its beginning and its end", () => {
    const long = `BEGIN ${"x ".repeat(50_000)} END`
    const messages = Array.from({ length: 500 }, () => user(long))
    const excerpts = excerptsOf(requestOf("", { messages }))
    assert.isAtMost(
      excerpts.reduce((total, { text }) => total + text.length, 0),
      charactersMax
    )
    assert.isTrue(excerpts[0]?.text.startsWith("BEGIN") && excerpts[0].text.endsWith("END"))
    const parts = [
      { type: "text", text: "first ".repeat(2_000) },
      { type: "text", text: "second ".repeat(2_000) }
    ] as const
    const [both] = excerptsOf(requestOf(parts))
    assert.isTrue(both?.text.startsWith("first") && both.text.endsWith("second "))
  })

  it("weighs the newest user message most and the system prompt least", () => {
    const system: Message = { role: "system", content: [{ type: "text", text: "Be brief." }] }
    const excerpts = excerptsOf(requestOf("", { messages: [system, user("one"), user("two"), user("three")] }))
    assert.deepStrictEqual(
      excerpts.map(({ text }) => text),
      ["three", "two", "one", "Be brief."]
    )
    const weights = excerpts.map(({ weight }) => weight)
    assert.deepStrictEqual(
      weights,
      weights.toSorted((a, b) => b - a)
    )
  })
})
