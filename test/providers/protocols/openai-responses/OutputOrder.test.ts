import { assert, it } from "@effect/vitest"

import type { Message } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { openAiResponses } from "../../../../src/providers/protocols/openai-responses/OpenAiResponses.ts"
import { bodyOf, callOf, completed, decoded, streamed, thinker, user } from "../wire.ts"

const said = (id: string, text: string, phase?: string): JsonObject => ({
  type: "message",
  id,
  role: "assistant",
  content: [{ type: "output_text", text }],
  ...(phase !== undefined && { phase })
})
const reasoned = (id: string): JsonObject => ({ type: "reasoning", id, summary: [], encrypted_content: `sealed ${id}` })
const called = (call_id: string): JsonObject => ({ type: "function_call", call_id, name: "f", arguments: "{}" })

/** The items of the answer in the next request, when the client sends it back, with this text where it is given. */
const again = (output: ReadonlyArray<JsonObject>, stream: boolean, text?: string): ReadonlyArray<string> => {
  const call = callOf({ model: thinker() })
  const body = { status: "completed", output }
  const frames = [
    ...output.map((item, output_index) => ({ type: "response.output_item.done", output_index, item })),
    { type: "response.completed", response: { ...body, output: [] } }
  ]
  const answer = completed(stream ? streamed(openAiResponses, frames, call) : decoded(openAiResponses, body, call))
  const messages: ReadonlyArray<Message> = [
    user("q"),
    { ...answer, role: "assistant", content: [{ type: "text", text: text ?? answer.content }] },
    user("And?")
  ]
  const input = bodyOf(openAiResponses, callOf({ model: thinker(), request: { messages } }))["input"]
  return (input as ReadonlyArray<JsonObject>).slice(1, -1).flatMap((item) => {
    if (item["type"] === "function_call_output") return []
    if (item["type"] === "function_call") return [String(item["call_id"])]
    if (item["type"] === "reasoning") return [String(item["encrypted_content"])]
    const [content] = item["content"] as ReadonlyArray<JsonObject>
    return [`${String(item["phase"] ?? "no phase")}: ${String(content?.["text"])}`]
  })
}

for (const stream of [false, true])
  it(`items go back in their order and with their phase (${stream ? "streamed" : "plain"})`, () => {
    const notes = [reasoned("a"), said("m1", "I look.", "commentary"), reasoned("b"), called("c1")]
    assert.deepStrictEqual(again(notes, stream), ["sealed a", "commentary: I look.", "sealed b", "c1"])
    const both = [said("m1", "I look.", "commentary"), reasoned("b"), said("m2", "It is so.", "final_answer")]
    assert.deepStrictEqual(again(both, stream), ["commentary: I look.", "sealed b", "final_answer: It is so."])
    const between = [said("m1", "One."), reasoned("b"), said("m2", "Two.")]
    assert.deepStrictEqual(again(between, stream), ["no phase: One.", "sealed b", "no phase: Two."])
  })

it("an answer that the client has changed goes back as it is now", () => {
  const both = [said("m1", "I look.", "commentary"), reasoned("b"), said("m2", "It is so.", "final_answer")]
  assert.deepStrictEqual(again(both, false, "Changed."), ["sealed b", "no phase: Changed."])
})

it("an answer of one text without a phase needs no order", () => {
  const body = { status: "completed", output: [reasoned("a"), said("m1", "So."), called("c1")] }
  const { reasoningDetails } = completed(decoded(openAiResponses, body, callOf({ model: thinker() })))
  assert.lengthOf(reasoningDetails, 1)
})
