import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { ChatInput } from "../../../src/gateway/ChatCall.ts"
import type { RequestContext } from "../../../src/http/completion/ClientProtocol.ts"
import { encodedDetails } from "../../../src/http/responses/ReasoningEnvelope.ts"
import { readResponsesBody } from "../../../src/http/responses/ResponsesBody.ts"
import type { Json } from "../../support/Chat.ts"

const defaultContext: RequestContext = { autoModel: "svc-auto", sessionHeader: undefined }

const read = (fields: Json, context: Partial<RequestContext> = {}) =>
  readResponsesBody(JSON.stringify({ input: "hi", ...fields }), { ...defaultContext, ...context })

const whole = (fields: Json, context?: Partial<RequestContext>) => {
  const result = read(fields, context)
  return Result.isSuccess(result) ? result.success : assert.fail(result.failure.error.message)
}

const accepts = (fields: Json, context?: Partial<RequestContext>): ChatInput => whole(fields, context).input

const refuses = (fields: Json): readonly [code: string, message: string] => {
  const result = read(fields)
  return Result.isFailure(result)
    ? [result.failure.error.code, result.failure.error.message]
    : assert.fail(`accepted ${JSON.stringify(fields)}`)
}

const messages = (...input: ReadonlyArray<Json>) => accepts({ input }).request.messages
const text = (content: string) => [{ type: "text", text: content }]
const answer = { toolCalls: [], reasoningDetails: [] }
const pixel = "data:image/png;base64,iVBORw0KGgo="

const weather = { type: "function", name: "weather", description: "Now", parameters: { type: "object" } }
const patch = { type: "custom", name: "patch", description: "Edits files" }
const call = { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" }
const output = { type: "function_call_output", call_id: "call_1", output: "21 °C" }

describe("The body of a request for a response", () => {
  it("is read with the defaults of chat", () => {
    assert.deepStrictEqual(accepts({}), {
      model: undefined,
      request: {
        messages: [{ role: "user", content: text("hi") as [] }],
        tools: [],
        toolChoice: "auto",
        parallelToolCalls: true,
        responseFormat: { type: "text" },
        stop: []
      },
      reasoning: {},
      stream: false,
      callName: undefined,
      endUserId: undefined
    })
  })

  it("is read with every setting that the gateway has", () => {
    const { callName, endUserId, model, reasoning, request, stream } = accepts({
      model: "gpt-5-mini",
      instructions: "Be brief.",
      stream: true,
      max_output_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      tools: [weather],
      tool_choice: "required",
      parallel_tool_calls: false,
      text: { format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: true } },
      reasoning: { effort: "low", summary: "auto" },
      metadata: { call_name: "c", end_user_id: "u", other: "x" },
      prompt_cache_key: "k",
      prompt_cache_retention: "24h",
      session_id: "s"
    })
    const { messages: sent, responseFormat, tools, ...rest } = request
    assert.deepStrictEqual([model, stream, callName, endUserId], ["gpt-5-mini", true, "c", "u"])
    assert.deepStrictEqual(reasoning, { reasoning: { effort: "low" } })
    assert.deepStrictEqual(sent[0], { role: "system", content: text("Be brief.") as [] })
    assert.deepStrictEqual(tools, [{ name: "weather", parameters: { type: "object" }, description: "Now" }])
    assert.deepStrictEqual(responseFormat, { type: "json_schema", name: "n", schema: { type: "object" }, strict: true })
    assert.deepStrictEqual(rest, {
      toolChoice: "required",
      parallelToolCalls: false,
      stop: [],
      maxOutputTokens: 100,
      temperature: 0.5,
      topP: 0.9,
      promptCacheKey: "k",
      promptCacheRetention: "24h",
      sessionId: "s"
    })
  })

  it("says how much to think only where the request does", () => {
    const cases: ReadonlyArray<readonly [unknown, object]> = [
      [undefined, {}],
      [null, {}],
      [{ summary: "auto" }, {}],
      [{ effort: null, generate_summary: "concise" }, {}],
      [{ effort: "none" }, { reasoning: { effort: "none" } }],
      [{ max_tokens: 2_000, exclude: true }, { reasoning: { maxTokens: 2_000, exclude: true } }]
    ]
    for (const [reasoning, expected] of cases) assert.deepStrictEqual(accepts({ reasoning }).reasoning, expected)
  })

  it("takes the session from the header where the body has none", () => {
    assert.strictEqual(accepts({}, { sessionHeader: "h" }).request.sessionId, "h")
    assert.strictEqual(accepts({ session_id: "b" }, { sessionHeader: "h" }).request.sessionId, "b")
  })

  it("ignores what changes nothing", () => {
    const harmless = {
      store: false,
      background: false,
      truncation: "disabled",
      include: ["reasoning.encrypted_content"],
      client_metadata: { a: "b" },
      max_tool_calls: 3,
      stream_options: { include_obfuscation: false },
      service_tier: "auto",
      user: "u",
      safety_identifier: "s"
    }
    assert.deepStrictEqual(accepts(harmless), accepts({}))
    const nothing = ["instructions", "tools", "tool_choice", "text", "reasoning", "metadata", "previous_response_id"]
    assert.deepStrictEqual(accepts(Object.fromEntries(nothing.map((name) => [name, null]))), accepts({}))
  })

  it("is repeated in the answer with what it leaves out", () => {
    const { repeated } = whole({ instructions: "x", tools: [weather], reasoning: { effort: "low" } }).asked
    assert.deepInclude(repeated, {
      instructions: "x",
      tools: [{ ...weather, strict: false }],
      reasoning: { effort: "low", summary: null },
      text: { format: { type: "text" } },
      tool_choice: "auto",
      store: false
    })
  })
})

