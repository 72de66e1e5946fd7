import { assert, describe, it } from "@effect/vitest"

import { type DialectName, dialectNames } from "../../../../src/catalog/Provider.ts"
import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import type { Reasoning } from "../../../../src/domain/Reasoning.ts"
import { openAiChat } from "../../../../src/providers/protocols/openai-chat/OpenAiChat.ts"
import { asSent, bodyOf, callOf, decoded, completed, failing, thinker, user } from "../wire.ts"

const bodyFor = (dialect: DialectName, request: Partial<ChatRequest>, model = {}): JsonObject =>
  bodyOf(openAiChat, callOf({ dialect, request, model }))
const tool = { name: "f", parameters: { type: "object", properties: { b: {}, a: {} } } }

const everything: Partial<ChatRequest> = {
  messages: [
    { role: "system", content: [{ type: "text", text: "Be brief.", cacheControl: { ttl: "5m" } }] },
    {
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image", url: "data:image/png;base64,AA==", detail: "low" },
        { type: "audio", data: "UklG", format: "wav" }
      ]
    },
    { role: "assistant", content: [], toolCalls: [{ id: "c1", name: "f", arguments: "" }], reasoningDetails: [] },
    {
      role: "tool",
      toolCallId: "c1",
      content: [
        { type: "text", text: "seen" },
        { type: "image", url: "https://x/y.png" }
      ]
    }
  ],
  tools: [tool],
  toolChoice: { name: "f" },
  parallelToolCalls: false,
  responseFormat: { type: "json_schema", name: "s", strict: true, schema: { type: "object" } },
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

it("sends a whole request in OpenAI's form", () => {
  const body = bodyFor("openai", everything)
  const { prompt_cache_key, ...rest } = body
  assert.match(String(prompt_cache_key), /^\w{32}$/)
  assert.deepStrictEqual(rest, {
    model: "up",
    tools: [{ type: "function", function: tool }],
    tool_choice: { type: "function", function: { name: "f" } },
    parallel_tool_calls: false,
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "low" } },
          { type: "input_audio", input_audio: { data: "UklG", format: "wav" } }
        ]
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }]
      },
      { role: "tool", tool_call_id: "c1", content: "seen" },
      {
        role: "user",
        content: [
          { type: "text", text: "From the tool results above:" },
          { type: "image_url", image_url: { url: "https://x/y.png" } }
        ]
      }
    ],
    response_format: { type: "json_schema", json_schema: { name: "s", schema: { type: "object" }, strict: true } },
    max_completion_tokens: 8_192,
    stop: ["x"],
    temperature: 0.5,
    top_p: 0.9,
    frequency_penalty: 1,
    presence_penalty: -1,
    prompt_cache_retention: "24h",
    store: false,
    stream: true,
    stream_options: { include_usage: true }
  })
})

it("sends nothing about tools if there are none, and no defaults", () => {
  for (const dialect of dialectNames) {
    const body = bodyFor(dialect, { toolChoice: "auto", parallelToolCalls: false })
    for (const field of ["tools", "tool_choice", "parallel_tool_calls", "max_tokens", "stop", "temperature"])
      assert.notProperty(body, field, dialect)
  }
})

it("requests reasoning as each dialect does", () => {
  const optional = thinker()
  const high: Reasoning = { effort: "xhigh", exclude: false }
  const off: Reasoning = { enabled: false, exclude: false }
  const cases: ReadonlyArray<readonly [DialectName, Reasoning | undefined, JsonObject]> = [
    ["openai", high, { reasoning_effort: "high" }],
    ["openai", off, { reasoning_effort: "none" }],
    ["openai", { exclude: true }, {}],
    ["openai", { enabled: true, exclude: false }, { reasoning_effort: "medium" }],
    ["openai", { maxTokens: 8_000, exclude: false }, { reasoning_effort: "high" }],
    ["openai", { maxTokens: 0, exclude: false }, { reasoning_effort: "none" }],
    ["deepseek", high, { thinking: { type: "enabled" }, reasoning_effort: "high" }],
    ["deepseek", off, { thinking: { type: "disabled" } }],
    ["zai", high, { thinking: { type: "enabled", clear_thinking: false }, reasoning_effort: "high" }],
    ["qwen", off, { enable_thinking: false }],
    ["vllm", off, { chat_template_kwargs: { enable_thinking: false } }],
    ["together", high, { reasoning: { enabled: true }, reasoning_effort: "high" }],
    ["openrouter", { effort: "high", exclude: true }, { reasoning: { effort: "high", exclude: true } }],
    ["openrouter", { maxTokens: 5_000, exclude: false }, { reasoning: { max_tokens: 5_000 } }],
    ["openrouter", off, { reasoning: { enabled: false } }],
    ["groq", undefined, { include_reasoning: true }],
    ["minimax", undefined, { reasoning_split: true }]
  ]
  const fields = ["reasoning_effort", "thinking", "enable_thinking", "chat_template_kwargs", "reasoning"]
  const constants = ["include_reasoning", "reasoning_split"]
  for (const [dialect, reasoning, expected] of cases) {
    const body = bodyFor(dialect, reasoning === undefined ? {} : { reasoning }, optional)
    const seen = Object.entries(body).filter(([name]) => [...fields, ...constants].includes(name))
    assert.deepStrictEqual(Object.fromEntries(seen), expected, `${dialect} ${JSON.stringify(reasoning)}`)
    const unable = bodyFor(dialect, reasoning === undefined ? {} : { reasoning })
    for (const name of fields) assert.notProperty(unable, name, dialect)
  }
  const always = bodyFor("openai", { reasoning: off }, thinker({ support: "always" }))
  assert.strictEqual(always["reasoning_effort"], "low")
})

