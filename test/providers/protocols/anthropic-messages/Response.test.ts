import { assert, describe, it } from "@effect/vitest"

import type { Message } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { none } from "../../../../src/domain/Usage.ts"
import { anthropicMessages } from "../../../../src/providers/protocols/anthropic-messages/AnthropicMessages.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import { bodyOf, callOf, completed, decoded, failing, outcome, streamed, thinker, user } from "../wire.ts"

const call = (over: Parameters<typeof callOf>[0] = {}): WireCall => callOf({ dialect: "generic", ...over })
const adaptive = thinker({ efforts: ["low", "medium", "high", "xhigh", "max"] })

const frame = (type: string, more: JsonObject = {}): JsonObject => ({ type, ...more })
const block = (
  index: number,
  content_block: JsonObject,
  ...deltas: ReadonlyArray<JsonObject>
): ReadonlyArray<JsonObject> => [
  frame("content_block_start", { index, content_block }),
  ...deltas.map((delta) => frame("content_block_delta", { index, delta })),
  frame("content_block_stop", { index })
]
const start = frame("message_start", { message: { id: "m", usage: { input_tokens: 3, output_tokens: 1 } } })
const end = (stop_reason: string, usage: JsonObject = {}): ReadonlyArray<JsonObject> => [
  frame("message_delta", { delta: { stop_reason }, usage }),
  frame("message_stop")
]

describe("answers", () => {
  it("number tool calls among themselves, give {} for no input, and ignore other kinds of blocks", () => {
    const frames = [
      start,
      ...block(
        0,
        { type: "server_tool_use", id: "s", name: "search" },
        { type: "input_json_delta", partial_json: "{}" }
      ),
      ...block(1, { type: "tool_use", id: "a", name: "f", input: {} }, { type: "input_json_delta", partial_json: "" }),
      ...block(4, { type: "tool_use", name: "g", input: { whole: 1 } }),
      ...end("tool_use")
    ]
    const { finishReason, toolCalls } = completed(streamed(anthropicMessages, frames, call()))
    assert.deepStrictEqual(
      toolCalls.map((tool) => [tool.name, tool.arguments]),
      [
        ["f", "{}"],
        ["g", `{"whole":1}`]
      ]
    )
    assert.match(toolCalls[1]?.id ?? "", /^call_\w{24}$/)
    assert.strictEqual(finishReason, "tool_calls")
  })

  it("take usage from the last event that has it, field by field, in disjoint buckets", () => {
    const first = {
      input_tokens: 10,
      output_tokens: 1,
      cache_read_input_tokens: 7,
      cache_creation_input_tokens: 5,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 }
    }
    const opening = frame("message_start", { message: { usage: first } })
    const last = { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } }
    const frames = [opening, frame("ping"), ...block(0, { type: "text", text: "a" }), ...end("end_turn", last)]
    const expected = { ...none, input: 10, cacheRead: 7, cacheWrite5m: 3, cacheWrite1h: 2, output: 9, reasoning: 4 }
    assert.deepStrictEqual(completed(streamed(anthropicMessages, frames, call())).usage, expected)
    const body = { content: [{ type: "text", text: "a" }], stop_reason: "end_turn", usage: { ...first, ...last } }
    assert.deepStrictEqual(completed(decoded(anthropicMessages, body, call())).usage, expected)
  })

  it("translate stop reasons by one table", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["end_turn", "stop"],
      ["stop_sequence", "stop"],
      ["pause_turn", "stop"],
      ["max_tokens", "length"],
      ["model_context_window_exceeded", "length"],
      ["refusal", "content_filter"],
      ["sensitive", "content_filter"],
      ["new_reason", "stop"],
      ["content_blocked_by_policy", "content_filter"],
      ["output_limit_reached", "length"],
      ["backend_error", "broken"]
    ]
    for (const [stop_reason, expected] of cases)
      for (const result of [
        streamed(anthropicMessages, [start, ...end(stop_reason)], call()),
        decoded(anthropicMessages, { content: [], stop_reason }, call())
      ])
        assert.strictEqual(outcome(result), expected, stop_reason)
  })

  it("fail on errors, on a missing end and on unknown bodies", () => {
    const overloaded = frame("error", { error: { type: "overloaded_error", message: "Overloaded" } })
    const text = block(0, { type: "text", text: "a" })
    const streams: ReadonlyArray<readonly [ReadonlyArray<JsonObject | string>, string]> = [
      [[start, overloaded], "overloaded"],
      [[start, ...text], "broken"],
      [[start, ...text, frame("message_delta", { delta: { stop_reason: "end_turn" } })], "broken"],
      [[start, frame("message_stop")], "broken"],
      [[start, "{"], "broken"],
      [[start, start, ...text, ...end("end_turn")], "success"]
    ]
    for (const [frames, expected] of streams)
      assert.strictEqual(failing(streamed(anthropicMessages, frames, call())), expected)
    for (const body of [
      null,
      [],
      {},
      { content: [], stop_reason: null },
      { content: [{ type: "tool_use" }], stop_reason: "tool_use" }
    ])
      assert.strictEqual(failing(decoded(anthropicMessages, body, call())), "broken")
    assert.strictEqual(failing(decoded(anthropicMessages, overloaded, call())), "overloaded")
  })
})

