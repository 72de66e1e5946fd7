/** What of a conversation an endpoint does not get is named, and what it gets is not. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { AssistantMessage, ReasoningDetail, Tool } from "../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import { omittedContent } from "../../../src/providers/protocols/OmittedContent.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { callOf, thinker, user } from "./wire.ts"

const names = ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse"] as const
type Name = (typeof names)[number]

/** Models that sign or encrypt what they think, as each protocol knows them. */
const call = callOf({
  upstream: "anthropic.claude-x",
  origin: "lab/m",
  dialect: "openrouter",
  model: thinker({ efforts: ["low", "medium", "high"] })
})

/** An answer of a model of each protocol, with its thinking. */
const answers: { readonly [N in Name]: ReadonlyArray<readonly [event: string, data: JsonObject]> } = {
  "openai-chat": [
    ["", { choices: [{ delta: { reasoning_details: [{ type: "reasoning.text", text: "Hm.", signature: "c2ln" }] } }] }],
    ["", { choices: [{ delta: { content: "Yes." }, finish_reason: "stop" }] }]
  ],
  "openai-responses": [
    ["", { type: "response.output_item.added", output_index: 0, item: { type: "reasoning", id: "rs_1", summary: [] } }],
    [
      "",
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2ln" }
      }
    ],
    ["", { type: "response.output_text.delta", output_index: 1, content_index: 0, delta: "Yes." }],
    ["", { type: "response.completed", response: { status: "completed", output: [] } }]
  ],
  "anthropic-messages": [
    ["message_start", { type: "message_start", message: { id: "m" } }],
    [
      "content_block_start",
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } }
    ],
    ["content_block_delta", { type: "content_block_delta", index: 0, delta: { thinking: "Hm." } }],
    ["content_block_delta", { type: "content_block_delta", index: 0, delta: { signature: "c2ln" } }],
    ["content_block_stop", { type: "content_block_stop", index: 0 }],
    ["content_block_start", { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } }],
    ["content_block_delta", { type: "content_block_delta", index: 1, delta: { text: "Yes." } }],
    ["content_block_stop", { type: "content_block_stop", index: 1 }],
    ["message_delta", { type: "message_delta", delta: { stop_reason: "end_turn" } }],
    ["message_stop", { type: "message_stop" }]
  ],
  gemini: [
    ["", { candidates: [{ content: { parts: [{ text: "Hm.", thought: true }] } }] }],
    ["", { candidates: [{ content: { parts: [{ text: "Yes.", thoughtSignature: "c2ln" }] }, finishReason: "STOP" }] }]
  ],
  "bedrock-converse": [
    ["contentBlockDelta", { contentBlockIndex: 0, delta: { reasoningContent: { text: "Hm." } } }],
    ["contentBlockDelta", { contentBlockIndex: 0, delta: { reasoningContent: { signature: "c2ln" } } }],
    ["contentBlockStop", { contentBlockIndex: 0 }],
    ["contentBlockDelta", { contentBlockIndex: 1, delta: { text: "Yes." } }],
    ["contentBlockStop", { contentBlockIndex: 1 }],
    ["messageStop", { stopReason: "end_turn" }],
    ["metadata", { usage: {} }]
  ]
}

/** The thinking in the answer of a model of this protocol. */
const detailsOf = (name: Name): ReadonlyArray<ReasoningDetail> => {
  const reader = protocols[name].reader(call)
  const steps = answers[name].flatMap(([event, data]) =>
    Result.getOrThrow(reader.step({ event, data: JSON.stringify(data) }))
  )
  return [...steps, ...Result.getOrThrow(reader.finish())].flatMap((event) =>
    event.type === "detail" ? [event.detail] : []
  )
}

const nextTurn = (more: Partial<AssistantMessage>, tools: ReadonlyArray<Tool> = []) => {
  const message: AssistantMessage = {
    role: "assistant",
    content: [{ type: "text", text: "Yes." }],
    toolCalls: [],
    reasoningDetails: [],
    ...more
  }
  return { ...call, request: { ...call.request, tools, messages: [user("Is it?"), message, user("Why?")] } }
}

const sentTo = (name: Name, wire: ReturnType<typeof nextTurn>): string =>
  JSON.stringify(Result.getOrThrow(protocols[name].encode(wire)).body)

describe("Thinking that is sent back", () => {
  for (const from of names)
    for (const to of names)
      it(`from ${from} to ${to} is carried by the model that made it, and named by others`, () => {
        const reasoningDetails = detailsOf(from)
        assert.isAbove(reasoningDetails.length, 0)
        const own = nextTurn({ reasoningDetails })
        if (from === to) {
          assert.include(sentTo(to, own), "c2ln")
          assert.deepStrictEqual(omittedContent(to, own), [])
        }
        const foreign = { ...own, origin: "other/m" }
        assert.notInclude(sentTo(to, foreign), "c2ln")
        assert.deepStrictEqual(omittedContent(to, foreign), ["messages.reasoning_details=omitted"])
      })

  for (const name of ["anthropic-messages", "bedrock-converse", "gemini"] as const)
    it(`by ${name} is named when it does not fit its signature any more`, () => {
      const reasoningDetails = detailsOf(name).map((detail) =>
        detail["text"] ? { ...detail, text: "Changed" } : detail
      )
      const text = name === "gemini" ? "Changed as well" : "Yes."
      const wire = nextTurn({ reasoningDetails, content: [{ type: "text", text }] })
      assert.notInclude(sentTo(name, wire), "c2ln")
      assert.deepStrictEqual(omittedContent(name, wire), ["messages.reasoning_details=omitted"])
    })

  it("as a text alone is named where there is no place for it", () => {
    const wire = nextTurn({ reasoning: "Hm, so." })
    for (const name of names) {
      assert.notInclude(sentTo(name, wire), "Hm, so.")
      assert.deepStrictEqual(omittedContent(name, wire), ["messages.reasoning=omitted"])
    }
    const echoing = { ...wire, dialect: "deepseek" as const }
    assert.include(sentTo("openai-chat", echoing), "Hm, so.")
    assert.deepStrictEqual(omittedContent("openai-chat", echoing), [])
  })
})

describe("A schema of a tool", () => {
  const choice = (name: string) => ({ properties: { [name]: { type: "string" } }, required: [name] })
  const tools = (parameters: JsonObject) => [{ name: "find", parameters }]

  it("with choices at its root is named where they are merged", () => {
    const wire = nextTurn({}, tools({ type: "object", anyOf: [choice("city"), choice("zip")] }))
    for (const name of names) {
      const isMerged = !sentTo(name, wire).includes("anyOf")
      assert.deepStrictEqual(omittedContent(name, wire), isMerged ? ["tools.function.parameters=merged"] : [], name)
    }
    assert.deepStrictEqual(
      names.filter((name) => omittedContent(name, wire).length > 0),
      ["anthropic-messages", "bedrock-converse"]
    )
  })

  it("without them is not", () => {
    const inside = { type: "object", properties: { place: { anyOf: [choice("city"), choice("zip")] } } }
    for (const name of names) assert.deepStrictEqual(omittedContent(name, nextTurn({}, tools(inside))), [])
  })
})
