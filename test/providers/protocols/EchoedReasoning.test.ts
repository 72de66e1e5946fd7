/** Reasoning as clients send it back: whole, in the pieces it came in, both, only the last piece, or changed. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { CompletionEvent } from "../../../src/domain/Completion.ts"
import type { Message, ReasoningDetail } from "../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import { joinedDetails } from "../../../src/domain/ReasoningBlocks.ts"
import type { WireCall } from "../../../src/providers/protocols/Protocol.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { bodyOf, callOf, thinker, user } from "./wire.ts"

const model = thinker({ efforts: ["low", "medium", "high", "xhigh", "max"] })

interface Way {
  readonly call: WireCall
  readonly protocol: keyof typeof protocols
  readonly frames: ReadonlyArray<readonly [event: string, data: JsonObject]>
}

const named = (data: JsonObject): readonly [string, JsonObject] => [String(data["type"]), data]
const claudeBlock = (index: number, content_block: JsonObject, ...deltas: ReadonlyArray<JsonObject>) => [
  named({ type: "content_block_start", index, content_block }),
  ...deltas.map((delta) => named({ type: "content_block_delta", index, delta })),
  named({ type: "content_block_stop", index })
]
const thinkingBlock = (index: number, signature: string, ...texts: ReadonlyArray<string>) =>
  claudeBlock(index, { type: "thinking", thinking: "" }, ...texts.map((thinking) => ({ thinking })), { signature })

const anthropic: Way = {
  call: callOf({ dialect: "generic", model, request: { reasoning: { effort: "high", exclude: false } } }),
  protocol: "anthropic-messages",
  frames: [
    named({ type: "message_start", message: { id: "m" } }),
    ...thinkingBlock(0, "sig1", "Let me ", "see."),
    ...claudeBlock(1, { type: "text", text: "" }, { text: "First, " }, { text: "this." }),
    ...thinkingBlock(2, "sig2", "And ", "then?"),
    ...claudeBlock(3, { type: "redacted_thinking", data: "hidden" }),
    ...claudeBlock(4, { type: "text", text: "" }, { text: "Then that." }),
    ...thinkingBlock(5, "sig3", ""),
    ...claudeBlock(6, { type: "tool_use", id: "t1", name: "f", input: { a: 1 } }),
    named({ type: "message_delta", delta: { stop_reason: "tool_use" } }),
    named({ type: "message_stop" })
  ]
}

const converse = (contentBlockIndex: number, ...deltas: ReadonlyArray<JsonObject>) => [
  ...deltas.map((delta) => ["contentBlockDelta", { contentBlockIndex, delta }] as const),
  ["contentBlockStop", { contentBlockIndex }] as const
]
const bedrock: Way = {
  call: callOf({ upstream: "anthropic.claude-x", model, request: { reasoning: { effort: "high", exclude: false } } }),
  protocol: "bedrock-converse",
  frames: [
    ...converse(
      0,
      { reasoningContent: { text: "Let me " } },
      { reasoningContent: { text: "see." } },
      { reasoningContent: { signature: "sig1" } }
    ),
    ...converse(1, { text: "First, " }, { text: "this." }),
    ...converse(2, { reasoningContent: { text: "And then?" } }, { reasoningContent: { signature: "sig2" } }),
    ...converse(3, { text: "Then that." }),
    ["contentBlockStart", { contentBlockIndex: 4, start: { toolUse: { toolUseId: "t1", name: "f" } } }],
    ...converse(4, { toolUse: { input: `{"a":1}` } }),
    ["messageStop", { stopReason: "tool_use" }],
    ["metadata", { usage: {} }]
  ]
}

/** The events of the stream, and the content that the model gave, as it has to come back. */
const eventsOf = ({ call, frames, protocol }: Way): ReadonlyArray<CompletionEvent> => {
  const reader = protocols[protocol].reader(call)
  const steps = frames.flatMap(([event, data]) => Result.getOrThrow(reader.step({ event, data: JSON.stringify(data) })))
  return [...steps, ...Result.getOrThrow(reader.finish())]
}

const piecesOf = (way: Way): ReadonlyArray<ReasoningDetail> =>
  eventsOf(way).flatMap((event) => (event.type === "detail" ? [event.detail] : []))

