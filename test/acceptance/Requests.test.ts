/** The request side of the chat contract, row by row: which fields are accepted, refused, and sent to the provider. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { at } from "../support/Chat.ts"
import { answers } from "../support/fake-provider/Answers.ts"
import { type Json, FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, type Reply, TestGateway } from "../support/TestGateway.ts"

const hi = { role: "user", content: "hi" }
const parameters = { type: "object", properties: { city: { type: "string" } } }
const tool = { type: "function", function: { name: "weather", description: "Says the weather", parameters } }
const called = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }]
}
const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false }
const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, "v"]))
const text = (length: number) => "x".repeat(length)
const part = (member: Json) => ({ messages: [{ role: "user", content: [{ type: "text", text: "see" }, member] }] })
const ephemeral = (ttl?: unknown) => ({ type: "ephemeral", ...(ttl !== undefined && { ttl }) })

/** Sends `fields` with a model and a message. Gives the reply and the requests that reached the provider. */
const send = Effect.fnUntraced(function* (fields: Json, headers: Record<string, string> = {}) {
  const gateway = yield* TestGateway
  const provider = yield* FakeProvider
  // A model in a JSON mode writes JSON, and an answer that is none would fail.
  provider.script(answers("response_format" in fields ? '{"n": 1}' : "ok"))
  const reply = yield* gateway.chat({ model: "gpt-4o-mini", messages: [hi], ...fields }, headers)
  return { reply, sent: provider.received.map((received) => received.body) }
})

/** The only body that reached the provider. */
const forwarded = Effect.fnUntraced(function* (fields: Json, headers: Record<string, string> = {}) {
  const { reply, sent } = yield* send(fields, headers)
  assert.strictEqual(reply.status, 200, `${JSON.stringify(fields).slice(0, 200)}: ${reply.text}`)
  assert.lengthOf(sent, 1)
  return sent[0] ?? {}
})

const assertRefused = (reply: Reply, status: number, code: string, message: RegExp, about: unknown) => {
  const row = `${JSON.stringify(about).slice(0, 200)} answered ${reply.status} ${reply.text}`
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], row)
  assert.match(String(reply.at("error.message")), message, row)
  assert.deepStrictEqual(Object.keys(JSON.parse(reply.text)), ["error"])
  assert.deepStrictEqual(Object.keys(JSON.parse(reply.text).error).sort(), ["code", "message"])
}

/** One character in two UTF-16 code units. */
const bridge = "🌉"

const accepted: ReadonlyArray<Json> = [
  { temperature: 0 },
  { temperature: 2 },
  { top_p: 0 },
  { top_p: 1 },
  { max_completion_tokens: 1 },
  { max_tokens: 1 },
  { frequency_penalty: -2, presence_penalty: -2 },
  { frequency_penalty: 2, presence_penalty: 2 },
  { stop: [] },
  { stop: "END" },
  { stop: ["a", "b", "c", "d"] },
  { metadata: {} },
  { metadata: { ...pairs(15), call_name: "greeting" } },
  { metadata: { [text(64)]: text(512) } },
  { metadata: { call_name: text(64) } },
  { metadata: { call_name: " padded " } },
  { session_id: text(256) },
  { session_id: bridge.repeat(256), metadata: { [bridge.repeat(64)]: bridge.repeat(512) } },
  { metadata: { call_name: bridge.repeat(64) } },
  { session_id: "" },
  { prompt_cache_key: "key", prompt_cache_retention: "24h" },
  { cache_control: ephemeral() },
  { cache_control: ephemeral(null) },
  ...["5m", "1h", "1 hour", "60 minutes", "300s", "1 day"].map((ttl) => ({ cache_control: ephemeral(ttl) })),
  { response_format: { type: "text" } },
  { response_format: { type: "json_object" } },
  { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema } } },
  { response_format: { type: "json_schema", json_schema: { name: "n", schema } } },
  ...["auto", "none", "required", { type: "function", function: { name: "weather" } }].map((tool_choice) => ({
    tools: [tool],
    tool_choice
  })),
  { tools: [] },
  { tool_choice: "none" },
  { tools: [{ ...tool, function: { ...tool.function, strict: true } }] },
  { parallel_tool_calls: true },
  { n: 1 },
  { modalities: ["text"] },
  { modalities: [] },
  { reasoning: {} },
  { reasoning: { enabled: false } },
  { reasoning: { exclude: true } },
  { reasoning_effort: "none" },
  { stream: false },
  { messages: [{ role: "system", content: "s" }, { role: "developer", content: "d" }, hi] },
  { messages: [hi, { role: "assistant", content: "hello" }, hi] },
  { messages: [hi, called, { role: "tool", tool_call_id: "call_1", content: "sunny" }] },
  { messages: [hi, { role: "assistant", content: "x", reasoning: "r", reasoning_details: [{ type: "any" }] }, hi] },
  part({ type: "text", text: "this", cache_control: ephemeral("1h") }),
  part({ type: "image_url", image_url: { url: "https://example.com/a.png" } }),
  part({ type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } }),
  { utterly_unknown: { of: ["any", 1, null] }, messages: [{ ...hi, unknown: true, name: "me" }] }
]