it("sends sampling parameters only where the model accepts them", () => {
  const request = { temperature: 0.5, frequencyPenalty: 1 }
  const off = { ...request, reasoning: { enabled: false, exclude: false } }
  const sometimes = { ...thinker(), sampling: "without_reasoning" as const }
  assert.notProperty(bodyFor("openai", request, { sampling: "never" }), "temperature")
  assert.notProperty(bodyFor("openai", request, sometimes), "temperature")
  assert.propertyVal(bodyFor("openai", off, sometimes), "temperature", 0.5)
  assert.notProperty(bodyFor("openai", off, sometimes), "frequency_penalty")
  assert.notProperty(bodyFor("cerebras", request), "frequency_penalty")
})

it("follows each dialect", () => {
  const request = { tools: [tool], toolChoice: "required" as const, maxOutputTokens: 5 }
  assert.deepInclude(bodyFor("mistral", request), { tool_choice: "any", max_tokens: 5, stream: true })
  assert.notProperty(bodyFor("mistral", request), "stream_options")
  assert.propertyVal(bodyFor("zai", request), "tool_stream", true)
  const system: Message = { role: "system", content: [{ type: "text", text: "s", cacheControl: { ttl: "1h" } }] }
  const messages = [system, user("q")]
  const roles = (body: JsonObject) => (body["messages"] as ReadonlyArray<JsonObject>).map((message) => message["role"])
  assert.deepStrictEqual(roles(bodyFor("openai", { messages }, thinker())), ["developer", "user"])
  assert.deepStrictEqual(roles(bodyFor("deepseek", { messages }, thinker())), ["system", "user"])
  assert.deepStrictEqual(bodyFor("openrouter", { messages })["messages"], [
    { role: "system", content: [{ type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" } }] },
    { role: "user", content: "q" }
  ])
  const format = { type: "json_schema", name: "s", strict: true, schema: { title: "S" } } as const
  // A schema in words would bind nobody, whatever the catalog says of the model.
  const inWords = openAiChat.encode(callOf({ dialect: "deepseek", request: { messages, responseFormat: format } }))
  assert.strictEqual(inWords._tag === "Failure" && inWords.failure.reason._tag, "Unsupported")
})

it("sends the affinity of a session where the provider reads it", () => {
  const encoded = (dialect: DialectName, request = {}) =>
    openAiChat.encode(callOf({ dialect, affinity: "aff", request }))
  const affinity = (dialect: DialectName, request = {}) => {
    const result = encoded(dialect, request)
    if (result._tag === "Failure") throw result.failure
    const { headers } = result.success
    const body = asSent(result.success.body)
    return [body["prompt_cache_key"], body["session_id"], ...Object.entries(headers).flat()]
  }
  assert.deepStrictEqual(affinity("openai"), ["aff", undefined])
  assert.deepStrictEqual(affinity("openai", { promptCacheKey: "mine" }), ["mine", undefined])
  assert.deepStrictEqual(affinity("openrouter"), ["aff", "aff"])
  assert.deepStrictEqual(affinity("mistral"), ["aff", undefined, "x-affinity", "aff"])
  assert.deepStrictEqual(affinity("fireworks"), ["aff", undefined, "x-session-affinity", "aff"])
  assert.deepStrictEqual(affinity("groq"), [undefined, undefined])
})

it("refuses what the model or the server cannot do", () => {
  const audio = (format: "m4a" | "wav"): Message => ({ role: "user", content: [{ type: "audio", data: "A", format }] })
  const forced = { tools: [tool], toolChoice: "required" as const }
  const schema = { responseFormat: { type: "json_schema", name: "s", strict: true, schema: {} } } as const
  const outcome = (request: Partial<ChatRequest>, model = {}) => failing(openAiChat.encode(callOf({ request, model })))
  assert.strictEqual(outcome({ messages: [audio("m4a")] }), "Unsupported")
  assert.strictEqual(outcome({ messages: [audio("wav")] }), "success")
  assert.strictEqual(outcome(forced, { forcedToolChoice: false }), "Unsupported")
  assert.strictEqual(outcome(schema, { structuredOutput: false }), "Unsupported")
})

it("asks for JSON in words where JSON mode is refused beside tools [openai-chat: json_object, tools]", () => {
  const tools = [{ name: "f", parameters: {} }]
  const sent = (dialect: DialectName, over: Partial<ChatRequest>) =>
    bodyOf(openAiChat, callOf({ dialect, request: { responseFormat: { type: "json_object" }, ...over } }))
  for (const dialect of ["groq", "cerebras"] as const) {
    const beside = sent(dialect, { tools, messages: [user("Give me JSON.")] })
    assert.notProperty(beside, "response_format", dialect)
    assert.include(JSON.stringify(beside["messages"]), "one JSON object and nothing else", dialect)
    assert.deepStrictEqual(sent(dialect, {})["response_format"], { type: "json_object" }, dialect)
  }
  assert.deepStrictEqual(sent("openai", { tools })["response_format"], { type: "json_object" })
})

describe("a second request of a conversation", () => {
  const reply = {
    content: "so",
    reasoning_content: "why",
    tool_calls: [{ id: "t1", function: { name: "f", arguments: "{}" } }]
  }
  /** The assistant's message in the second request, after `reply` was the first answer. */
  const turn = (dialect: DialectName, origin: string, message: JsonObject = reply): JsonObject => {
    const first = callOf({ dialect, model: thinker() })
    const answer = completed(decoded(openAiChat, { choices: [{ message, finish_reason: "stop" }] }, first))
    const messages: ReadonlyArray<Message> = [
      user("q"),
      { ...answer, role: "assistant", content: [{ type: "text", text: answer.content }] },
      { role: "tool", toolCallId: answer.toolCalls[0]?.id ?? "", content: [{ type: "text", text: "r" }] }
    ]
    const second = callOf({ dialect, origin, model: thinker(), request: { messages } })
    return (bodyOf(openAiChat, second)["messages"] as ReadonlyArray<JsonObject>)[1] ?? {}
  }

  it("returns reasoning to its own model in that server's member, and to no other model", () => {
    assert.propertyVal(turn("zai", "lab/up"), "reasoning_content", "why")
    assert.propertyVal(turn("vllm", "lab/up"), "reasoning", "why")
    assert.deepStrictEqual(turn("mistral", "lab/up")["content"], [
      { type: "thinking", thinking: [{ type: "text", text: "why" }] },
      { type: "text", text: "so" }
    ])
    assert.propertyVal(turn("deepseek", "other/up"), "reasoning_content", "")
    for (const dialect of dialectNames) assert.notInclude(JSON.stringify(turn(dialect, "other/up")), "why", dialect)
  })

  it("returns OpenRouter's reasoning details unchanged and in order", () => {
    const reasoning_details = [
      { type: "reasoning.summary", summary: "s", id: "rs_1", format: "openai-responses-v1", index: 0 },
      { type: "reasoning.encrypted", data: "e", id: "rs_1", format: "openai-responses-v1", index: 0 },
      { type: "reasoning.text", text: "t", signature: "g", format: "anthropic-claude-v1", index: 1 }
    ]
    const echoed = turn("openrouter", "lab/up", { ...reply, reasoning_details })
    assert.deepStrictEqual(echoed["reasoning_details"], reasoning_details)
    assert.notProperty(turn("openrouter", "lab/other", { ...reply, reasoning_details }), "reasoning_details")
  })

  it("rewrites ids that the provider refuses, alike in a call and its result", () => {
    const ids = (dialect: DialectName, id: string): ReadonlyArray<unknown> => {
      const messages: ReadonlyArray<Message> = [
        { role: "assistant", content: [], toolCalls: [{ id, name: "f", arguments: "{" }], reasoningDetails: [] },
        { role: "tool", toolCallId: id, content: [] }
      ]
      const [call, result] = bodyFor(dialect, { messages })["messages"] as ReadonlyArray<JsonObject>
      const [made] = (call?.["tool_calls"] ?? []) as ReadonlyArray<JsonObject>
      assert.deepStrictEqual(made?.["function"], { name: "f", arguments: `{"_raw":"{"}` })
      return [made?.["id"], result?.["tool_call_id"]]
    }
    assert.deepStrictEqual(ids("openai", "toolu_01abc"), ["toolu_01abc", "toolu_01abc"])
    const [short, same] = ids("openai", "x".repeat(64))
    assert.match(String(short), /^call_\w{24}$/)
    assert.strictEqual(short, same)
    const [nine, sameNine] = ids("mistral", "toolu_01abc")
    assert.match(String(nine), /^[a-zA-Z0-9]{9}$/)
    assert.strictEqual(nine, sameNine)
  })
})