describe("thinking over the turns of a tool loop", () => {
  const thinking = [
    { type: "thinking", thinking: "why", signature: "s1" },
    { type: "redacted_thinking", data: "hidden" },
    { type: "thinking", thinking: "", signature: "s2" }
  ]
  const answer = (id: string): JsonObject => ({
    content: [...thinking, { type: "text", text: "so" }, { type: "tool_use", id, name: "f", input: {} }],
    stop_reason: "tool_use"
  })
  const asFrames = (body: JsonObject): ReadonlyArray<JsonObject> => [
    start,
    ...(body["content"] as ReadonlyArray<JsonObject>).flatMap((part, index) =>
      part["type"] === "thinking"
        ? block(
            index,
            { type: "thinking", thinking: "", signature: "" },
            { thinking: part["thinking"] },
            { signature: part["signature"] }
          )
        : block(index, part)
    ),
    ...end("tool_use")
  ]
  const turns = (messages: ReadonlyArray<Message>, origin: string): ReadonlyArray<JsonObject> =>
    bodyOf(
      anthropicMessages,
      call({ origin, model: adaptive, request: { messages, reasoning: { effort: "high", exclude: false } } })
    )["messages"] as ReadonlyArray<JsonObject>

  it.each(["plain", "streamed"])("is sent back unchanged, in order and only to its origin (%s)", (kind) => {
    const messages: Array<Message> = [user("q")]
    for (const id of ["t1", "t2", "t3"]) {
      const body = answer(id)
      const asked = call({ model: adaptive, request: { messages: [...messages] } })
      const answered = completed(
        kind === "plain" ? decoded(anthropicMessages, body, asked) : streamed(anthropicMessages, asFrames(body), asked)
      )
      messages.push(
        { ...answered, role: "assistant", content: [{ type: "text", text: answered.content }] },
        { role: "tool", toolCallId: id, content: [{ type: "text", text: "r" }] }
      )
      const assistants = turns(messages, "lab/up").filter((turn) => turn["role"] === "assistant")
      assert.deepStrictEqual(
        assistants.map((turn) => turn["content"]),
        ["t1", "t2", "t3"].slice(0, assistants.length).map((turn) => answer(turn)["content"])
      )
      assert.notMatch(JSON.stringify(turns(messages, "lab/other")), /thinking|why|s1|hidden/)
    }
    assert.strictEqual(messages.length, 7)
  })

  it("keeps only the blocks that are valid without their text if the client excludes reasoning", () => {
    const asked = call({ model: adaptive, request: { reasoning: { exclude: true } } })
    for (const result of [
      decoded(anthropicMessages, answer("t"), asked),
      streamed(anthropicMessages, asFrames(answer("t")), asked)
    ]) {
      const { reasoning, reasoningDetails } = completed(result)
      assert.strictEqual(reasoning, "")
      assert.deepStrictEqual(
        reasoningDetails.map((detail) => detail["data"] ?? detail["signature"]),
        ["hidden", "s2"]
      )
    }
  })
})
