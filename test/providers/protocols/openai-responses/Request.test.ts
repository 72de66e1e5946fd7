import { assert, describe, it } from "@effect/vitest"

import type { DialectName } from "../../../../src/catalog/Provider.ts"
import type { AssistantMessage, ChatRequest, Message, ReasoningDetail } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import type { Reasoning } from "../../../../src/domain/Reasoning.ts"
import { openAiResponses } from "../../../../src/providers/protocols/openai-responses/OpenAiResponses.ts"
import { asSent, bodyOf, callOf, failing, thinker, user } from "../wire.ts"

const bodyFor = (request: Partial<ChatRequest>, model = {}, dialect: DialectName = "openai"): JsonObject =>
  bodyOf(openAiResponses, callOf({ dialect, request, model }))
const tool = { name: "f", parameters: { type: "object", properties: { b: {}, a: {} } } }

const assistant = (over: Partial<AssistantMessage>): Message => ({
  role: "assistant",
  content: [],
  toolCalls: [],
  reasoningDetails: [],
  ...over
})

const everything: Partial<ChatRequest> = {
  messages: [
    { role: "system", content: [{ type: "text", text: "Be brief.", cacheControl: { ttl: "5m" } }] },
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image", url: "data:image/png;base64,AA==", detail: "low" },
        { type: "image", url: "https://x/y.png" }
      ]
    },
    assistant({
      content: [{ type: "text", text: "Let me see." }],
      toolCalls: [{ id: "c1", name: "f", arguments: "" }]
    }),
    { role: "tool", toolCallId: "c1", content: [{ type: "text", text: "seen" }] },
    assistant({ toolCalls: [{ id: "c2", name: "f", arguments: "{broken" }] }),
    {
      role: "tool",
      toolCallId: "c2",
      content: [
        { type: "text", text: "shown" },
        { type: "image", url: "https://x/z.png" }
      ]
    },
    { role: "system", content: [{ type: "text", text: "Now conclude." }] }
  ],
  tools: [{ ...tool, description: "does f" }],
  toolChoice: { name: "f" },
  parallelToolCalls: false,
  responseFormat: { type: "json_schema", name: "s", strict: true, schema: { type: "object" } },
  reasoning: { effort: "xhigh", exclude: false },
  maxOutputTokens: 100_000,
  temperature: 0.5,
  topP: 0.9,
  stop: ["x"],
  frequencyPenalty: 1,
  presencePenalty: -1,
  promptCacheKey: "k".repeat(65),
  promptCacheRetention: "24h",
  cacheControl: { ttl: "1h" }
}

it("sends a whole request as input items that are not stored, with tools that are not strict", () => {
  const { prompt_cache_key, ...rest } = bodyFor(everything, thinker())
  assert.match(String(prompt_cache_key), /^\w{32}$/)
  assert.deepStrictEqual(rest, {
    model: "up",
    store: false,
    tools: [{ type: "function", name: "f", description: "does f", parameters: tool.parameters, strict: false }],
    tool_choice: { type: "function", name: "f" },
    parallel_tool_calls: false,
    input: [
      { role: "developer", content: [{ type: "input_text", text: "Be brief." }] },
      {
        role: "user",
        content: [
          { type: "input_text", text: "What is this?" },
          { type: "input_image", image_url: "data:image/png;base64,AA==", detail: "low" },
          { type: "input_image", image_url: "https://x/y.png", detail: "auto" }
        ]
      },
      { role: "assistant", content: [{ type: "output_text", text: "Let me see." }] },
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "seen" },
      { type: "function_call", call_id: "c2", name: "f", arguments: `{"_raw":"{broken"}` },
      {
        type: "function_call_output",
        call_id: "c2",
        output: [
          { type: "input_text", text: "shown" },
          { type: "input_image", image_url: "https://x/z.png", detail: "auto" }
        ]
      },
      { role: "developer", content: [{ type: "input_text", text: "Now conclude." }] }
    ],
    text: { format: { type: "json_schema", name: "s", schema: { type: "object" }, strict: true } },
    max_output_tokens: 8_192,
    temperature: 0.5,
    top_p: 0.9,
    reasoning: { effort: "high", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    prompt_cache_retention: "24h",
    stream: true
  })
})

it("sends nothing about reasoning to a model that does not reason", () => {
  const body = bodyFor({ ...everything, toolChoice: "required", parallelToolCalls: true })
  for (const field of ["reasoning", "include", "parallel_tool_calls"]) assert.notProperty(body, field)
  assert.strictEqual(body["tool_choice"], "required")
  assert.nestedPropertyVal(body, "input[0].role", "system")
})

