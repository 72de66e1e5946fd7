import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { audioFormats, type ChatRequest, type Message } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { gemini } from "../../../../src/providers/protocols/gemini/Gemini.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import { bodyOf, callOf, failing, thinker, user } from "../wire.ts"

const call = (over: Parameters<typeof callOf>[0] = {}): WireCall => callOf({ dialect: "generic", ...over })
const bodyFor = (request: Partial<ChatRequest>, model = {}): JsonObject => bodyOf(gemini, call({ request, model }))
const configured = (request: Partial<ChatRequest>, model = {}): JsonObject =>
  bodyFor(request, model)["generationConfig"] as JsonObject
const tool = { name: "f", description: "d", parameters: { type: "object", properties: { b: {}, a: {} } } }
const gemini2 = thinker({ efforts: [], budgetTokens: { min: 512, max: 24_576 } })
const gemini3 = thinker({ support: "always", efforts: ["low", "medium", "high"] })

const everything: Partial<ChatRequest> = {
  messages: [
    { role: "system", content: [{ type: "text", text: "Be brief." }] },
    {
      role: "user",
      content: [
        { type: "text", text: "" },
        { type: "image", url: "data:image/jpg;base64,AA==" },
        { type: "audio", data: "BB==", format: "mp3" }
      ]
    },
    {
      role: "assistant",
      content: [{ type: "text", text: "Looking." }],
      toolCalls: [
        { id: "a:1", name: "f", arguments: `{"x":1}` },
        { id: "a:2", name: "g", arguments: "{broken" },
        { id: "a:3", name: "f", arguments: "" }
      ],
      reasoning: "unsigned",
      reasoningDetails: []
    },
    {
      role: "tool",
      toolCallId: "a:2",
      content: [
        { type: "text", text: `{"n":12345678901234567890}` },
        { type: "image", url: "data:image/png;base64,CC==" }
      ]
    },
    { role: "system", content: [{ type: "text", text: "Hurry." }] },
    { role: "tool", toolCallId: "a:1", content: [{ type: "text", text: "r" }] },
    { role: "assistant", content: [{ type: "text", text: "Well" }], toolCalls: [], reasoningDetails: [] },
    { role: "assistant", content: [{ type: "text", text: "then" }], toolCalls: [], reasoningDetails: [] }
  ],
  tools: [tool, { name: "g", parameters: { $schema: "draft", type: "object", properties: {}, required: [] } }],
  maxOutputTokens: 100,
  temperature: 1.5,
  topP: 0.5,
  stop: ["x", "\n"],
  frequencyPenalty: 1,
  presencePenalty: 1,
  promptCacheKey: "k"
}

const whole = (ids: boolean, signature: JsonObject): JsonObject => {
  const named = (id: string, more: JsonObject): JsonObject => (ids ? { id, ...more } : more)
  const response = (id: string, name: string, response: JsonObject): JsonObject => ({
    functionResponse: named(id, { name, response })
  })
  return {
    tools: [
      {
        functionDeclarations: [{ name: "f", description: "d", parametersJsonSchema: tool.parameters }, { name: "g" }]
      }
    ],
    systemInstruction: { parts: [{ text: "Be brief." }] },
    contents: [
      {
        role: "user",
        parts: [
          { inlineData: { mimeType: "image/jpeg", data: "AA==" } },
          { inlineData: { mimeType: "audio/mpeg", data: "BB==" } }
        ]
      },
      {
        role: "model",
        parts: [
          { text: "Looking." },
          { functionCall: named("a:1", { name: "f", args: { x: 1 } }), ...signature },
          { functionCall: named("a:2", { name: "g", args: { _raw: "{broken" } }) },
          { functionCall: named("a:3", { name: "f", args: {} }) }
        ]
      },
      {
        role: "user",
        parts: [
          response("a:1", "f", { output: "r" }),
          response("a:2", "g", { output: `{"n":12345678901234567890}` }),
          response("a:3", "f", { error: "The tool gave no result." }),
          { text: "From the tool results above:" },
          { inlineData: { mimeType: "image/png", data: "CC==" } },
          { text: "<system>\nHurry.\n</system>" }
        ]
      },
      { role: "model", parts: [{ text: "Well" }, { text: "then" }] },
      { role: "user", parts: [{ text: "Continue." }] }
    ]
  }
}