/** Fields, a pattern of the message, which begins with the path where there is one, and the code. */
const refused: ReadonlyArray<readonly [fields: Json, message: RegExp, code?: string]> = [
  [{ messages: undefined }, /^messages: /],
  [{ messages: null }, /^messages: /],
  [{ messages: [] }, /^messages: /],
  [{ messages: "hi" }, /^messages: /],
  [{ messages: [null] }, /^messages\[0\]: /],
  [{ messages: [hi, { role: "robot", content: "x" }] }, /^messages\[1\].*role/],
  [{ messages: [{ content: "x" }] }, /^messages\[0\].*role/],
  [{ messages: [{ role: "user" }] }, /^messages\[0\]\.content: /],
  [{ messages: [{ role: "user", content: 7 }] }, /^messages\[0\]\.content/],
  [{ messages: [{ role: "user", content: {} }] }, /^messages\[0\]\.content/],
  [{ messages: [{ role: "tool", content: "x" }] }, /^messages\[0\]\.tool_call_id: /],
  [
    { messages: [hi, { role: "tool", content: "x", tool_call_id: "call_1" }] },
    /^messages\[1\]\.tool_call_id: .*earlier/
  ],
  [
    { messages: [hi, { role: "tool", content: "x", tool_call_id: "call_1" }, called] },
    /^messages\[1\]\.tool_call_id: .*earlier/
  ],
  [{ messages: [{ ...called, tool_calls: [{ id: "c" }] }] }, /^messages\[0\]\.tool_calls\[0\]\.function: /],
  [{ messages: [{ ...called, tool_calls: "c" }] }, /^messages\[0\]\.tool_calls: /],
  [{ messages: [{ role: "assistant", content: "x", reasoning: 7 }] }, /^messages\[0\]\.reasoning: /],
  [{ messages: [{ role: "assistant", content: "x", reasoning_details: ["x"] }] }, /^messages\[0\]\.reasoning_details/],
  [part({ type: "video_url", video_url: {} }), /^messages\[0\]\.content\[1\].*text, image_url or input_audio/],
  [part({ type: "text" }), /^messages\[0\]\.content\[1\]\.text: /],
  [part({ type: "image_url" }), /^messages\[0\]\.content\[1\]\.image_url: /],
  [part({ type: "image_url", image_url: "https://x/a" }), /^messages\[0\]\.content\[1\]\.image_url: /],
  [part({ type: "image_url", image_url: { url: "ftp://x/a" } }), /^messages\[0\]\.content\[1\]\.image_url\.url: .*URL/],
  [part({ type: "input_audio", input_audio: { data: "AA", format: "aiff" } }), /\[1\]\.input_audio\.format: .*mp3/],
  [part({ type: "input_audio", input_audio: { data: "", format: "mp3" } }), /\[1\]\.input_audio\.data: /],
  [part({ type: "text", text: "x", cache_control: ephemeral("soon") }), /\[1\]\.cache_control\.ttl: .*duration/],
  [part({ type: "text", text: "x", cache_control: { type: "forever" } }), /\[1\]\.cache_control: .*ephemeral/],
  [{ cache_control: ephemeral("0s") }, /^cache_control\.ttl: .*duration/],
  [{ cache_control: ephemeral(3600) }, /^cache_control\.ttl: /],
  [{ cache_control: {} }, /^cache_control: .*ephemeral/],
  [{ temperature: -0.01 }, /^temperature: .*0/],
  [{ temperature: 2.01 }, /^temperature: .*2/],
  [{ temperature: "1" }, /^temperature: .*number/],
  [{ top_p: -0.01 }, /^top_p: /],
  [{ top_p: 1.01 }, /^top_p: /],
  [{ max_completion_tokens: 0 }, /^max_completion_tokens: /],
  [{ max_completion_tokens: 1.5 }, /^max_completion_tokens: .*integer/],
  [{ max_completion_tokens: "5" }, /^max_completion_tokens: /],
  [{ max_tokens: 0 }, /^max_tokens: /],
  [{ frequency_penalty: -2.01 }, /^frequency_penalty: /],
  [{ frequency_penalty: 2.01 }, /^frequency_penalty: /],
  [{ presence_penalty: -2.01 }, /^presence_penalty: /],
  [{ presence_penalty: 2.01 }, /^presence_penalty: /],
  [{ stop: ["a", "b", "c", "d", "e"] }, /^stop: .*4/],
  [{ stop: [1] }, /^stop/],
  [{ stop: 1 }, /^stop: /],
  [{ stream: "yes" }, /^stream: .*boolean/],
  [{ tools: {} }, /^tools: .*array/],
  [{ tools: [{ type: "web", function: tool.function }] }, /^tools\[0\]\.type: /],
  [{ tools: [{ type: "function", function: { parameters } }] }, /^tools\[0\]\.function\.name: /],
  [{ tools: [{ type: "function", function: { name: "w" } }] }, /^tools\[0\]\.function\.parameters: /],
  [{ tools: [{ type: "function", function: { name: "w", parameters: "{}" } }] }, /^tools\[0\]\.function\.parameters: /],
  [{ tools: [tool], tool_choice: "any" }, /^tool_choice: .*auto, none, required/],
  [{ tools: [tool], tool_choice: { type: "function", function: { name: "other" } } }, /^tool_choice\.function\.name: /],
  [{ tool_choice: "required" }, /^tool_choice: .*tools/],
  [{ tools: [], tool_choice: { type: "function", function: { name: "weather" } } }, /^tool_choice: .*tools/],
  [{ parallel_tool_calls: 1 }, /^parallel_tool_calls: .*boolean/],
  [{ response_format: { type: "xml" } }, /^response_format.*json_schema/],
  [{ response_format: "json_object" }, /^response_format: .*json_schema/],
  [{ response_format: { type: "json_schema" } }, /^response_format\.json_schema: /],
  [{ response_format: { type: "json_schema", json_schema: { schema } } }, /^response_format\.json_schema\.name: /],
  [{ response_format: { type: "json_schema", json_schema: { name: "n" } } }, /^response_format\.json_schema\.schema: /],
  [{ reasoning: { effort: "extreme" } }, /^reasoning\.effort: .*minimal/],
  [{ reasoning: { max_tokens: 1.5 } }, /^reasoning\.max_tokens: .*integer/],
  [{ reasoning: { max_tokens: -1 } }, /^reasoning\.max_tokens: /],
  [{ reasoning: { exclude: "yes" } }, /^reasoning\.exclude: /],
  [{ reasoning: { enabled: 1 } }, /^reasoning\.enabled: /],
  [{ reasoning: "high" }, /^reasoning: /],
  [{ reasoning_effort: "extreme" }, /^reasoning_effort: /],
  [{ metadata: pairs(17) }, /^metadata: .*16/],
  [{ metadata: { [text(65)]: "v" } }, /^metadata.*64/],
  [{ metadata: { k: text(513) } }, /^metadata\.k: .*512/],
  [{ metadata: { k: 1 } }, /^metadata\.k: .*string/],
  [{ metadata: ["x"] }, /^metadata: /],
  [{ metadata: { call_name: "" } }, /call_name/, "invalid_call_name"],
  [{ metadata: { call_name: " \t\n" } }, /call_name/, "invalid_call_name"],
  [{ metadata: { call_name: text(65) } }, /call_name.*64/, "invalid_call_name"],
  [{ metadata: { call_name: bridge.repeat(65) } }, /call_name.*64/, "invalid_call_name"],
  [{ metadata: { [bridge.repeat(65)]: "v" } }, /^metadata.*64/],
  [{ metadata: { k: bridge.repeat(513) } }, /^metadata\.k: .*512/],
  [{ session_id: bridge.repeat(257) }, /^session_id: .*256/],
  [{ session_id: text(257) }, /^session_id: .*256/],
  [{ session_id: 7 }, /^session_id: .*string/],
  [{ prompt_cache_key: 7 }, /^prompt_cache_key: .*string/],
  [{ prompt_cache_retention: 7 }, /^prompt_cache_retention: .*string/],
  [{ n: 2 }, /^n /, "unsupported_parameter"],
  ...["2", "1", 0, -1, true, false, 0.5, [1], {}].map((n) => [{ n }, /^n: Expected 1/] as const),
  ...["audio", "text", {}, ["video"], [7], [null]].map(
    (modalities) => [{ modalities }, /^modalities.*: .*text/] as const
  ),
  ...["!!!", "", "A", "AAAAA", "AA=", "A===", "AA==AA==", "AA AA", "data:audio/wav;base64,AAAA", 7, null].map(
    (data) => [part({ type: "input_audio", input_audio: { data, format: "wav" } }), /input_audio\.data: /] as const
  ),
  ...["!!!", "", "A", "AA==x"].map(
    (data) =>
      [part({ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }), /image_url\.url: /] as const
  ),
  [{ audio: { voice: "alloy", format: "mp3" } }, /^audio /, "unsupported_parameter"],
  [{ modalities: ["text", "audio"] }, /^modalities /, "unsupported_parameter"],
  [{ modalities: ["audio"] }, /^modalities /, "unsupported_parameter"],
  [{ web_search_options: {} }, /^web_search_options /, "unsupported_parameter"],
  [{ functions: [] }, /^functions .*tools/, "unsupported_parameter"],
  [{ function_call: "auto" }, /^function_call .*tool_choice/, "unsupported_parameter"],
  [{ model: "no-such-model" }, /no-such-model/, "invalid_model"],
  [{ model: "" }, /model/, "invalid_model"],
  [{ model: 7 }, /model/, "invalid_model"],
  [{ model: ["gpt-4o-mini"] }, /model/, "invalid_model"],
  [{ model: "SVC-AUTO" }, /model/, "invalid_model"],
  [{ model: "__proto__" }, /model/, "invalid_model"]
]

