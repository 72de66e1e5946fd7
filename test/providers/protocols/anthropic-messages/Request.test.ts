import { assert, it } from "@effect/vitest"

import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { anthropicMessages } from "../../../../src/providers/protocols/anthropic-messages/AnthropicMessages.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import { bodyOf, callOf, failing, thinker, user } from "../wire.ts"

const call = (over: Parameters<typeof callOf>[0] = {}): WireCall => callOf({ dialect: "generic", ...over })
const bodyFor = (request: Partial<ChatRequest>, model = {}): JsonObject =>
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
  const body = bodyFor(everything)
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

it("steers thinking by a budget or by an effort, as the model requires, and switches it off where refused", () => {
  const effort = (effort: "high" | "none") => ({ reasoning: { effort, exclude: false } })
  const seen = (request: Partial<ChatRequest>, model: object) => {
    const { max_tokens: _, output_config, temperature, thinking } = bodyFor({ temperature: 1, ...request }, model)
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

it("has at most four cache breakpoints, the last ones, none of them longer than the one before", () => {
  const text = (text: string, ttl: "5m" | "1h") => ({ type: "text" as const, text, cacheControl: { ttl } })
  const messages: ReadonlyArray<Message> = [
    { role: "system", content: [text("a", "1h"), text("b", "1h")] },
    { role: "user", content: [text("c", "1h"), text("d", "5m"), text(" ", "5m"), text("e", "1h")] }
  ]
  const marks = (request: Partial<ChatRequest>): ReadonlyArray<string> => {
    const { cache_control, messages: turns, system } = bodyFor({ messages, ...request })
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

it("closes answer schemas, and describes the limits that cannot be enforced", () => {
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
  assert.deepStrictEqual(bodyFor({ responseFormat: format })["output_config"], {
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
  const prompted = bodyFor({ responseFormat: { type: "json_object" } })
  assert.notProperty(prompted, "output_config")
  assert.include(JSON.stringify(prompted["system"]), "one JSON object")
  const choice = (required: ReadonlyArray<string>, properties: object) => ({ type: "object", properties, required })
  const parameters = { oneOf: [choice(["a", "b"], { a: {}, b: {} }), choice(["a"], { a: {}, c: {} })] }
  const [input] = bodyFor({ tools: [{ name: "f", parameters }] })["tools"] as ReadonlyArray<JsonObject>
  assert.deepStrictEqual(input?.["input_schema"], {
    type: "object",
    properties: { a: {}, b: {}, c: {} },
    required: ["a"]
  })
})

it("refuses what the model or the API cannot do", () => {
  const part = (part: Message["content"][number]) => ({ messages: [{ role: "user", content: [part] } as Message] })
  const forced = { tools: [tool], toolChoice: { name: "f" } }
  const outcome = (request: Partial<ChatRequest>, model = {}) =>
    failing(anthropicMessages.encode(call({ request, model })))
  assert.strictEqual(outcome(part({ type: "audio", data: "A", format: "wav" })), "Unsupported")
  assert.strictEqual(outcome(part({ type: "image", url: "data:image/tiff;base64,AA" })), "Unsupported")
  assert.strictEqual(outcome(forced, { forcedToolChoice: false }), "Unsupported")
  assert.strictEqual(outcome(forced, thinker({ support: "always" })), "Unsupported")
  assert.strictEqual(outcome(forced, adaptive), "success")
})