/** The assistant's content in the next request, when the client sends these details back. */
const echoed = (way: Way, reasoningDetails: ReadonlyArray<ReasoningDetail>, content?: string): unknown => {
  const text = eventsOf(way).map((event) => (event.type === "text" ? event.text : ""))
  const messages: ReadonlyArray<Message> = [
    user("q"),
    {
      role: "assistant",
      content: [{ type: "text", text: content ?? text.join("") }],
      toolCalls: [{ id: "t1", name: "f", arguments: `{"a":1}` }],
      reasoningDetails
    },
    { role: "tool", toolCallId: "t1", content: [{ type: "text", text: "r" }] }
  ]
  const sent = bodyOf(protocols[way.protocol], { ...way.call, request: { ...way.call.request, messages } })
  return (sent["messages"] as ReadonlyArray<JsonObject>)[1]?.["content"]
}

const use = { type: "tool_use", id: "t1", name: "f", input: { a: 1 } }
const toolUse = { toolUse: { toolUseId: "t1", name: "f", input: { a: 1 } } }
const text = (text: string) => ({ type: "text", text })
const thinking = (thinking: string, signature: string) => ({ type: "thinking", thinking, signature })
const reasoned = (text: string, signature: string) => ({ reasoningContent: { reasoningText: { text, signature } } })

const whole: { readonly [name: string]: ReadonlyArray<JsonObject> } = {
  "anthropic-messages": [
    thinking("Let me see.", "sig1"),
    text("First, this."),
    thinking("And then?", "sig2"),
    { type: "redacted_thinking", data: "hidden" },
    text("Then that."),
    thinking("", "sig3"),
    use
  ],
  "bedrock-converse": [
    reasoned("Let me see.", "sig1"),
    { text: "First, this." },
    reasoned("And then?", "sig2"),
    { text: "Then that." },
    toolUse
  ]
}

for (const way of [anthropic, bedrock])
  describe(`thinking of ${way.protocol}`, () => {
    const pieces = piecesOf(way)
    const expected = whole[way.protocol] ?? []
    const blocks = joinedDetails(pieces)

    it("comes back whole and in its places from a client that sends the pieces, the blocks, or both", () => {
      assert.isAbove(pieces.length, blocks.length)
      for (const details of [pieces, blocks, [...pieces, ...blocks]])
        assert.deepStrictEqual(echoed(way, details), expected)
    })

    it("counts as unsigned when the client has lost or changed its text", () => {
      const signatures = pieces.filter(({ signature }) => signature !== undefined)
      const changed = blocks.map((block) => (block["text"] ? { ...block, text: `${String(block["text"])}!` } : block))
      const doubled = blocks.map((block) => ({ ...block, text: `${String(block["text"])}${String(block["text"])}` }))
      for (const details of [signatures, changed, doubled])
        assert.notMatch(JSON.stringify(echoed(way, details)), /sig1|sig2|see|then\?/)
    })

    it("comes back from clients that join pieces and keep the id of the first", () => {
      const first = pieces.filter(({ index }) => index === 0)
      const joined = { ...first[0], text: "Let me see.", signature: "sig1" }
      assert.deepStrictEqual((echoed(way, [joined]) as ReadonlyArray<unknown>)[0], expected[0])
    })

    it("stands as near to its place as a shorter text allows", () => {
      const content = echoed(way, blocks, "First") as ReadonlyArray<JsonObject>
      assert.deepStrictEqual(content.slice(0, 3), [expected[0], { ...expected[1], text: "First" }, expected[2]])
    })
  })

describe("pieces of blocks", () => {
  const piece = (index: number, text: string, more: JsonObject = {}) => ({
    type: "reasoning.text",
    text,
    index,
    ...more
  })

  it("join by type, index and id, whatever stands between them", () => {
    const joined = joinedDetails([
      piece(0, "a"),
      piece(1, "x"),
      piece(0, "b", { signature: "s" }),
      { type: "reasoning.summary", summary: "c", index: 0 },
      { type: "reasoning.summary", summary: "d", index: 0 },
      piece(1, "y"),
      piece(0, "next"),
      { type: "reasoning.encrypted", data: "e", index: 0 },
      { type: "reasoning.encrypted", data: "e", index: 0 }
    ])
    assert.deepStrictEqual(joined, [
      piece(0, "ab", { signature: "s" }),
      piece(1, "xy"),
      { type: "reasoning.summary", summary: "cd", index: 0 },
      piece(0, "next"),
      { type: "reasoning.encrypted", data: "e", index: 0 },
      { type: "reasoning.encrypted", data: "e", index: 0 }
    ])
  })

  it("stay apart without an index", () => {
    const details = [
      { type: "reasoning.text", text: "a" },
      { type: "reasoning.text", text: "b", index: null }
    ]
    assert.deepStrictEqual(joinedDetails([...details, ...details]), [...details, ...details])
  })
})