const ignored: Json = {
  logit_bias: { "50256": -100 },
  logprobs: true,
  top_logprobs: 5,
  seed: 7,
  stream_options: { include_usage: false },
  prediction: { type: "content", content: "x" },
  store: true,
  service_tier: "flex",
  safety_identifier: "person",
  user: "person",
  verbosity: "low",
  metadata: { team: "red" }
}

/** The fields of a client, and the fields that OpenAI gets for a model without reasoning. */
const forwardedToOpenAi: ReadonlyArray<readonly [fields: Json, sent: Json]> = [
  [{ temperature: 0.3 }, { temperature: 0.3 }],
  [{ temperature: 0 }, { temperature: 0 }],
  [{ top_p: 0.5 }, { top_p: 0.5 }],
  [
    { frequency_penalty: -1.5, presence_penalty: 0.5 },
    { frequency_penalty: -1.5, presence_penalty: 0.5 }
  ],
  [{ stop: "END" }, { stop: ["END"] }],
  [{ stop: ["a", "b", "c", "d"] }, { stop: ["a", "b", "c", "d"] }],
  [{ max_tokens: 7 }, { max_completion_tokens: 7 }],
  [{ max_completion_tokens: 9 }, { max_completion_tokens: 9 }],
  [{ max_tokens: 7, max_completion_tokens: 9 }, { max_completion_tokens: 9 }],
  [{ max_tokens: 7, max_completion_tokens: null }, { max_completion_tokens: 7 }],
  [{ tools: [tool] }, { tools: [tool] }],
  [
    { tools: [tool], tool_choice: "none" },
    { tools: [tool], tool_choice: "none" }
  ],
  [
    { tools: [tool], tool_choice: "required" },
    { tools: [tool], tool_choice: "required" }
  ],
  [
    { tools: [tool], tool_choice: { type: "function", function: { name: "weather" } } },
    { tools: [tool], tool_choice: { type: "function", function: { name: "weather" } } }
  ],
  [
    { tools: [tool], parallel_tool_calls: false },
    { tools: [tool], parallel_tool_calls: false }
  ],
  [{ tools: [{ ...tool, function: { ...tool.function, strict: true } }] }, { tools: [tool] }],
  [{ response_format: { type: "text" } }, {}],
  [
    { response_format: { type: "json_object" }, messages: [{ role: "user", content: "JSON please" }] },
    { response_format: { type: "json_object" }, messages: [{ role: "user", content: "JSON please" }] }
  ],
  [
    { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema } } },
    { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema } } }
  ],
  [
    // This model refuses a retention time.
    { prompt_cache_key: "mine", prompt_cache_retention: "24h" },
    { prompt_cache_key: "mine" }
  ],
  [
    { messages: [{ role: "developer", content: "be brief" }, hi] },
    { messages: [{ role: "system", content: "be brief" }, hi] }
  ],
  [
    { messages: [hi, called, { role: "tool", tool_call_id: "call_1", content: "sunny" }] },
    { messages: [hi, called, { role: "tool", tool_call_id: "call_1", content: "sunny" }] }
  ]
]

