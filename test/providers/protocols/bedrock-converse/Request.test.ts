import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { Model } from "../../../../src/catalog/Model.ts"
import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { bedrockConverse } from "../../../../src/providers/protocols/bedrock-converse/BedrockConverse.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import { bodyOf, callOf, failing, thinker, user } from "../wire.ts"

const claude = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
const nova = "us.amazon.nova-2-lite-v1:0"
const call = (over: Parameters<typeof callOf>[0] = {}): WireCall =>
  callOf({ dialect: "generic", upstream: claude, ...over })
const bodyFor = (request: Partial<ChatRequest>, model: Partial<Model> = {}, upstream = claude): JsonObject =>
  bodyOf(bedrockConverse, call({ request, model, upstream }))
const tool = { name: "f", description: "d", parameters: { properties: { b: {}, a: {} } } }
const budget = thinker({ budgetTokens: { min: 1_024, max: 32_000 } })
const adaptive = thinker({ efforts: ["low", "medium", "high", "xhigh", "max"] })
const high = { reasoning: { effort: "high", exclude: false } } as const

const everything: Partial<ChatRequest> = {
  messages: [
    { role: "system", content: [{ type: "text", text: "Be brief.", cacheControl: { ttl: "1h" } }] },
    { role: "assistant", content: [{ type: "text", text: "Hello." }], toolCalls: [], reasoningDetails: [] },
    {
      role: "user",
      content: [
        { type: "text", text: " " },
        { type: "image", url: "data:image/jpg;base64,AA==" }
      ]
    },
    {
      role: "assistant",
      content: [{ type: "text", text: "Looking." }],
      toolCalls: [
        { id: "a:1", name: "f", arguments: `{"x":1}` },
        { id: "b", name: "f", arguments: "{broken" },
        { id: "c", name: "f", arguments: "" }
      ],
      reasoning: "unsigned",
      reasoningDetails: []
    },
    { role: "tool", toolCallId: "b", content: [] },
    { role: "system", content: [{ type: "text", text: "Hurry." }] },
    {
      role: "tool",
      toolCallId: "a:1",
      content: [
        { type: "text", text: "r", cacheControl: { ttl: "5m" } },
        { type: "image", url: "data:image/png;base64,BB==" }
      ]
    },
    { role: "assistant", content: [{ type: "text", text: "\n" }], toolCalls: [], reasoningDetails: [] }
  ],
  tools: [tool],
  toolChoice: { name: "f" },
  parallelToolCalls: false,
  temperature: 1.5,
  topP: 0.5,
  stop: ["x", "\n"],
  frequencyPenalty: 1,
  cacheControl: { ttl: "1h" }
}