describe("a whole request", () => {
  const limits = { maxOutputTokens: 100, temperature: 1.5, topP: 0.5 }

  it("has results in the order of their calls, and no ids, before Gemini 3", () => {
    assert.deepStrictEqual(bodyFor(everything), {
      ...whole(false, {}),
      generationConfig: { ...limits, frequencyPenalty: 1, presencePenalty: 1, stopSequences: ["x", "\n"] }
    })
  })

  it("has ids, a substitute for the missing signature and no penalties from Gemini 3 on", () => {
    assert.deepStrictEqual(bodyFor(everything, gemini3), {
      ...whole(true, { thoughtSignature: "skip_thought_signature_validator" }),
      generationConfig: { ...limits, stopSequences: ["x", "\n"], thinkingConfig: { includeThoughts: true } }
    })
  })

  it("names the model in its path, and asks there for a stream", () => {
    const path = (stream: boolean) => Result.getOrThrow(gemini.encode(call({ stream }))).path
    assert.deepStrictEqual(
      [path(false), path(true)],
      ["/models/up:generateContent", "/models/up:streamGenerateContent?alt=sse"]
    )
  })

  it("always begins and ends with the user", () => {
    const reply: Message = {
      role: "assistant",
      content: [{ type: "text", text: "a" }],
      toolCalls: [],
      reasoningDetails: []
    }
    const roles = (messages: ReadonlyArray<Message>) =>
      (bodyFor({ messages })["contents"] as ReadonlyArray<JsonObject>).map(({ role }) => role)
    assert.deepStrictEqual(roles([]), ["user"])
    assert.deepStrictEqual(roles([{ role: "system", content: [{ type: "text", text: "s" }] }]), ["user"])
    assert.deepStrictEqual(roles([reply]), ["user", "model", "user"])
    assert.deepStrictEqual(roles([user(""), reply, user("q")]), ["user", "model", "user"])
  })
})

it("matches a result with the last call that has its id", () => {
  const called: Message = {
    role: "assistant",
    content: [],
    toolCalls: [{ id: "same", name: "f", arguments: "" }],
    reasoningDetails: []
  }
  const result = (text: string): Message => ({ role: "tool", toolCallId: "same", content: [{ type: "text", text }] })
  const messages = [user("q"), called, result("one"), structuredClone(called), result("two")]
  const outputs = JSON.stringify(bodyFor({ messages })["contents"]).match(/"output":"\w+"/g)
  assert.deepStrictEqual(outputs, [`"output":"one"`, `"output":"two"`])
})

it("has a MIME type for every audio format", () => {
  const content = audioFormats.map((format) => ({ type: "audio", data: format, format }) as const)
  const [turn] = bodyFor({ messages: [{ role: "user", content }] })["contents"] as ReadonlyArray<JsonObject>
  assert.deepStrictEqual(
    (turn as { readonly parts: ReadonlyArray<{ readonly inlineData: JsonObject }> }).parts.map(
      (part) => part.inlineData["mimeType"]
    ),
    ["audio/mpeg", "audio/wav", "audio/m4a", "audio/webm", "audio/ogg", "audio/flac", "audio/opus"]
  )
})

it("translates the tool choice", () => {
  const chosen = (toolChoice: ChatRequest["toolChoice"]) => bodyFor({ tools: [tool], toolChoice })["toolConfig"]
  assert.strictEqual(chosen("auto"), undefined)
  assert.deepStrictEqual(chosen("none"), { functionCallingConfig: { mode: "NONE" } })
  assert.deepStrictEqual(chosen("required"), { functionCallingConfig: { mode: "ANY" } })
  assert.deepStrictEqual(chosen({ name: "f" }), { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } })
  assert.notProperty(bodyFor({ toolChoice: "none" }), "toolConfig")
})

it("writes const as an enum of one value, in every schema", () => {
  const schema = {
    $schema: "draft",
    type: "object",
    properties: { const: { const: "a", enum: ["b"] }, list: { items: { anyOf: [{ const: 1 }, { type: "null" }] } } },
    additionalProperties: { const: null }
  }
  const expected = {
    type: "object",
    properties: { const: { enum: ["a"] }, list: { items: { anyOf: [{ enum: [1] }, { type: "null" }] } } },
    additionalProperties: { enum: [null] }
  }
  const [tools] = bodyFor({ tools: [{ name: "f", parameters: schema }] })["tools"] as ReadonlyArray<JsonObject>
  assert.deepStrictEqual(tools, { functionDeclarations: [{ name: "f", parametersJsonSchema: expected }] })
  const responseFormat = { type: "json_schema", name: "s", strict: true, schema } as const
  assert.deepStrictEqual(configured({ responseFormat }), {
    responseMimeType: "application/json",
    responseJsonSchema: expected
  })
})

it("enforces a format beside tools from Gemini 3 on, and asks for it in a sentence before", () => {
  const object = { tools: [tool], responseFormat: { type: "json_object" } } as const
  const schema = {
    ...object,
    responseFormat: { type: "json_schema", name: "s", strict: true, schema: { a: 1 } }
  } as const
  const mime = { responseMimeType: "application/json" }
  assert.deepStrictEqual(configured(object, gemini2), {})
  assert.include(JSON.stringify(bodyFor(object, gemini2)["systemInstruction"]), "one JSON object")
  assert.include(JSON.stringify(bodyFor(schema, gemini2)["systemInstruction"]), `{\\"a\\":1}`)
  assert.deepInclude(configured(object, gemini3), mime)
  assert.deepInclude(configured(schema, gemini3), { ...mime, responseJsonSchema: { a: 1 } })
  assert.notProperty(bodyFor(schema, gemini3), "systemInstruction")
  assert.deepStrictEqual(configured({ responseFormat: { type: "json_object" } }, gemini2), mime)
})