const system = { role: "system", content: [{ type: "text", text: "be brief", cache_control: ephemeral("1h") }] }

/** The members of a request to Anthropic that matter here. */
const forwardedToAnthropic: ReadonlyArray<readonly [fields: Json, sent: Json]> = [
  [{ max_tokens: 7, max_completion_tokens: 9 }, { max_tokens: 9 }],
  [{ temperature: 0.3 }, { temperature: 0.3 }],
  [{ top_p: 0.5 }, { top_p: 0.5 }],
  [{ stop: "END" }, { stop_sequences: ["END"] }],
  [{ tools: [tool] }, { tools: [{ name: "weather", description: "Says the weather", input_schema: parameters }] }],
  [{ tools: [tool], tool_choice: "none" }, { tool_choice: { type: "none" } }],
  [{ tools: [tool], tool_choice: "required" }, { tool_choice: { type: "any" } }],
  [
    { tools: [tool], tool_choice: { type: "function", function: { name: "weather" } } },
    { tool_choice: { type: "tool", name: "weather" } }
  ],
  [{ tools: [tool], parallel_tool_calls: false }, { tool_choice: { type: "auto", disable_parallel_tool_use: true } }],
  [{ cache_control: ephemeral() }, { cache_control: ephemeral() }],
  [{ cache_control: ephemeral("1 hour") }, { cache_control: ephemeral("1h") }],
  [{ messages: [system, hi] }, { system: [{ type: "text", text: "be brief", cache_control: ephemeral("1h") }] }]
]