describe("a request", () => {
  it("has Converse's form, with the model and the kind of answer in its path", () => {
    const { framing, headers, path } = Result.getOrThrow(bedrockConverse.encode(call()))
    assert.strictEqual(path, "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse-stream")
    assert.strictEqual(framing, "aws-event-stream")
    assert.deepStrictEqual(headers, {})
    assert.strictEqual(
      Result.getOrThrow(bedrockConverse.encode(call({ stream: false, upstream: "arn:aws:x/y" }))).path,
      "/model/arn%3Aaws%3Ax%2Fy/converse"
    )
    assert.deepStrictEqual(bodyFor(everything), {
      toolConfig: {
        tools: [
          {
            toolSpec: { name: "f", description: "d", inputSchema: { json: { type: "object", ...tool.parameters } } }
          }
        ],
        toolChoice: { tool: { name: "f" } }
      },
      system: [{ text: "Be brief." }, { cachePoint: { type: "default", ttl: "1h" } }],
      messages: [
        { role: "user", content: [{ text: "Continue." }] },
        { role: "assistant", content: [{ text: "Hello." }] },
        { role: "user", content: [{ image: { format: "jpeg", source: { bytes: "AA==" } } }] },
        {
          role: "assistant",
          content: [
            { text: "Looking." },
            { toolUse: { toolUseId: "a_1", name: "f", input: { x: 1 } } },
            { toolUse: { toolUseId: "b", name: "f", input: { _raw: "{broken" } } },
            { toolUse: { toolUseId: "c", name: "f", input: {} } }
          ]
        },
        {
          role: "user",
          content: [
            {
              toolResult: {
                toolUseId: "a_1",
                content: [{ text: "r" }, { image: { format: "png", source: { bytes: "BB==" } } }],
                status: "success"
              }
            },
            { cachePoint: { type: "default" } },
            { toolResult: { toolUseId: "b", content: [{ text: "(empty)" }], status: "success" } },
            { toolResult: { toolUseId: "c", content: [{ text: "The tool gave no result." }], status: "error" } },
            { text: "<system>" },
            { text: "Hurry." },
            { text: "</system>" },
            { cachePoint: { type: "default" } }
          ]
        }
      ],
      inferenceConfig: { maxTokens: 8_192, temperature: 1, stopSequences: ["x"] }
    })
  })

  it("has at most four cache points, and none or shorter ones where the model refuses them", () => {
    const text = (text: string) => ({ type: "text" as const, text, cacheControl: { ttl: "1h" as const } })
    const messages: ReadonlyArray<Message> = [{ role: "user", content: ["a", "b", "c", "d", "e"].map(text) }]
    const contents = (upstream: string) => JSON.stringify(bodyFor({ messages }, {}, upstream)["messages"])
    assert.strictEqual(contents(claude).match(/"cachePoint":{"type":"default","ttl":"1h"}/g)?.length, 4)
    assert.strictEqual(contents(nova).match(/"cachePoint":{"type":"default"}/g)?.length, 4)
    assert.notInclude(contents("us.meta.llama4-scout-17b-instruct-v1:0"), "cachePoint")
  })

  it("declares the tools of its history, and forbids calls in a sentence where none is allowed", () => {
    const used: ReadonlyArray<Message> = [
      user("q"),
      { role: "assistant", content: [], toolCalls: [{ id: "a", name: "g", arguments: "" }], reasoningDetails: [] },
      { role: "tool", toolCallId: "a", content: [{ type: "text", text: "r" }] }
    ]
    const seen = (request: Partial<ChatRequest>) => {
      const { messages, toolConfig } = bodyFor(request)
      const { toolChoice, tools } = (toolConfig ?? {}) as { toolChoice?: unknown; tools?: ReadonlyArray<JsonObject> }
      const names = tools?.map(({ toolSpec }) => (toolSpec as JsonObject)["name"])
      return [names, toolChoice, JSON.stringify(messages).includes("without calling a tool")]
    }
    const tools = [tool]
    assert.deepStrictEqual(seen({}), [undefined, undefined, false])
    assert.deepStrictEqual(seen({ tools, toolChoice: "none" }), [undefined, undefined, false])
    assert.deepStrictEqual(seen({ tools, toolChoice: "required" }), [["f"], { any: {} }, false])
    assert.deepStrictEqual(seen({ messages: used, tools }), [["f"], undefined, false])
    assert.deepStrictEqual(seen({ messages: used, tools, toolChoice: "none" }), [["f"], undefined, true])
    assert.deepStrictEqual(seen({ messages: used }), [["g"], undefined, true])
  })

  it("enforces a schema where the model can, and asks for it in a sentence elsewhere", () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 1 } } }
    const format = { type: "json_schema", name: "s", description: "d", strict: true, schema } as const
    const { outputConfig, system } = bodyFor({ responseFormat: format })
    assert.strictEqual(system, undefined)
    assert.deepStrictEqual(outputConfig, {
      textFormat: {
        type: "json_schema",
        structure: {
          jsonSchema: {
            name: "s",
            description: "d",
            schema: JSON.stringify({
              type: "object",
              properties: { n: { type: "integer", description: "(minimum: 1)" } },
              additionalProperties: false
            })
          }
        }
      }
    })
    const prompted = bodyFor({ responseFormat: format }, {}, nova)
    assert.notProperty(prompted, "outputConfig")
    assert.include(JSON.stringify(prompted["system"]), JSON.stringify(JSON.stringify(schema)).slice(1, -1))
    assert.include(JSON.stringify(bodyFor({ responseFormat: { type: "json_object" } })["system"]), "one JSON object")
  })

  it("is refused if the model or the API cannot do what it asks", () => {
    const part = (part: Message["content"][number]) => ({ messages: [{ role: "user", content: [part] } as Message] })
    const forced = { tools: [tool], toolChoice: "required" } as const
    const outcome = (request: Partial<ChatRequest>, model = {}) =>
      failing(bedrockConverse.encode(call({ request, model })))
    assert.strictEqual(outcome(part({ type: "audio", data: "A", format: "wav" })), "Unsupported")
    assert.strictEqual(outcome(part({ type: "image", url: "https://x/y.png" })), "Unsupported")
    assert.strictEqual(outcome(part({ type: "image", url: "data:image/tiff;base64,AA" })), "Unsupported")
    assert.strictEqual(outcome(forced, { forcedToolChoice: false }), "Unsupported")
    assert.strictEqual(outcome(forced, thinker({ support: "always" })), "Unsupported")
    assert.strictEqual(outcome(forced, adaptive), "success")
    const format = { type: "json_schema", name: "s", strict: true, schema: {} } as const
    assert.strictEqual(outcome({ responseFormat: format }, { structuredOutput: false }), "Unsupported")
  })
})