describe("reasoning", () => {
  const optional = { efforts: ["low", "medium", "high"] } as const
  const cases: ReadonlyArray<readonly [string, Reasoning | undefined, object, DialectName, JsonObject | undefined]> = [
    ["left to the model", undefined, optional, "openai", { summary: "auto" }],
    [
      "at the lowest level there is",
      { effort: "minimal", exclude: false },
      optional,
      "openai",
      { effort: "low", summary: "auto" }
    ],
    [
      "in tokens",
      { maxTokens: 8_000, exclude: false },
      { efforts: ["low", "high", "xhigh", "max"] },
      "openai",
      { effort: "xhigh", summary: "auto" }
    ],
    ["switched off", { effort: "none", exclude: false }, optional, "openai", { effort: "none" }],
    [
      "switched off where it cannot be",
      { enabled: false, exclude: false },
      { support: "always", efforts: ["low", "high"] },
      "openai",
      { effort: "low", summary: "auto" }
    ],
    ["hidden", { effort: "high", exclude: true }, optional, "openai", { effort: "high" }],
    ["of Grok, which summarises it unasked", { effort: "high", exclude: false }, optional, "xai", { effort: "high" }],
    ["of a Grok without levels", { effort: "high", exclude: false }, { efforts: [] }, "xai", undefined]
  ]
  it.each(cases)("%s", (_, reasoning, traits, dialect, expected) => {
    const body = bodyFor({ ...(reasoning && { reasoning }) }, thinker(traits), dialect)
    assert.deepStrictEqual(body["reasoning"], expected)
    assert.deepStrictEqual(body["include"], ["reasoning.encrypted_content"])
  })
})

it("raises a limit that the API would refuse, and never exceeds the endpoint's", () => {
  for (const [requested, sent] of [
    [1, 16],
    [16, 16],
    [17, 17],
    [99_999, 8_192]
  ] as const)
    assert.strictEqual(bodyFor({ maxOutputTokens: requested })["max_output_tokens"], sent)
  assert.notProperty(bodyFor({}), "max_output_tokens")
})

it("sends sampling parameters only where the model accepts them", () => {
  const sampled = (sampling: "always" | "without_reasoning" | "never", reasoning: Reasoning): unknown =>
    bodyFor({ temperature: 0.5, reasoning }, { ...thinker(), sampling })["temperature"]
  const off: Reasoning = { effort: "none", exclude: false }
  const high: Reasoning = { effort: "high", exclude: false }
  assert.deepStrictEqual(
    [
      sampled("always", high),
      sampled("without_reasoning", off),
      sampled("without_reasoning", high),
      sampled("never", off)
    ],
    [0.5, 0.5, undefined, undefined]
  )
})

it("sends the client's cache key or else the affinity of the session, to Grok in a header too", () => {
  const wire = (dialect: DialectName, request: Partial<ChatRequest> = {}) =>
    openAiResponses.encode(callOf({ dialect, request, affinity: "session" }))
  const sent = (result: ReturnType<typeof wire>) =>
    result._tag === "Success" ? [asSent(result.success.body)["prompt_cache_key"], result.success.headers] : []
  assert.deepStrictEqual(sent(wire("openai")), ["session", {}])
  assert.deepStrictEqual(sent(wire("openai", { promptCacheKey: "mine" })), ["mine", {}])
  assert.deepStrictEqual(sent(wire("xai")), ["session", { "x-grok-conv-id": "session" }])
})

it("sends no retention time to models that accept cache breakpoints", () => {
  const retention = (efforts: ReadonlyArray<"low" | "max">): unknown =>
    bodyFor({ promptCacheRetention: "24h" }, thinker({ efforts }))["prompt_cache_retention"]
  assert.deepStrictEqual([retention(["low"]), retention(["low", "max"])], ["24h", undefined])
})

it("adds the word JSON once, after the instructions, if json_object lacks it", () => {
  const json = { type: "json_object" } as const
  const system: Message = { role: "system", content: [{ type: "text", text: "Be brief." }] }
  const roles = (messages: ReadonlyArray<Message>) => {
    const body = bodyFor({ messages, responseFormat: json })
    assert.deepStrictEqual(body["text"], { format: { type: "json_object" } })
    return JSON.parse(JSON.stringify(body["input"])).map((item: { readonly role: string }) => item.role)
  }
  assert.deepStrictEqual(roles([system, user("hi")]), ["system", "system", "user"])
  assert.deepStrictEqual(roles([system, user("Give me json.")]), ["system", "user"])
  assert.deepStrictEqual(roles([system]), ["system", "system"])
})