it("steers thinking by a budget or by a level, as the model requires", () => {
  const pro = thinker({ support: "always", efforts: [], budgetTokens: { min: 128, max: 32_768 } })
  const lite = thinker({ support: "always", efforts: ["minimal", "low", "medium", "high"] })
  const effort = (effort: "none" | "minimal" | "medium" | "xhigh") => ({ reasoning: { effort, exclude: false } })
  const shown = { includeThoughts: true }
  const hidden = { includeThoughts: false }
  const cases: ReadonlyArray<readonly [Partial<ChatRequest>, object, JsonObject | undefined]> = [
    [effort("medium"), {}, undefined],
    [{}, gemini2, undefined],
    [effort("none"), gemini2, { thinkingBudget: 0 }],
    [{ reasoning: { enabled: false, exclude: false } }, gemini2, { thinkingBudget: 0 }],
    [{ ...effort("medium"), maxOutputTokens: 4_096 }, gemini2, { ...shown, thinkingBudget: 3_072 }],
    [{ ...effort("medium"), maxOutputTokens: 1_100 }, gemini2, { thinkingBudget: 0 }],
    [{ reasoning: { maxTokens: 100, exclude: true } }, gemini2, { ...hidden, thinkingBudget: 512 }],
    [{}, pro, shown],
    [effort("none"), pro, { ...hidden, thinkingBudget: 128 }],
    [effort("none"), gemini3, { ...hidden, thinkingLevel: "LOW" }],
    [effort("none"), lite, { ...hidden, thinkingLevel: "MINIMAL" }],
    [effort("minimal"), gemini3, { ...shown, thinkingLevel: "LOW" }],
    [effort("xhigh"), gemini3, { ...shown, thinkingLevel: "HIGH" }],
    [{ reasoning: { maxTokens: 3_000, exclude: false } }, gemini3, { ...shown, thinkingLevel: "LOW" }],
    [{ reasoning: { maxTokens: 4_096, exclude: false } }, gemini3, { ...shown, thinkingLevel: "MEDIUM" }],
    [{ reasoning: { exclude: true } }, gemini3, hidden]
  ]
  for (const [request, model, expected] of cases)
    assert.deepStrictEqual(configured(request, model)["thinkingConfig"], expected, JSON.stringify([request, model]))
})

it("sends no sampling parameters where the model refuses them", () => {
  const sampling = { temperature: 1, topP: 0.5, presencePenalty: 1 }
  const seen = (model: object, request: Partial<ChatRequest> = {}) => {
    const { thinkingConfig: _, ...rest } = configured({ ...sampling, ...request }, model)
    return rest
  }
  assert.deepStrictEqual(seen({ ...gemini3, sampling: "never" }), {})
  assert.deepStrictEqual(seen({ ...gemini2, sampling: "without_reasoning" }), {})
  assert.deepStrictEqual(
    seen({ ...gemini2, sampling: "without_reasoning" }, { reasoning: { effort: "none", exclude: false } }),
    { temperature: 1, topP: 0.5 }
  )
})

it("sends five stop sequences and leaves the others to the gateway", () => {
  const request = { stop: ["a", "", "b", "c", "d", "e", "END"] }
  assert.deepStrictEqual(configured(request)["stopSequences"], ["a", "b", "c", "d", "e"])
  const body = { candidates: [{ content: { parts: [{ text: "one END two" }] }, finishReason: "STOP" }] }
  assert.deepStrictEqual(
    Result.getOrThrow(gemini.decode(body, call({ request }))).map((event) => event.type === "text" && event.text),
    ["one ", false]
  )
})

it("refuses what the model or the API cannot do", () => {
  const image = (url: string) => ({ messages: [{ role: "user", content: [{ type: "image", url }] }] as const })
  const forced = { tools: [tool], toolChoice: "required" as const }
  const schema = { responseFormat: { type: "json_schema", name: "s", strict: true, schema: {} } } as const
  const outcome = (request: Partial<ChatRequest>, model = {}) => failing(gemini.encode(call({ request, model })))
  assert.strictEqual(outcome(image("https://x/y.png")), "Unsupported")
  assert.strictEqual(outcome(image("data:image/tiff;base64,AA")), "Unsupported")
  assert.strictEqual(outcome(image("data:image/webp;base64,AA")), "success")
  assert.strictEqual(outcome(forced, { forcedToolChoice: false }), "Unsupported")
  assert.strictEqual(outcome(schema, { structuredOutput: false }), "Unsupported")
  assert.strictEqual(outcome({ tools: [{ ...tool, name: "2nd" }] }), "Unsupported")
  assert.strictEqual(outcome({ tools: [{ ...tool, name: "get.weather:v1-x" }] }), "success")
})
