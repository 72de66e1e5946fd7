import { assert, describe, it } from "@effect/vitest"

import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { none } from "../../../../src/domain/Usage.ts"
import { anthropicMessages } from "../../../../src/providers/protocols/anthropic-messages/AnthropicMessages.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import { bodyOf, callOf, completed, decoded, failing, streamed, thinker, user } from "../wire.ts"

const call = (over: Parameters<typeof callOf>[0] = {}): WireCall => callOf({ dialect: "generic", ...over })
const asked = (request: Partial<ChatRequest>, model = {}): JsonObject =>
  bodyOf(anthropicMessages, call({ request, model }))
const tool = { name: "f", description: "d", parameters: { properties: { b: {}, a: {} } } }
const budget = thinker({ budgetTokens: { min: 1_024, max: 32_000 } })
const adaptive = thinker({ efforts: ["low", "medium", "high", "xhigh", "max"] })

const everything: Partial<ChatRequest> = {
  messages: [
    { role: "system", content: [{ type: "text", text: "Be brief." }] },
    {
      role: "user",
      content: [
        { type: "text", text: " " },
        { type: "image", url: "data:image/jpg;base64,AA==" },
        { type: "image", url: "https://x/y.png" }
      ]
    },
    {
      role: "assistant",
      content: [{ type: "text", text: "Looking." }],
      toolCalls: [
        { id: "a:1", name: "f", arguments: `{"x":1}` },
        { id: "a.1", name: "f", arguments: "{broken" }
      ],
      reasoning: "unsigned",
      reasoningDetails: []
    },
    { role: "tool", toolCallId: "a:1", content: [{ type: "text", text: "r", cacheControl: { ttl: "5m" } }] },
    { role: "system", content: [{ type: "text", text: "Hurry." }] },
    {
      role: "tool",
      toolCallId: "a.1",
      content: [
        { type: "text", text: "s" },
        { type: "image", url: "https://x/z.png" }
      ]
    },
    { role: "assistant", content: [{ type: "text", text: "Well" }], toolCalls: [], reasoningDetails: [] }
  ],
  tools: [tool],
  parallelToolCalls: false,
  temperature: 1.5,
  topP: 0.5,
  stop: ["x", "\n"],
  frequencyPenalty: 1,
  promptCacheKey: "k"
}

it("sends a whole request in Anthropic's form", () => {
  const body = asked(everything)
  const [, calls, results] = body["messages"] as ReadonlyArray<{ readonly content: ReadonlyArray<JsonObject> }>
  const second = calls?.content[2]?.["id"]
  assert.match(String(second), /^call_\w{24}$/)
  assert.strictEqual(results?.content[1]?.["tool_use_id"], second)
  assert.deepStrictEqual(body, {
    model: "up",
    max_tokens: 8_192,
    tools: [{ name: "f", description: "d", input_schema: { type: "object", ...tool.parameters } }],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
    system: [{ type: "text", text: "Be brief." }],
    messages: [
      {
        role: "user",
        content: [
          { type: "image", source: { type: "base64", media_type: "image/jpeg", data: "AA==" } },
          { type: "image", source: { type: "url", url: "https://x/y.png" } }
        ]
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Looking." },
          { type: "tool_use", id: "a_1", name: "f", input: { x: 1 } },
          { type: "tool_use", id: second, name: "f", input: { _raw: "{broken" } }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a_1", content: "r", cache_control: { type: "ephemeral" } },
          {
            type: "tool_result",
            tool_use_id: second,
            content: [
              { type: "text", text: "s" },
              { type: "image", source: { type: "url", url: "https://x/z.png" } }
            ]
          },
          { type: "text", text: "<system>" },
          { type: "text", text: "Hurry." },
          { type: "text", text: "</system>" }
        ]
      },
      { role: "assistant", content: [{ type: "text", text: "Well" }] },
      { role: "user", content: [{ type: "text", text: "Continue." }] }
    ],
    temperature: 1,
    stop_sequences: ["x"],
    stream: true
  })
})

