/** Histories that providers refuse as they are, and answers that go beyond what was asked for. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { chatProtocolNames } from "../../../src/catalog/Model.ts"
import type { DialectName } from "../../../src/catalog/Provider.ts"
import type { ChatRequest, Message } from "../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import { readChatBody } from "../../../src/http/chat/ChatBody.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { bodyOf, callOf, completed, decoded, failing, streamed, thinker, user } from "./wire.ts"

const text = (text: string) => ({ type: "text", text }) as const
const called = (...ids: ReadonlyArray<string>): Message => ({
  role: "assistant",
  content: [],
  toolCalls: ids.map((id) => ({ id, name: "f", arguments: "{}" })),
  reasoningDetails: []
})
const result = (toolCallId: string, content = "r"): Message => ({ role: "tool", toolCallId, content: [text(content)] })
const system = (content: string): Message => ({ role: "system", content: [text(content)] })
const said = (content: string): Message => ({
  role: "assistant",
  content: [text(content)],
  toolCalls: [],
  reasoningDetails: []
})

const sentTo = (protocol: (typeof chatProtocolNames)[number], messages: ReadonlyArray<Message>): JsonObject =>
  bodyOf(protocols[protocol], callOf({ request: { messages } }))

describe("a call without its result", () => {
  for (const protocol of chatProtocolNames)
    it(`is answered for the client [${protocol}]`, () => {
      const sent = JSON.stringify(
        sentTo(protocol, [user("q"), called("c1", "c2"), result("c1", "Found."), user("And?")])
      )
      assert.strictEqual(sent.split("The tool gave no result.").length, 2)
      assert.isBelow(sent.indexOf("Found."), sent.indexOf("The tool gave no result."))
      assert.isBelow(sent.indexOf("The tool gave no result."), sent.indexOf("And?"))
    })

  for (const protocol of chatProtocolNames)
    it(`gets a result that came late at its place [${protocol}]`, () => {
      const sent = JSON.stringify(sentTo(protocol, [user("q"), called("c1"), user("Wait."), result("c1", "Found.")]))
      assert.isBelow(sent.indexOf("Found."), sent.indexOf("Wait."))
      assert.notInclude(sent, "The tool gave no result.")
    })
})

describe("calls with one id", () => {
  const idsIn = (sent: JsonObject): ReadonlyArray<string> =>
    [...JSON.stringify(sent).matchAll(/"(?:id|call_id|toolUseId|tool_use_id|tool_call_id)":"([^"]+)"/g)].map(
      ([, id]) => id ?? ""
    )

  for (const protocol of chatProtocolNames) {
    it(`of one message get their results in order [${protocol}]`, () => {
      const history = [user("q"), called("c", "c"), result("c", "One."), result("c", "Two."), user("And?")]
      const sent = sentTo(protocol, history)
      const written = JSON.stringify(sent)
      assert.isAbove(written.indexOf("One."), 0)
      assert.isBelow(written.indexOf("One."), written.indexOf("Two."))
      assert.notInclude(written, "The tool gave no result.")
    })

    it(`of several messages keep their results [${protocol}]`, () => {
      const history = [
        user("q"),
        called("c"),
        result("c", "One."),
        called("c"),
        result("c", "Old."),
        result("c", "Two.")
      ]
      const written = JSON.stringify(sentTo(protocol, history))
      assert.isAbove(written.indexOf("One."), 0)
      assert.isBelow(written.indexOf("One."), written.indexOf("Two."))
      assert.notMatch(written, /Old|no result/)
    })

    // Gemini joins calls and results by their order, and needs no ids.
    if (protocol !== "gemini")
      it(`get ids of their own, which stay the same [${protocol}]`, () => {
        const history = [user("q"), called("c", "c"), result("c", "1"), result("c", "2"), called("c"), result("c", "3")]
        const ids = idsIn(sentTo(protocol, history))
        assert.lengthOf(ids, 6)
        assert.strictEqual(new Set(ids).size, 3)
        for (const id of ids)
          assert.lengthOf(
            ids.filter((other) => other === id),
            2
          )
        assert.deepStrictEqual(idsIn(sentTo(protocol, [...history, user("next"), called("c")])).slice(0, 6), ids)
      })
  }
})

describe("the order of roles at Mistral", () => {
  const roles = (dialect: DialectName, ...messages: ReadonlyArray<Message>) =>
    (
      bodyOf(protocols["openai-chat"], callOf({ dialect, request: { messages } }))[
        "messages"
      ] as ReadonlyArray<JsonObject>
    ).map(({ content, role }) => [role, content])

  it("ends with the user or a tool", () => {
    assert.deepStrictEqual(roles("mistral", user("q"), said("a")), [
      ["user", "q"],
      ["assistant", "a"],
      ["user", "Continue."]
    ])
    assert.deepStrictEqual(roles("mistral", system("s")), [
      ["system", "s"],
      ["user", "Continue."]
    ])
    const loop = roles("mistral", user("q"), called("c1"), result("c1"))
    assert.deepStrictEqual(loop.at(-1), ["tool", "r"])
  })

  it("has instructions at the start only, and an assistant between a tool and the user", () => {
    const messages = [user("q"), called("c1"), result("c1"), system("Hurry."), user("And?")]
    assert.deepStrictEqual(roles("mistral", ...messages).slice(2), [
      ["tool", "r"],
      ["assistant", "OK."],
      ["user", "<system>\nHurry.\n</system>"],
      ["user", "And?"]
    ])
  })

  it("is the client's own elsewhere", () => {
    assert.deepStrictEqual(roles("groq", user("q"), system("s"), said("a")), [
      ["user", "q"],
      ["system", "s"],
      ["assistant", "a"]
    ])
  })
})

describe("a refusal in the history", () => {
  const body = { messages: [user("q"), { role: "assistant", content: null, refusal: "I cannot." }, user("Why?")] }
  const { messages } = Result.getOrThrow(
    readChatBody(JSON.stringify(body), { autoModel: "svc-auto", sessionHeader: undefined })
  ).request

  it("goes back as one where refusals are known", () => {
    const chat = sentTo("openai-chat", messages)["messages"] as ReadonlyArray<JsonObject>
    assert.deepStrictEqual(chat[1], { role: "assistant", content: null, refusal: "I cannot." })
    const responses = sentTo("openai-responses", messages)["input"] as ReadonlyArray<JsonObject>
    assert.deepStrictEqual(responses[1], { role: "assistant", content: [{ type: "refusal", refusal: "I cannot." }] })
  })

  it("goes back as text elsewhere", () => {
    for (const protocol of ["anthropic-messages", "gemini", "bedrock-converse"] as const)
      assert.match(JSON.stringify(sentTo(protocol, messages)), /"text":"I cannot\."/)
    const groq = bodyOf(protocols["openai-chat"], callOf({ dialect: "groq", request: { messages } }))
    assert.deepStrictEqual((groq["messages"] as ReadonlyArray<JsonObject>)[1], {
      role: "assistant",
      content: "I cannot."
    })
  })
})

describe("one tool call at most", () => {
  const chatCall = (id: string) => ({ id, type: "function", function: { name: "f", arguments: `{"a":1}` } })
  const toolUse = (toolUseId: string) => ({ toolUse: { toolUseId, name: "f", input: { a: 1 } } })
  const bodies: { readonly [Name in (typeof chatProtocolNames)[number]]: JsonObject } = {
    "openai-chat": {
      choices: [
        { message: { content: null, tool_calls: [chatCall("c1"), chatCall("c2")] }, finish_reason: "tool_calls" }
      ]
    },
    "openai-responses": {
      status: "completed",
      output: ["c1", "c2"].map((call_id) => ({ type: "function_call", call_id, name: "f", arguments: `{"a":1}` }))
    },
    "anthropic-messages": {
      content: ["c1", "c2"].map((id) => ({ type: "tool_use", id, name: "f", input: { a: 1 } })),
      stop_reason: "tool_use"
    },
    gemini: {
      candidates: [
        {
          content: { parts: ["c1", "c2"].map((id) => ({ functionCall: { id, name: "f", args: { a: 1 } } })) },
          finishReason: "STOP"
        }
      ]
    },
    "bedrock-converse": {
      output: { message: { content: [toolUse("c1"), toolUse("c2")] } },
      stopReason: "tool_use"
    }
  }
  for (const protocol of chatProtocolNames)
    it(`is all that the client gets, whatever the model makes of it [${protocol}]`, () => {
      const tools = [{ name: "f", parameters: {} }]
      const idsOf = (parallelToolCalls: boolean) => {
        const call = callOf({ request: { tools, parallelToolCalls } })
        const { finishReason, toolCalls } = completed(decoded(protocols[protocol], bodies[protocol], call))
        assert.strictEqual(finishReason, "tool_calls")
        for (const made of toolCalls) assert.strictEqual(made.arguments, `{"a":1}`)
        return toolCalls.map(({ id }) => id)
      }
      assert.deepStrictEqual(idsOf(true), ["c1", "c2"])
      assert.deepStrictEqual(idsOf(false), ["c1"])
    })
})

it("A stream of Anthropic's that starts again before a block has ended is broken", () => {
  const start = { type: "message_start", message: { id: "m" } }
  const open = { type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } }
  const stop = { type: "content_block_stop", index: 0 }
  const end = [{ type: "message_delta", delta: { stop_reason: "end_turn" } }, { type: "message_stop" }]
  const read = (...frames: ReadonlyArray<JsonObject>) =>
    failing(streamed(protocols["anthropic-messages"], [...frames, ...end], callOf({ dialect: "generic" })))
  assert.strictEqual(read(start, open, start, open, stop), "broken")
  assert.strictEqual(read(start, start, open, stop), "success")
})

describe("members that only some models take", () => {
  const body = (upstream: string, request: Partial<ChatRequest>, over: Parameters<typeof callOf>[0] = {}) =>
    bodyOf(protocols["openai-chat"], callOf({ ...over, upstream, request }))

  it("are sent to those: how long a prompt is cached", () => {
    const retention = (upstream: string, promptCacheRetention: string) =>
      body(upstream, { promptCacheRetention })["prompt_cache_retention"]
    for (const model of ["gpt-4.1", "gpt-4.1-2025-04-14", "gpt-5", "gpt-5.1-codex-mini", "gpt-5.4", "our-deployment"])
      assert.strictEqual(retention(model, "24h"), "24h", model)
    for (const model of [
      "gpt-4o",
      "gpt-4o-mini",
      "gpt-5-mini",
      "gpt-5-nano-2025-08-07",
      "gpt-4.1-mini",
      "o3",
      "gpt-audio"
    ])
      assert.isUndefined(retention(model, "24h"), model)
    assert.deepStrictEqual(
      ["24h", "in_memory"].map((value) => retention("gpt-5.5", value)),
      ["24h", undefined]
    )
  })

  it("are sent to those: Qwen's thinking budget", () => {
    const budget = (reasoning: ChatRequest["reasoning"], ability = {}) =>
      body("qwen", { ...(reasoning && { reasoning }) }, { dialect: "qwen", model: thinker(ability) })
    assert.deepInclude(budget({ maxTokens: 900, exclude: false }), { enable_thinking: true, thinking_budget: 900 })
    const limits = { budgetTokens: { min: 1_024, max: 2_000 } }
    assert.deepInclude(budget({ effort: "high", exclude: false }, limits), { thinking_budget: 2_000 })
    assert.notProperty(budget({ effort: "high", exclude: false }), "thinking_budget")
    assert.notProperty(budget({ effort: "none", exclude: false }), "thinking_budget")
  })
})