describe("The input of a response", () => {
  it("is messages of all roles, with and without their type", () => {
    assert.deepStrictEqual(
      messages(
        { role: "developer", content: "a" },
        { type: "message", role: "system", content: [{ type: "input_text", text: "b" }] },
        { role: "user", content: [{ type: "input_text", text: "c" }] },
        { type: "message", id: "m", status: "completed", role: "assistant", phase: "commentary", content: "d" }
      ),
      [
        { role: "system", content: text("a") },
        { role: "system", content: text("b") },
        { role: "user", content: text("c") },
        { role: "assistant", content: text("d"), ...answer }
      ] as unknown
    )
  })

  it("has images, audio and marks for the cache", () => {
    const mark = (ttl?: string) => ({ prompt_cache_breakpoint: { mode: "explicit", ...(ttl && { ttl }) } })
    const content = [
      { type: "input_text", text: "a", ...mark() },
      { type: "input_image", image_url: pixel, detail: "low", ...mark("12h") },
      { type: "input_image", image_url: "https://example.com/a.png" },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }
    ]
    assert.deepStrictEqual(messages({ role: "user", content })[0]?.content, [
      { type: "text", text: "a", cacheControl: { ttl: "5m" } },
      { type: "image", url: pixel, detail: "low", cacheControl: { ttl: "1h" } },
      { type: "image", url: "https://example.com/a.png" },
      { type: "audio", data: "AAAA", format: "wav" }
    ])
  })

  it("joins the items of one answer", () => {
    const details = [{ type: "reasoning.encrypted", data: "d", id: "o/m#1" }]
    const reasoning = {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "s" }],
      content: [{ type: "reasoning_text", text: "t" }],
      encrypted_content: encodedDetails(details)
    }
    const said = {
      role: "assistant",
      content: [
        { type: "output_text", text: "a", annotations: [], logprobs: [] },
        { type: "refusal", refusal: "no" }
      ]
    }
    const custom = { type: "custom_tool_call", call_id: "call_2", name: "patch", input: '*** "x"' }
    const namespaced = { ...call, call_id: "call_3", name: "start", namespace: "agents" }
    assert.deepStrictEqual(
      messages(reasoning, said, call, custom, namespaced, output, {
        type: "custom_tool_call_output",
        call_id: "call_2",
        output: [
          { type: "input_text", text: "ok" },
          { type: "input_image", image_url: pixel }
        ]
      }),
      [
        {
          role: "assistant",
          content: text("a"),
          toolCalls: [
            { id: "call_1", name: "weather", arguments: "{}" },
            { id: "call_2", name: "patch", arguments: JSON.stringify({ input: '*** "x"' }) },
            { id: "call_3", name: "agents__start", arguments: "{}" }
          ],
          reasoningDetails: details,
          refusal: "no",
          reasoning: "t\n\ns"
        },
        { role: "tool", toolCallId: "call_1", content: text("21 °C") },
        {
          role: "tool",
          toolCallId: "call_2",
          content: [
            { type: "text", text: "ok" },
            { type: "image", url: pixel }
          ]
        }
      ] as unknown
    )
  })

  it("may have very many parts", () => {
    const many = <A>(part: A) => Array.from({ length: 120_000 }, () => part)
    const [message] = messages({ role: "assistant", content: many({ type: "refusal", refusal: "n" }) })
    assert.strictEqual(message?.role === "assistant" && message.refusal?.length, 239_999)
    const [reasoning] = messages({ type: "reasoning", summary: many({ type: "summary_text", text: "s" }) })
    assert.strictEqual(reasoning?.role === "assistant" && reasoning.reasoning?.length, 359_998)
  })

  it("keeps two answers in a row apart", () => {
    const said = (content: string) => ({ role: "assistant", content })
    assert.strictEqual(messages(said("a"), said("b")).length, 2)
    assert.strictEqual(messages(said("a"), call, said("b"), output).length, 2)
  })

  it("has no use for reasoning that another server encrypted, and refuses its own where it was changed", () => {
    const item = (encrypted_content: unknown) => ({ type: "reasoning", summary: [], encrypted_content })
    const [message] = messages(item("gAAAAABn"), { role: "assistant", content: "a" })
    assert.deepStrictEqual(message, { role: "assistant", content: text("a"), ...answer } as unknown)
    const content = (json: string) => `tg1.${Buffer.from(json).toString("base64url")}`
    const good = item(content('[{"type":"reasoning.encrypted","data":"d"}]'))
    const bombs = [`${"[".repeat(500)}${"]".repeat(500)}`, `[${"{},".repeat(250_000)}{}]`]
    for (const bad of ["tg1.AAAA", content("{}"), content("[1]"), content("[],[]"), ...bombs.map(content)]) {
      const [code, reason] = refuses({ input: [good, { role: "user", content: "hi" }, item(bad)] })
      assert.strictEqual(code, "invalid_request")
      assert.match(reason, /^input\[2\]\.encrypted_content/)
    }
  })
})

