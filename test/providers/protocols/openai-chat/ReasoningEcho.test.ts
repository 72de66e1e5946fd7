import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { Message } from "../../../../src/domain/Conversation.ts"
import type { Effort } from "../../../../src/domain/Reasoning.ts"
import { readChatBody } from "../../../../src/http/chat/ChatBody.ts"
import { openAiChat } from "../../../../src/providers/protocols/openai-chat/OpenAiChat.ts"
import { asSent, bodyOf, callOf, thinker, user } from "../wire.ts"

/** A tool loop without any block that tells who reasoned. */
const loop = (reasoning?: string): ReadonlyArray<Message> => [
  user("q"),
  {
    role: "assistant",
    content: [],
    toolCalls: [{ id: "t1", name: "f", arguments: "{}" }],
    reasoningDetails: [],
    ...(reasoning !== undefined && { reasoning })
  },
  { role: "tool", toolCallId: "t1", content: [{ type: "text", text: "r" }] },
  { role: "assistant", content: [{ type: "text", text: "so" }], toolCalls: [], reasoningDetails: [] },
  user("And?")
]

const assistants = (messages: ReadonlyArray<Message>, effort?: Effort, model = thinker()) => {
  const reasoning = effort && { effort, exclude: false }
  const call = callOf({ dialect: "moonshot", model, request: { messages, ...(reasoning && { reasoning }) } })
  const sent = bodyOf(openAiChat, call)["messages"] as ReadonlyArray<{ role: string; reasoning_content?: string }>
  return sent.filter(({ role }) => role === "assistant").map((message) => asSent(message)["reasoning_content"])
}

describe("Moonshot, which refuses tool calls without the reasoning that led to them,", () => {
  it("gets the reasoning, or a text that stands for it", () => {
    assert.deepStrictEqual(assistants(loop("why"), "high"), ["why", undefined])
    assert.deepStrictEqual(assistants(loop(), "high"), [" ", undefined])
    assert.deepStrictEqual(assistants(loop()), [" ", undefined])
  })

  it("gets nothing in its place from a model that does not think", () => {
    assert.deepStrictEqual(assistants(loop(), "none"), [undefined, undefined])
    assert.deepStrictEqual(assistants(loop(), "high", {}), [undefined, undefined])
  })
})

describe("the reasoning of an assistant message", () => {
  const read = (assistant: object) => {
    const messages = [
      { role: "user", content: "q" },
      { role: "assistant", content: "a", ...assistant }
    ]
    const context = { autoModel: "svc-auto", sessionHeader: undefined }
    const input = Result.getOrThrow(readChatBody(JSON.stringify({ messages }), context))
    return input.request.messages[1]
  }

  it("is read under both of its names, and the contract's own counts where both are given", () => {
    const given = [{ reasoning: "why" }, { reasoning_content: "why" }, { reasoning: "why", reasoning_content: "other" }]
    for (const assistant of given) assert.propertyVal(read(assistant), "reasoning", "why")
    assert.propertyVal(read({ reasoning: "", reasoning_content: "why" }), "reasoning", "why")
    assert.notProperty(read({ reasoning: null, reasoning_content: null }), "reasoning")
  })
})
