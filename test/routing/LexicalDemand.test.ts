import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { axes, type Axis } from "../../src/catalog/Model.ts"
import type { ChatRequest, Message } from "../../src/domain/Conversation.ts"
import { charactersMax, excerptsOf } from "../../src/routing/Excerpt.ts"
import { lexicalDemand } from "../../src/routing/LexicalDemand.ts"
import { requestOf, tool } from "./TestModels.ts"

const demandOf = (content: string, parts: Partial<ChatRequest> = {}) => lexicalDemand.predict(requestOf(content, parts))

const topOf = (content: string): Axis | undefined => {
  const { levels } = demandOf(content)
  return axes.toSorted((a, b) => levels[b] - levels[a])[0]
}

const asked: ReadonlyArray<readonly [Axis, string]> = [
  [
    "coding",
    "My Rust function does not compile, the borrow checker complains about a mutable variable. Can you fix it?"
  ],
  ["coding", "```\nfor (const row of rows) { total += row.price; }\n```\nThis gives NaN."],
  ["coding", "Schreibe eine Funktion in Python, die einen Fehler wirft, wenn das Array leer ist."],
  ["math", "Find the eigenvalues of the matrix with rows (2, 1) and (1, 2), then compute its determinant."],
  ["math", "12 * (7 + 5) / 3 - 2^4 = ?"],
  ["math", "计算这个积分, 并证明方程只有一个解"],
  ["creative", "Write a poem about a lighthouse keeper and the song of the sea."],
  ["creative", "写一首诗歌, 讲一个故事"],
  ["multilingual", "Please translate this sentence from English into German: the train is late."],
  ["knowledge", "Who was the first president of Brazil, and when did the empire end?"]
]

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })

describe("LexicalDemand", () => {
  for (const [axis, prompt] of asked) {
    it(`hears ${axis} in "${prompt.slice(0, 40).replaceAll("\n", " ")}"`, () => {
      assert.strictEqual(topOf(prompt), axis)
    })
  }

  it("finds a proof harder than small talk, and small talk undemanding", () => {
    const proof = demandOf(
      "Prove rigorously that every bounded sequence has a convergent subsequence. State each lemma."
    )
    const talk = demandOf("Hi, how are you? Thanks for your help this morning!")
    assert.isAbove(proof.difficulty, 0.7)
    assert.isBelow(talk.difficulty, 0.25)
    assert.isTrue(axes.every((axis) => talk.levels[axis] < 0.3))
  })

  it("reads the wish for tools from the request itself", () => {
    assert.isAbove(demandOf("Hi", { tools: [tool] }).levels.agentic, demandOf("Hi").levels.agentic + 0.2)
  })

  it("listens to the last user message more than to what came before it", () => {
    const [code, poem] = ["Debug this Python function.", "Write a poem about a song."]
    const levels = (...messages: ReadonlyArray<Message>) => lexicalDemand.predict(requestOf("", { messages })).levels
    const turned = levels(user(code), user(poem))
    assert.isAbove(turned.creative, turned.coding)
    assert.isAbove(turned.coding, levels(user(poem)).coding)
    const system: Message = { role: "system", content: [{ type: "text", text: code }] }
    assert.isBelow(levels(system, user(poem)).coding, turned.coding)
  })

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

  it.prop(
    "answers every text with levels from 0 to 1",
    { codes: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff }))) },
    ({ codes }) => {
      // Any code units at all, lone surrogates among them.
      const { difficulty, levels } = demandOf(String.fromCharCode(...codes))
      for (const value of [difficulty, ...Object.values(levels)]) assert.isTrue(value >= 0 && value <= 1)
    }
  )
})
