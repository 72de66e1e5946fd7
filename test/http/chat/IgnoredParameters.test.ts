/** What no model gets is accepted by the contract, and named. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { readChatBody } from "../../../src/http/chat/ChatBody.ts"

const context = { autoModel: "svc-auto", sessionHeader: undefined }
const messages = [{ role: "user", content: "Hello" }]

const ignoredIn = (fields: object) =>
  Result.getOrThrow(readChatBody(JSON.stringify({ messages, ...fields }), context)).ignored

/** The parameters that the contract ignores, with values that ask for something. */
const ignoredByContract = {
  logit_bias: { "50256": -100 },
  logprobs: true,
  top_logprobs: 3,
  seed: 0,
  prediction: { type: "content", content: "Hello" },
  service_tier: "flex",
  safety_identifier: "user-1",
  user: "user-1",
  verbosity: "low"
}

describe("Of a chat request", () => {
  for (const [name, value] of Object.entries(ignoredByContract))
    it(`${name} is accepted, and named as left out`, () => {
      assert.deepStrictEqual(ignoredIn({ [name]: value }), [`${name}=omitted`])
    })

  it("storage is named as what it is, and usage comes without being asked for", () => {
    assert.deepStrictEqual(ignoredIn({ store: true }), ["store=false"])
    assert.isUndefined(ignoredIn({ store: false, stream_options: { include_usage: true }, usage: { include: true } }))
  })

  it("values that ask for what happens anyway are not named", () => {
    const usual = { logprobs: false, top_logprobs: 0, service_tier: "auto", verbosity: "medium" }
    assert.isUndefined(ignoredIn(usual))
    const empty = {
      logit_bias: {},
      seed: null,
      prediction: null,
      user: null,
      plugins: [],
      top_k: null,
      functions: null
    }
    assert.isUndefined(ignoredIn(empty))
    assert.isUndefined(
      ignoredIn({ model: "svc-auto", temperature: 0.5, metadata: { a: "b" }, svc: { call_name: "x" } })
    )
  })

  it("parameters of other services are named, and so is the member of another service", () => {
    const fields = { top_k: 40, min_p: 0.1, thinking: { type: "enabled" }, enable_thinking: false, acme: { a: 1 } }
    assert.deepStrictEqual(
      ignoredIn(fields),
      Object.keys(fields).map((name) => `${name}=omitted`)
    )
  })

  it("members of messages and tools are named once", () => {
    const parameters = { type: "object" }
    const tools = [false, true].map((strict) => ({
      type: "function",
      function: { name: `f${strict}`, parameters, strict }
    }))
    const named = { ...messages[0], name: "Ann" }
    const earlier = { role: "assistant", content: "Hi", audio: { id: "audio_1" }, function_call: null, annotations: [] }
    assert.deepStrictEqual(ignoredIn({ tools, messages: [named, earlier, named] }), [
      "messages.name=omitted",
      "messages.audio=omitted",
      "tools.function.strict=omitted"
    ])
    assert.isUndefined(ignoredIn({ tools: tools.slice(0, 1), messages: [{ ...messages[0], name: null }] }))
  })

  it("what is named fits into a header, whatever the client calls it", () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`parameter_${at}`, 1]))
    const named = ignoredIn({ "a b": 1, "é\r\nx: y": 2, ["x".repeat(10_000)]: 3, ...many }) ?? []
    assert.deepStrictEqual([named[0], named.at(-1), named.length], ["other=omitted", "other=omitted", 33])
    assert.match(named.join(", "), /^[\w.=, -]{1,3000}$/)
  })
})