it("thinks by budget or by effort, as the model does, and not where it may not", () => {
  const effort = (effort: "high" | "none") => ({ reasoning: { effort, exclude: false } })
  const seen = (request: Partial<ChatRequest>, model: object) => {
    const { max_tokens: _, output_config, temperature, thinking } = asked({ temperature: 1, ...request }, model)
    return [thinking, output_config, temperature]
  }
  const off = { type: "disabled" }
  const binding = { block_binding: { prefix_mismatch_behavior: "drop_block" } }
  const sampling = { sampling: "without_reasoning" as const }
  const summarized = { type: "enabled", display: "summarized" }
  const forced = { ...effort("high"), tools: [tool], toolChoice: "required" as const }
  const cases: ReadonlyArray<readonly [Partial<ChatRequest>, object, ReadonlyArray<unknown>]> = [
    [{}, { ...budget, ...sampling }, [undefined, undefined, 1]],
    [effort("none"), { ...budget, ...sampling }, [off, undefined, 1]],
    [effort("high"), { ...budget, ...sampling }, [{ ...summarized, budget_tokens: 7_168 }, undefined, undefined]],
    [{ ...effort("high"), maxOutputTokens: 3_000 }, budget, [{ ...summarized, budget_tokens: 1_976 }, undefined, 1]],
    [{ ...effort("high"), maxOutputTokens: 2_000 }, budget, [off, undefined, 1]],
    [
      { reasoning: { maxTokens: 2_000, exclude: true } },
      budget,
      [{ type: "enabled", budget_tokens: 2_000, display: "omitted" }, undefined, 1]
    ],
    [
      effort("high"),
      { ...adaptive, ...sampling },
      [{ type: "adaptive", display: "summarized", ...binding }, { effort: "high" }, undefined]
    ],
    [forced, { ...adaptive, ...sampling }, [off, undefined, 1]],
    [
      {
        messages: [
          user("q"),
          { role: "assistant", content: [], toolCalls: [{ id: "a", name: "f", arguments: "" }], reasoningDetails: [] },
          { role: "tool", toolCallId: "a", content: [] }
        ],
        ...effort("high")
      },
      budget,
      [off, undefined, 1]
    ],
    [effort("high"), { sampling: "never" }, [undefined, undefined, undefined]]
  ]
  for (const [request, model, expected] of cases) assert.deepStrictEqual(seen(request, model), expected)
})

it("marks at most four places to cache, the last ones, and none for longer than the one before", () => {
  const text = (text: string, ttl: "5m" | "1h") => ({ type: "text" as const, text, cacheControl: { ttl } })
  const messages: ReadonlyArray<Message> = [
    { role: "system", content: [text("a", "1h"), text("b", "1h")] },
    { role: "user", content: [text("c", "1h"), text("d", "5m"), text(" ", "5m"), text("e", "1h")] }
  ]
  const marks = (request: Partial<ChatRequest>): ReadonlyArray<string> => {
    const { cache_control, messages: turns, system } = asked({ messages, ...request })
    const [turn] = turns as ReadonlyArray<{ readonly content: ReadonlyArray<JsonObject> }>
    const blocks = [...(system as ReadonlyArray<JsonObject>), ...(turn?.content ?? []), { text: "top", cache_control }]
    return blocks.flatMap(({ cache_control: mark, text }) => {
      const { ttl = "5m" } = (mark ?? {}) as JsonObject
      return mark === undefined ? [] : [`${String(text)} ${String(ttl)}`]
    })
  }
  assert.deepStrictEqual(marks({}), ["b 1h", "c 1h", "d 5m", "e 5m"])
  assert.deepStrictEqual(marks({ cacheControl: { ttl: "1h" } }), ["c 1h", "d 5m", "e 5m", "top 5m"])
})