describe("thinking", () => {
  const off = { reasoning: { effort: "none", exclude: false } } as const
  const limited = { maxOutputTokens: 3_000 }
  const seen = (request: Partial<ChatRequest>, model: Partial<Model>, upstream: string) => {
    const { additionalModelRequestFields, inferenceConfig } = bodyFor({ temperature: 0.5, ...request }, model, upstream)
    return [additionalModelRequestFields, inferenceConfig]
  }
  const base = { maxTokens: 8_192, temperature: 0.5 }
  const binding = { block_binding: { prefix_mismatch_behavior: "drop_block" } }
  const opus = "us.anthropic.claude-opus-5-5"

  it.each<readonly [string, Partial<ChatRequest>, Partial<Model>, string, ReadonlyArray<unknown>]>([
    ["is left to the model", {}, budget, claude, [undefined, base]],
    ["off, Claude", off, budget, claude, [{ thinking: { type: "disabled" } }, base]],
    [
      "by budget, within the client's limit",
      { ...high, ...limited },
      { ...budget, sampling: "without_reasoning" },
      claude,
      [{ thinking: { type: "enabled", budget_tokens: 1_976, display: "summarized" } }, { maxTokens: 3_000 }]
    ],
    [
      "by effort, hidden",
      { reasoning: { effort: "xhigh", exclude: true } },
      { ...adaptive, sampling: "never" },
      opus,
      [
        {
          thinking: { type: "adaptive", display: "omitted", ...binding },
          output_config: { effort: "xhigh" },
          anthropic_beta: ["thinking-binding-controls-2026-08-01"]
        },
        { maxTokens: 8_192 }
      ]
    ],
    [
      "off beside a forced tool",
      { ...high, tools: [tool], toolChoice: "required" },
      adaptive,
      opus,
      [{ thinking: { type: "disabled" } }, base]
    ],
    [
      "off in a tool loop without signed thinking",
      {
        ...high,
        messages: [
          user("q"),
          { role: "assistant", content: [], toolCalls: [{ id: "a", name: "f", arguments: "" }], reasoningDetails: [] }
        ]
      },
      budget,
      claude,
      [{ thinking: { type: "disabled" } }, base]
    ],
    ["off, Nova", off, thinker(), nova, [{ reasoningConfig: { type: "disabled" } }, base]],
    [
      "Nova at medium",
      { reasoning: { effort: "medium", exclude: false } },
      thinker(),
      nova,
      [{ reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" } }, base]
    ],
    [
      "Nova at high, which takes no limits and no sampling",
      { ...high, stop: ["x"] },
      thinker(),
      nova,
      [{ reasoningConfig: { type: "enabled", maxReasoningEffort: "high" } }, { stopSequences: ["x"] }]
    ],
    [
      "Nova at high with a limit, which takes precedence",
      { ...high, ...limited },
      thinker(),
      nova,
      [{ reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" } }, { maxTokens: 3_000, temperature: 0.5 }]
    ],
    ["Nova without thinking", high, {}, "us.amazon.nova-pro-v1:0", [undefined, base]],
    ["OpenAI's open weights", high, thinker(), "openai.gpt-oss-120b-1:0", [{ reasoning_effort: "high" }, base]],
    ["OpenAI's own models", high, thinker(), "us.openai.gpt-5.2", [{ reasoning: { effort: "high" } }, base]],
    [
      "left out for makers that are not known",
      high,
      thinker(),
      "us.meta.llama4-scout-17b-instruct-v1:0",
      [undefined, base]
    ],
    [
      "by the owner of the model where an inference profile hides the maker",
      off,
      { ...budget, ownedBy: "anthropic" },
      "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc",
      [{ thinking: { type: "disabled" } }, base]
    ]
  ])("%s", (_name, request, model, upstream, expected) => {
    assert.deepStrictEqual(seen(request, model, upstream), expected)
  })
})