describe("The tools of a response", () => {
  const toolsOf = (...tools: ReadonlyArray<Json>) => accepts({ tools }).request.tools

  it("are functions, also where they take text", () => {
    const [custom] = toolsOf(patch)
    assert.strictEqual(custom?.description, "Edits files")
    assert.deepStrictEqual(custom?.parameters["required"], ["input"])
    assert.deepStrictEqual(toolsOf({ type: "function", name: "now" }), [
      { name: "now", parameters: { type: "object", properties: {} } }
    ])
  })

  it("have a grammar in their description, and that is named", () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: X" }
    const { ignored, request } = accepts({ tools: [{ ...patch, format }] })
    assert.match(request.tools[0]?.description ?? "", /^Edits files\n\n.*lark grammar:\nstart: X$/)
    assert.deepStrictEqual(ignored, ["tools.format=description"])
    assert.isUndefined(accepts({ tools: [{ ...patch, format: { type: "text" } }] }).ignored)
  })

  it("of a namespace have its name before their own, and no name that is too long", () => {
    const long = "x".repeat(60)
    const tools = toolsOf({
      type: "namespace",
      name: "agents",
      description: "Helpers",
      tools: [
        { ...weather, name: "start" },
        { ...weather, name: long }
      ]
    })
    assert.deepStrictEqual([tools[0]?.name, tools[0]?.description], ["agents__start", "Helpers\n\nNow"])
    assert.strictEqual(tools[1]?.name.length, 64)
    assert.strictEqual(tools[1]?.description, "Now")
  })

  it("are left out where the gateway cannot offer them beside others, and that is named", () => {
    const { ignored, request } = accepts({ tools: [weather, { type: "web_search", external_web_access: false }] })
    assert.deepStrictEqual([request.tools.length, ignored], [1, ["tools.web_search=omitted"]])
  })

  it("can be chosen", () => {
    const choose = (tool_choice: unknown) => {
      const { toolChoice, tools } = accepts({ tools: [weather, patch], tool_choice }).request
      return [toolChoice, tools.map(({ name }) => name)]
    }
    const both = ["weather", "patch"]
    assert.deepStrictEqual(choose("none"), ["none", both])
    assert.deepStrictEqual(choose({ type: "function", name: "weather" }), [{ name: "weather" }, both])
    assert.deepStrictEqual(choose({ type: "custom", name: "patch" }), [{ name: "patch" }, both])
    const allowed = { type: "allowed_tools", mode: "required", tools: [{ type: "custom", name: "patch" }] }
    assert.deepStrictEqual(choose(allowed), ["required", ["patch"]])
  })

  it("cannot be asked to write at length or in brief, and that is named", () => {
    assert.deepStrictEqual(accepts({ text: { verbosity: "low" } }).ignored, ["text.verbosity=omitted"])
    assert.isUndefined(accepts({ text: { verbosity: "medium" } }).ignored)
  })
})

