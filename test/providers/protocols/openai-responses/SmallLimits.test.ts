import { assert, describe, it } from "@effect/vitest"

import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { textTokens } from "../../../../src/domain/TokenCount.ts"
import { openAiResponses } from "../../../../src/providers/protocols/openai-responses/OpenAiResponses.ts"
import { bodyOf, callOf, completed, decoded, streamed } from "../wire.ts"

const text = "One two three four five six seven eight nine ten eleven twelve thirteen."
const response = (said: string, output_tokens: number): JsonObject => ({
  status: "completed",
  output: [{ type: "message", id: "m", content: [{ type: "output_text", text: said }] }],
  usage: { input_tokens: 5, output_tokens, output_tokens_details: { reasoning_tokens: 12 } }
})

const answers = (said: string, tokens: number, maxOutputTokens: number) => {
  const call = callOf({ request: { maxOutputTokens } })
  const deltas = said.match(/.{1,5}/gsu) ?? []
  const frames = [
    ...deltas.map((delta) => ({ type: "response.output_text.delta", output_index: 0, content_index: 0, delta })),
    { type: "response.completed", response: response(said, tokens) }
  ]
  return [
    completed(decoded(openAiResponses, response(said, tokens), call)),
    completed(streamed(openAiResponses, frames, call))
  ]
}

describe("a limit below the least that the API takes", () => {
  it("is sent as the least, and cuts the answer and the charge", () => {
    assert.propertyVal(bodyOf(openAiResponses, callOf({ request: { maxOutputTokens: 4 } })), "max_output_tokens", 16)
    for (const limit of [1, 4, 15])
      for (const { content, finishReason, usage } of answers(text, 16, limit)) {
        assert.isTrue(text.startsWith(content))
        assert.isAtMost(textTokens(content), limit)
        assert.isAbove(content.length, 0)
        assert.strictEqual(finishReason, "length")
        assert.deepInclude(usage, { input: 5, output: limit, reasoning: Math.min(12, limit) })
      }
  })

  it("leaves alone what keeps to it, and every larger limit", () => {
    for (const { content, finishReason, usage } of answers("One.", 2, 10)) {
      assert.deepStrictEqual([content, finishReason], ["One.", "stop"])
      assert.deepInclude(usage, { output: 2 })
    }
    for (const { content, finishReason, usage } of answers(text, 400, 16)) {
      assert.deepStrictEqual([content, finishReason], [text, "stop"])
      assert.deepInclude(usage, { output: 400 })
    }
  })

  it("does not cut a character in two", () => {
    for (const { content } of answers("😀".repeat(40), 40, 3)) assert.match(content, /^(?:😀)*$/u)
  })
})
