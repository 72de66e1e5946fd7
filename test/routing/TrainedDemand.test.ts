import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { axes, type Axis } from "../../src/catalog/Model.ts"
import type { ChatRequest, Message } from "../../src/domain/Conversation.ts"
import { calibrated } from "../../src/routing/Demand.ts"
import { trainedDemand } from "../../src/routing/TrainedDemand.ts"
import { readWeights, shippedWeights } from "../../src/routing/Weights.ts"
import { requestOf, tool } from "./TestModels.ts"

const model = trainedDemand(Result.getOrThrow(readWeights(shippedWeights)))

const demandOf = (content: string, parts: Partial<ChatRequest> = {}) => model.predict(requestOf(content, parts))

const topOf = (content: string): Axis | undefined => {
  const { levels } = demandOf(content)
  return axes.toSorted((a, b) => levels[b] - levels[a])[0]
}

/** Prompts with the axis on which any shipped weights must predict the highest level. */
const prompts: ReadonlyArray<readonly [Axis, string]> = [
  [
    "coding",
    "My Rust function does not compile, the borrow checker complains about a mutable variable. Can you fix it?"
  ],
  ["coding", "```\nfor (const row of rows) { total += row.price; }\n```\nThis gives NaN."],
  ["coding", "How do I center a div with Tailwind in a Next.js app?"],
  ["coding", "Schreibe eine Funktion in Python, die einen Fehler wirft, wenn das Array leer ist."],
  ["math", "Find the eigenvalues of the matrix with rows (2, 1) and (1, 2), then compute its determinant."],
  ["math", "A farmer sells 12 eggs a day for 3 dollars each. How much does she earn in 7 days?"],
  ["creative", "Write a short story about a lighthouse keeper who falls in love with the sea."],
  ["creative", "写一首关于月亮的诗"],
  ["knowledge", "Who was the first president of Brazil, and when did the empire end?"]
]

const wrappers: ReadonlyArray<(text: string) => string> = [
  (text) => `Dear assistant, I would be glad if you could handle this:\n\n${text}`,
  (text) => `Könntest du dir das bitte ansehen?\n${text}\nHerzlichen Dank!`,
  (text) => `Tengo la siguiente duda: ${text}`,
  (text) => `${text}\n\nPlease reply soon.`
]

const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })

/** The shortest time of several runs, in milliseconds: other load on the machine only ever adds to it. */
const shortestTime = (run: () => void): number => {
  let best = Infinity
  for (let round = 0; round < 30; round++) {
    const startedAt = process.hrtime.bigint()
    for (let time = 0; time < 5; time++) run()
    best = Math.min(best, Number(process.hrtime.bigint() - startedAt) / 5e6)
  }
  return best
}

const hostile: ReadonlyArray<readonly [what: string, text: string]> = [
  ["ten megabytes of words", "lorem ipsum dolor ".repeat(600_000)],
  ["one line of emojis", "🦀".repeat(1_000_000)],
  ["nulls", "\0".repeat(1_000_000)],
  ["lone surrogates", "\ud800\udfff\udc00".repeat(400_000)],
  ["text that is catastrophic for regular expressions", `${"a".repeat(500_000)}!${"(".repeat(500_000)}`],
  ["nothing but newlines", "\n".repeat(1_000_000)],
  ["one endless word", "q".repeat(1_000_000)]
]

describe("TrainedDemand", () => {
  for (const [axis, prompt] of prompts) {
    it(`predicts ${axis} for "${prompt.slice(0, 40).replaceAll("\n", " ")}"`, () => {
      assert.strictEqual(topOf(prompt), axis)
    })
  }

  it("predicts coding above creative for code, and creative above coding for a poem", () => {
    const code = demandOf("Write a SQL query that joins orders and customers and sums revenue by month.").levels
    const story = demandOf("Write a funny poem about a cat who wants to be king.").levels
    assert.isAbove(code.coding, code.creative * 1.2)
    assert.isAbove(story.creative, story.coding * 1.2)
  })

  it("rates a proof harder than a poem, and a sestina harder than small talk", () => {
    const proof = demandOf("Prove that every bounded sequence of real numbers has a convergent subsequence.").difficulty
    const poem = demandOf("Write a short poem about summer.").difficulty
    const sestina = demandOf("Write a sestina about a lock keeper, formally perfect, without a single abstract noun.")
    const talk = demandOf("Hi, how are you?").difficulty
    assert.isAbove(proof, poem + 0.2)
    assert.isAbove(sestina.difficulty, talk)
    assert.isBelow(talk, 0.2)
  })

  it("rates a word problem of many steps harder than one of two steps", () => {
    const short = "Tom has 3 apples and buys 4 more. How many apples does he have?"
    const long =
      "Tom has 3 apples. He buys twice as many as Anna, who has half of the 24 apples that were picked on Monday, " +
      "and gives a third of all his apples to his two sisters, who share them equally before eating one each. On " +
      "Tuesday he buys 20 percent more than he has left. How many apples does he have on Wednesday?"
    assert.isAbove(demandOf(long).difficulty, demandOf(short).difficulty)
  })

  it("keeps the task type and the difficulty class within most wrappers", () => {
    const pairs = prompts.flatMap(([, prompt]) => wrappers.map((wrap) => [prompt, wrap(prompt)] as const))
    const same = pairs.filter(([plain, wrapped]) => calibrated(demandOf(plain)) === calibrated(demandOf(wrapped)))
    assert.isAtLeast(same.length / pairs.length, 0.6)
  })

  it("raises the agentic level when the request offers tools", () => {
    const { agentic } = demandOf("What is the weather like?", { tools: [tool] }).levels
    assert.isAbove(agentic, demandOf("What is the weather like?").levels.agentic)
  })

  it("weighs the last user message more than earlier ones", () => {
    const [code, poem] = ["Debug this Python function.", "Write a poem about a song."]
    const levels = (...messages: ReadonlyArray<Message>) => model.predict(requestOf("", { messages })).levels
    const turned = levels(user(code), user(poem))
    assert.isAbove(turned.creative, turned.coding)
    assert.isAbove(levels(user(poem), user(code)).coding, turned.coding)
  })

  it("predicts the same for the same text, whatever it predicted in between", () => {
    const before = demandOf("Explain photosynthesis.")
    demandOf("x".repeat(10_000))
    assert.deepStrictEqual(demandOf("Explain photosynthesis."), before)
  })

  it("takes no longer for hostile text than for long ordinary text", () => {
    const ordinary = Array.from({ length: 800 }, (_, index) => `word${index * 7_919}`).join(" ")
    const bound = Math.max(
      shortestTime(() => demandOf(ordinary)),
      0.05
    )
    for (const [what, text] of hostile)
      assert.isBelow(
        shortestTime(() => demandOf(text)),
        bound * 20,
        what
      )
  })

  it.prop(
    "predicts levels from 0 to 1 for any text",
    { codes: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff }))) },
    ({ codes }) => {
      // Any code units at all, lone surrogates among them.
      const { difficulty, levels } = demandOf(String.fromCharCode(...codes))
      for (const value of [difficulty, ...Object.values(levels)]) assert.isTrue(value >= 0 && value <= 1)
    }
  )
})
