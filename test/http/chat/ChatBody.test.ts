import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { ChatInput } from "../../../src/gateway/ChatCall.ts"
import * as ChatBody from "../../../src/http/chat/ChatBody.ts"
import type { RequestContext } from "../../../src/http/completion/ClientProtocol.ts"

type Fields = { readonly [name: string]: unknown }

const hi = { role: "user", content: "hi" }
const defaultContext: RequestContext = { autoModel: "svc-auto", sessionHeader: undefined }

const read = (fields: Fields, context: Partial<RequestContext> = {}) =>
  ChatBody.readChatBody(JSON.stringify({ messages: [hi], ...fields }), { ...defaultContext, ...context })

const accepts = (fields: Fields, context: Partial<RequestContext> = {}): ChatInput => {
  const result = read(fields, context)
  return Result.isSuccess(result) ? result.success : assert.fail(result.failure.error.message)
}

const refuses = (fields: Fields): readonly [code: string, message: string] => {
  const result = read(fields)
  return Result.isFailure(result)
    ? [result.failure.error.code, result.failure.error.message]
    : assert.fail(`accepted ${JSON.stringify(fields)}`)
}

const text = (content: string) => [{ type: "text", text: content }]

describe("ChatBody", () => {
  it("reads the smallest request with the contract's defaults", () => {
    assert.deepStrictEqual(accepts({}), {
      model: undefined,
      request: {
        messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
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

  it("routes on the service's own name, null and no model, and calls every other model by its name", () => {
    for (const model of ["svc-auto", null, undefined]) assert.isUndefined(accepts({ model }).model)
    assert.isUndefined(accepts({ model: "acme-auto" }, { autoModel: "acme-auto" }).model)
    for (const model of ["gpt-4o", "svc-auto ", ""]) assert.strictEqual(accepts({ model }).model, model)
  })

  it("reports errors in the order of the contract, the model last", () => {
    const wrong = {
      model: 7,
      messages: [{ role: "tool", tool_call_id: "x", content: "" }],
      temperature: 3,
      metadata: { call_name: "" },
      audio: {}
    }
    assert.strictEqual(refuses(wrong)[0], "unsupported_parameter")
    assert.strictEqual(refuses({ ...wrong, audio: null })[0], "invalid_call_name")
    assert.match(refuses({ ...wrong, audio: null, metadata: null })[1], /^temperature: /)
    assert.match(
      refuses({ ...wrong, audio: null, metadata: null, temperature: 1 })[1],
      /^messages\[0\]\.tool_call_id: /
    )
    assert.strictEqual(refuses({ model: 7 })[0], "invalid_model")
  })

  it("explains errors without TypeScript types and without null", () => {
    for (const fields of [
      { cache_control: {} },
      { cache_control: "ephemeral" },
      { response_format: 7 },
      { tool_choice: 7 },
      { temperature: "1" },
      { stop: 7 },
      { reasoning: 7 },
      { tools: 7 },
      { messages: [{ role: "assistant", content: 7 }] }
    ]) {
      assert.match(refuses(fields)[1], /^[a-z_.[\]0-9]+: Expected [^{}]+$/)
      assert.notMatch(refuses(fields)[1], /readonly|null|undefined/)
    }
  })

  it("keeps the reasoning fields of a request, in both of their forms", () => {
    for (const [fields, reasoning] of [
      [{}, {}],
      [{ reasoning: null, reasoning_effort: null }, {}],
      [{ reasoning: {} }, { reasoning: {} }],
      [{ reasoning: { effort: null, enabled: false } }, { reasoning: { enabled: false } }],
      [{ reasoning: { max_tokens: 0, exclude: true } }, { reasoning: { maxTokens: 0, exclude: true } }],
      [{ reasoning_effort: "xhigh" }, { reasoningEffort: "xhigh" }],
      [
        { reasoning: { effort: "low" }, reasoning_effort: "high" },
        { reasoning: { effort: "low" }, reasoningEffort: "high" }
      ]
    ] as const) {
      assert.deepStrictEqual(accepts(fields).reasoning, reasoning)
    }
  })

  it("accepts tool messages only for earlier tool calls", () => {
    const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "" } })
    const assistant = (...ids: ReadonlyArray<string>) => ({ role: "assistant", tool_calls: ids.map(call) })
    const tool = (tool_call_id: string) => ({ role: "tool", tool_call_id, content: "x" })
    for (const messages of [
      [assistant("a"), tool("a")],
      [assistant("a", "b"), tool("b"), tool("a")],
      [assistant("a"), tool("a"), assistant("b"), tool("b"), hi, tool("a")]
    ]) {
      accepts({ messages })
    }
    for (const [messages, at] of [
      [[tool("a")], 0],
      [[tool("a"), assistant("a")], 0],
      [[assistant("a"), tool("a"), tool("b")], 2],
      [[assistant("a"), tool("A")], 1]
    ] as const) {
      assert.match(refuses({ messages })[1], new RegExp(`^messages\\[${at}\\]\\.tool_call_id: `))
    }
    assert.match(refuses({ messages: [tool("")] })[1], /^messages\[0\]\.tool_call_id: /)
  })

  it("translates every role and part", () => {
    const details = [{ type: "reasoning.text", text: "t", signature: "s" }]
    const { messages } = accepts({
      messages: [
        { role: "system", content: "s" },
        {
          role: "developer",
          content: [{ type: "text", text: "d", cache_control: { type: "ephemeral", ttl: "2 hours" } }]
        },
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url: "https://x/y.png", detail: "high" } },
            { type: "input_audio", input_audio: { data: "AA==", format: "flac" } }
          ]
        },
        { role: "assistant", content: null, reasoning: "r", reasoning_details: details },
        { role: "assistant", content: [{ type: "refusal", refusal: "no" }, ...text("but")], refusal: null },
        { role: "assistant", tool_calls: [{ id: "c", function: { name: "f", arguments: "{}" } }] },
        { role: "tool", tool_call_id: "c", content: text("ok"), name: "f" }
      ]
    }).request
    const assistant = { role: "assistant", content: [], toolCalls: [], reasoningDetails: [] } as const
    assert.deepStrictEqual(messages, [
      { role: "system", content: [{ type: "text", text: "s" }] },
      { role: "system", content: [{ type: "text", text: "d", cacheControl: { ttl: "1h" } }] },
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image", url: "https://x/y.png", detail: "high" },
          { type: "audio", data: "AA==", format: "flac" }
        ]
      },
      { ...assistant, reasoning: "r", reasoningDetails: details },
      {
        ...assistant,
        content: [
          { type: "text", text: "no" },
          { type: "text", text: "but" }
        ]
      },
      { ...assistant, toolCalls: [{ id: "c", name: "f", arguments: "{}" }] },
      { role: "tool", toolCallId: "c", content: [{ type: "text", text: "ok" }] }
    ])
  })

  it("accepts only the content parts that a role may have", () => {
    const image = { type: "image_url", image_url: { url: "https://x/y.png" } }
    const audio = { type: "input_audio", input_audio: { data: "AA==", format: "mp3" } }
    for (const [role, part] of [
      ["system", image],
      ["developer", audio],
      ["assistant", image],
      ["user", { type: "refusal", refusal: "no" }]
    ] as const) {
      assert.match(refuses({ messages: [{ role, content: [part] }] })[1], /^messages\[0\]\.content\[0\]/)
    }
  })

  it("checks the limits of metadata pairs, and reads only the call name", () => {
    assert.strictEqual(accepts({ metadata: { call_name: "a b", other: "x" } }).callName, "a b")
    for (const metadata of [null, {}, { call_name: null }, { other: "x" }]) {
      assert.isUndefined(accepts({ metadata }).callName)
    }
    for (const call_name of ["", " ", "\u00a0\t", "x".repeat(65), 7, {}, ["a"]]) {
      assert.strictEqual(refuses({ metadata: { call_name } })[0], "invalid_call_name")
    }
    for (const metadata of [[], "x", 7, { k: {} }, { ["k".repeat(65)]: "" }, { k: "v".repeat(513) }]) {
      assert.strictEqual(refuses({ metadata })[0], "invalid_request")
    }
  })

  it("refuses every n above one, also fractions, as unsupported", () => {
    for (const n of [2, 1.5, 128]) assert.strictEqual(refuses({ n })[0], "unsupported_parameter")
    accepts({ n: 1 })
  })
})