describeWithFakeProvider("Requests", (it) => {
  it.effect("accepts every parameter up to its limits", () =>
    Effect.forEach(accepted, (fields) => forwarded(fields), { discard: true })
  )

  it.effect(
    "refuses every parameter beyond its limits, naming the field and the rule, before a provider is called",
    () =>
      Effect.gen(function* () {
        for (const [fields, message, code = "invalid_request"] of refused) {
          const { reply, sent } = yield* send(fields)
          assertRefused(reply, 400, code, message, fields)
          assert.lengthOf(sent, 0)
        }
        assert.strictEqual(yield* (yield* TestGateway).lingeringHolds, 0)
      })
  )

  it.effect("treats null as omitted in every optional parameter", () =>
    Effect.gen(function* () {
      const names =
        "stream temperature max_completion_tokens max_tokens tools tool_choice parallel_tool_calls response_format " +
        "reasoning reasoning_effort top_p stop frequency_penalty presence_penalty metadata session_id cache_control " +
        "prompt_cache_key prompt_cache_retention n audio modalities web_search_options functions function_call"
      const nothing = Object.fromEntries(names.split(" ").map((name) => [name, null]))
      assert.deepStrictEqual(yield* forwarded(nothing), yield* forwarded({}))
      const inner = { reasoning: { effort: null, max_tokens: null, exclude: null, enabled: null } }
      assert.deepStrictEqual(yield* forwarded(inner), yield* forwarded({}))
      assert.strictEqual((yield* send({ metadata: { call_name: null } })).reply.status, 200)
    })
  )

  it.effect("ignores what the contract ignores: the provider gets the same request without it", () =>
    Effect.gen(function* () {
      const plain = yield* forwarded({})
      for (const [name, value] of Object.entries(ignored)) {
        assert.deepStrictEqual(yield* forwarded({ [name]: value }), plain, name)
      }
      assert.deepStrictEqual(plain, { model: plain["model"], messages: [hi], store: false, stream: false })
    })
  )

  it.effect("forwards each parameter to OpenAI in OpenAI's fields, and nothing else", () =>
    Effect.gen(function* () {
      const plain = yield* forwarded({})
      for (const [fields, sent] of forwardedToOpenAi) {
        assert.deepStrictEqual(yield* forwarded(fields), { ...plain, ...sent }, JSON.stringify(fields))
      }
    })
  )

  it.effect("forwards each parameter to Anthropic in Anthropic's fields", () =>
    Effect.gen(function* () {
      const model = "claude-sonnet-4-6"
      for (const [fields, sent] of forwardedToAnthropic) {
        const body = yield* forwarded({ model, ...fields })
        const same = Object.fromEntries(Object.keys(sent).map((name) => [name, body[name]]))
        assert.deepStrictEqual(same, sent, JSON.stringify(fields))
      }
      assert.notProperty(yield* forwarded({ model }), "cache_control")
    })
  )

  it.effect(
    "sends a session to the provider as one opaque key, made from the id in the body before that in the header",
    () =>
      Effect.gen(function* () {
        const keyOf = (fields: Json, headers?: Record<string, string>) =>
          Effect.map(forwarded(fields, headers), (body) => body["prompt_cache_key"])
        const first = yield* keyOf({ session_id: "one" })
        assert.match(String(first), /^[0-9a-f]{16,64}$/)
        assert.strictEqual(yield* keyOf({}, { "x-session-id": "one" }), first)
        assert.strictEqual(yield* keyOf({ session_id: "one" }, { "x-session-id": "two" }), first)
        assert.strictEqual(yield* keyOf({ session_id: null }, { "x-session-id": "one" }), first)
        assert.notStrictEqual(yield* keyOf({ session_id: "two" }), first)
        assert.strictEqual(yield* keyOf({ session_id: "one", prompt_cache_key: "mine" }), "mine")
        assert.isUndefined(yield* keyOf({ session_id: "" }, { "x-session-id": "" }))
        // As a client that writes its headers in UTF-8 sends it.
        const inHeader = Buffer.from(`${bridge} at night`).toString("latin1")
        assert.strictEqual(
          yield* keyOf({}, { "x-session-id": inHeader }),
          yield* keyOf({ session_id: `${bridge} at night` })
        )
      })
  )

  it.effect("limits the length of the session id in the header as in the body", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* send({}, { "x-session-id": text(256) })).reply.status, 200)
      const bridges = Buffer.from(bridge.repeat(256)).toString("latin1")
      assert.strictEqual((yield* send({}, { "x-session-id": bridges })).reply.status, 200)
      const { reply } = yield* send({}, { "x-session-id": text(257) })
      assertRefused(reply, 400, "invalid_request", /^x-session-id .*256/, "x-session-id")
    })
  )

  it.effect("translates roles for the model: instructions to a model that reasons have the role developer", () =>
    Effect.gen(function* () {
      for (const role of ["system", "developer"]) {
        const body = yield* forwarded({ model: "gpt-5.1", messages: [{ role, content: "be brief" }, hi] })
        assert.deepStrictEqual(body["input"], [
          { role: "developer", content: [{ type: "input_text", text: "be brief" }] },
          { role: "user", content: [{ type: "input_text", text: hi.content }] }
        ])
      }
    })
  )

  it.effect("prefers reasoning to reasoning_effort, and leaves both unset on a direct call", () =>
    Effect.gen(function* () {
      const effortOf = (fields: Json) =>
        Effect.map(forwarded({ model: "gpt-5.1", ...fields }), (body) => at(body, "reasoning", "effort"))
      assert.strictEqual(yield* effortOf({ reasoning_effort: "low" }), "low")
      assert.strictEqual(yield* effortOf({ reasoning: { effort: "low" } }), "low")
      assert.strictEqual(yield* effortOf({ reasoning: { effort: "high" }, reasoning_effort: "low" }), "high")
      assert.strictEqual(yield* effortOf({ reasoning: null, reasoning_effort: "low" }), "low")
      assert.strictEqual(yield* effortOf({ reasoning: { enabled: false } }), "none")
      assert.isUndefined(yield* effortOf({}))
      assert.isUndefined(yield* effortOf({ reasoning: {}, reasoning_effort: "low" }))
    })
  )

  it.effect("forwards images and audio unchanged", () =>
    Effect.gen(function* () {
      const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } }
      const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }
      assert.deepStrictEqual((yield* forwarded(part(image)))["messages"], part(image).messages)
      const heard = yield* forwarded({ model: "gpt-audio", ...part(audio) })
      assert.deepStrictEqual(heard["messages"], part(audio).messages)
      const deaf = yield* send(part(audio))
      assertRefused(deaf.reply, 400, "invalid_request", /gpt-4o-mini does not take audio/, audio)
      assert.lengthOf(deaf.sent, 0)
    })
  )
})