it("refuses what the model or the API cannot do", () => {
  const audio: Message = { role: "user", content: [{ type: "audio", data: "UklG", format: "wav" }] }
  const schema = { type: "json_schema", name: "s", strict: true, schema: {} } as const
  const cases: ReadonlyArray<readonly [Partial<ChatRequest>, object]> = [
    [{ messages: [audio] }, {}],
    [{ tools: [tool], toolChoice: "required" }, { forcedToolChoice: false }],
    [{ responseFormat: schema }, { structuredOutput: false }]
  ]
  for (const [request, traits] of cases)
    assert.strictEqual(failing(openAiResponses.encode(callOf({ request, model: traits }))), "Unsupported")
})

describe("reasoning that the client returns", () => {
  const details = (id: string, origin = "lab/up"): ReadonlyArray<ReasoningDetail> => [
    { type: "reasoning.summary", summary: `about ${id}`, id: `${origin}#${id}`, index: 0 },
    { type: "reasoning.encrypted", data: `encrypted ${id}`, id: `${origin}#${id}`, index: 1 }
  ]
  const inputOf = (message: Message): unknown => bodyFor({ messages: [message, user("go on")] }, thinker())["input"]
  const shortForm = (message: Message): ReadonlyArray<string> =>
    JSON.parse(JSON.stringify(inputOf(message))).flatMap(
      (item: { readonly type?: string; readonly encrypted_content?: string; readonly call_id?: string }) =>
        // The calls have no results here, and get some.
        item.type === "function_call_output" ? [] : [item.encrypted_content ?? item.call_id ?? "text"]
    )
  const text = [{ type: "text", text: "So." }] as const
  const toolCalls = [
    { id: "c1", name: "f", arguments: "{}" },
    { id: "c2", name: "g", arguments: "{}" }
  ]

  it("is sent unchanged, without the id of an item that is not stored", () => {
    const input = inputOf(assistant({ content: text, reasoningDetails: details("rs_1") }))
    assert.deepStrictEqual((input as ReadonlyArray<unknown>)[0], {
      type: "reasoning",
      summary: [{ type: "summary_text", text: "about rs_1" }],
      encrypted_content: "encrypted rs_1"
    })
  })

  it("stands directly before the output it led to", () => {
    const reasoningDetails = [...details("rs_1"), ...details("rs_2@1"), ...details("rs_3@2")]
    assert.deepStrictEqual(shortForm(assistant({ content: text, toolCalls, reasoningDetails })), [
      "encrypted rs_1",
      "text",
      "encrypted rs_2@1",
      "c1",
      "encrypted rs_3@2",
      "c2",
      "text"
    ])
  })

  it("is always followed by an output", () => {
    const reasoningDetails = [...details("rs_1"), ...details("rs_2@7")]
    assert.deepStrictEqual(shortForm(assistant({ content: text, reasoningDetails })), [
      "encrypted rs_1",
      "encrypted rs_2@7",
      "text",
      "text"
    ])
    assert.deepStrictEqual(shortForm(assistant({ reasoningDetails })), ["text"])
  })

  it("is not sent if another model made it or if its encrypted content is missing", () => {
    const foreign = details("rs_1", "lab/other")
    const unencrypted = details("rs_1").slice(0, 1)
    for (const reasoningDetails of [foreign, unencrypted, [{ type: "reasoning.encrypted", data: "x", id: "rs_1" }]])
      assert.deepStrictEqual(shortForm(assistant({ content: text, reasoning: "why", reasoningDetails })), [
        "text",
        "text"
      ])
  })
})

it("keeps ids of up to 64 characters, and rewrites longer ones alike in call and output", () => {
  const grok = "call-5386e269-cd64-432e-aa64-5c80dd4e0286-0"
  for (const [id, kept] of [
    [grok, true],
    ["x".repeat(65), false]
  ] as const) {
    const body = bodyFor({
      messages: [
        user("hi"),
        assistant({ toolCalls: [{ id, name: "f", arguments: "{}" }] }),
        { role: "tool", toolCallId: id, content: [{ type: "text", text: "r" }] }
      ]
    })
    const [, call, output] = JSON.parse(JSON.stringify(body["input"]))
    assert.strictEqual(call.call_id, output.call_id)
    assert.strictEqual(call.call_id === id, kept)
    assert.isAtMost(call.call_id.length, 64)
  }
})