/** What is refused, with the code and the beginning of the message, which names the member. */
const refused: ReadonlyArray<readonly [fields: Json, code: string, message: RegExp]> = [
  [{ previous_response_id: "resp_1" }, "unsupported_parameter", /^previous_response_id is not supported/],
  [{ conversation: "conv_1" }, "unsupported_parameter", /^conversation is not supported/],
  [{ prompt: { id: "p" } }, "unsupported_parameter", /^prompt is not supported/],
  [{ background: true }, "unsupported_parameter", /^background must be false/],
  [{ store: true }, "unsupported_parameter", /^store must be false/],
  [{ truncation: "auto" }, "unsupported_parameter", /^truncation must be disabled/],
  [{ context_management: [] }, "unsupported_parameter", /^context_management/],
  [{ include: ["message.output_text.logprobs"] }, "unsupported_parameter", /^include: message\.output_text\.logprobs/],
  ...[
    "web_search",
    "web_search_preview",
    "file_search",
    "computer_use_preview",
    "code_interpreter",
    "mcp",
    "image_generation",
    "local_shell",
    "shell",
    "apply_patch",
    "tool_search"
  ].map(
    (type) => [{ tools: [{ type }] }, "unsupported_parameter", new RegExp(`^tools\\[0\\]\\.type: .*${type}`)] as const
  ),
  [{ tools: [weather, { type: "mcp" }] }, "unsupported_parameter", /^tools\[1\]\.type: tools of type mcp/],
  [
    { tools: [weather], tool_choice: { type: "web_search" } },
    "unsupported_parameter",
    /^tool_choice\.type: .*web_search/
  ],
  [{ input: [{ type: "item_reference", id: "m" }] }, "unsupported_parameter", /^input\[0\]: .*item_reference/],
  [{ input: [{ type: "compaction" }] }, "unsupported_parameter", /^input\[0\]: items of type compaction/],
  [
    { input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] },
    "unsupported_parameter",
    /^input\[0\]\.content\[0\]: parts of type input_file/
  ],
  [
    { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] },
    "unsupported_parameter",
    /^input\[0\]\.content\[0\]\.file_id/
  ],
  [{ metadata: { call_name: " " } }, "invalid_call_name", /^metadata\.call_name/],
  [{ input: undefined }, "invalid_request", /^input: Missing key/],
  [{ input: [] }, "invalid_request", /^input/],
  [{ input: [{ role: "tool", content: "x" }] }, "invalid_request", /^input\[0\]: Expected a message/],
  [
    { input: [{ role: "user", content: [{ type: "text", text: "x" }] }] },
    "invalid_request",
    /^input\[0\]\.content\[0\]/
  ],
  [{ input: [{ role: "user", content: [{ type: "input_image", image_url: "x" }] }] }, "invalid_request", /image_url/],
  [{ input: [output] }, "invalid_request", /^input\[0\]\.call_id: must equal/],
  [{ temperature: 3 }, "invalid_request", /^temperature/],
  [{ max_output_tokens: 0 }, "invalid_request", /^max_output_tokens/],
  [{ reasoning: { effort: "huge" } }, "invalid_request", /^reasoning\.effort/],
  [{ text: { format: { type: "xml" } } }, "invalid_request", /^text\.format/],
  [{ tools: [weather, weather] }, "invalid_request", /^tools: two tools have the name/],
  [{ tool_choice: "required" }, "invalid_request", /^tool_choice: must not force/],
  [{ tools: [weather], tool_choice: { type: "function", name: "x" } }, "invalid_request", /^tool_choice\.name/],
  [
    { tools: [weather], tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } },
    "invalid_request",
    /^tool_choice\.tools/
  ],
  [{ model: 7 }, "invalid_model", /^model/],
  [{ model: 7, temperature: 3 }, "invalid_request", /^temperature/]
]

describe("A request for a response is refused", () => {
  for (const [fields, code, message] of refused) {
    it(`for ${JSON.stringify(fields).slice(0, 90)}`, () => {
      const [given, reason] = refuses(fields)
      assert.strictEqual(given, code)
      assert.match(reason, message)
    })
  }

  it("without repeating the conversation", () => {
    const [, reason] = refuses({ input: [{ role: "user", content: [{ type: "secret words" }] }] })
    assert.notInclude(reason, "secret words")
  })
})