it("closes answer schemas, and says in words what they cannot enforce", () => {
  const schema = {
    $schema: "draft",
    type: "object",
    properties: {
      minimum: { type: "integer", minimum: 1, description: "n" },
      list: { type: "array", minItems: 2, items: { anyOf: [{ type: "object", properties: {} }, { type: "null" }] } }
    },
    required: ["minimum"]
  }
  const format = { type: "json_schema", name: "s", strict: true, schema } as const
  assert.deepStrictEqual(asked({ responseFormat: format })["output_config"], {
    format: {
      type: "json_schema",
      schema: {
        type: "object",
        properties: {
          minimum: { type: "integer", description: "n (minimum: 1)" },
          list: {
            type: "array",
            items: { anyOf: [{ type: "object", properties: {}, additionalProperties: false }, { type: "null" }] },
            description: "(minItems: 2)"
          }
        },
        required: ["minimum"],
        additionalProperties: false
      }
    }
  })
  const words = asked({ responseFormat: { type: "json_object" } })
  assert.notProperty(words, "output_config")
  assert.include(JSON.stringify(words["system"]), "one JSON object")
  const choice = (required: ReadonlyArray<string>, properties: object) => ({ type: "object", properties, required })
  const parameters = { oneOf: [choice(["a", "b"], { a: {}, b: {} }), choice(["a"], { a: {}, c: {} })] }
  const [input] = asked({ tools: [{ name: "f", parameters }] })["tools"] as ReadonlyArray<JsonObject>
  assert.deepStrictEqual(input?.["input_schema"], {
    type: "object",
    properties: { a: {}, b: {}, c: {} },
    required: ["a"]
  })
})

it("refuses what cannot be said faithfully", () => {
  const part = (part: Message["content"][number]) => ({ messages: [{ role: "user", content: [part] } as Message] })
  const forced = { tools: [tool], toolChoice: { name: "f" } }
  const verdict = (request: Partial<ChatRequest>, model = {}) =>
    failing(anthropicMessages.encode(call({ request, model })))
  assert.strictEqual(verdict(part({ type: "audio", data: "A", format: "wav" })), "Unsupported")
  assert.strictEqual(verdict(part({ type: "image", url: "data:image/tiff;base64,AA" })), "Unsupported")
  assert.strictEqual(verdict(forced, { forcedToolChoice: false }), "Unsupported")
  assert.strictEqual(verdict(forced, thinker({ support: "always" })), "Unsupported")
  assert.strictEqual(verdict(forced, adaptive), "success")
})

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
  it("number tools alone, give {} for no input, and ignore blocks of other kinds", () => {
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

  it("count later usage in place of earlier, field by field, in disjoint buckets", () => {
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

  it("read the stop reason by one table", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["end_turn", "stop"],
      ["stop_sequence", "stop"],
      ["pause_turn", "stop"],
      ["max_tokens", "length"],
      ["model_context_window_exceeded", "length"],
      ["refusal", "content_filter"],
      ["sensitive", "content_filter"],
      ["new_reason", "broken"]
    ]
    for (const [stop_reason, expected] of cases)
      for (const result of [
        streamed(anthropicMessages, [start, ...end(stop_reason)], call()),
        decoded(anthropicMessages, { content: [], stop_reason }, call())
      ]) {
        const seen = failing(result)
        assert.strictEqual(seen === "success" ? completed(result).finishReason : seen, expected, stop_reason)
      }
  })

  it("break on errors, on a missing end and on strange bodies", () => {
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

  it.each(["plain", "streamed"])("goes back unchanged, in order and only to its origin (%s)", (kind) => {
    const messages: Array<Message> = [user("q")]
    for (const id of ["t1", "t2", "t3"]) {
      const body = answer(id)
      const asking = call({ model: adaptive, request: { messages: [...messages] } })
      const said = completed(
        kind === "plain"
          ? decoded(anthropicMessages, body, asking)
          : streamed(anthropicMessages, asFrames(body), asking)
      )
      messages.push(
        { ...said, role: "assistant", content: [{ type: "text", text: said.content }] },
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

  it("keeps, when excluded, only the blocks that are valid without their text", () => {
    const asking = call({ model: adaptive, request: { reasoning: { exclude: true } } })
    for (const result of [
      decoded(anthropicMessages, answer("t"), asking),
      streamed(anthropicMessages, asFrames(answer("t")), asking)
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
