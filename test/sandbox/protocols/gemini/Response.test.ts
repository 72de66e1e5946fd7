import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { Completion } from "../../../../src/domain/Completion.ts"
import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import { gemini } from "../../../../src/providers/protocols/gemini/Gemini.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import { sandboxDigest } from "../../../../src/sandbox/Digest.ts"
import * as Directives from "../../../../src/sandbox/Directives.ts"
import type { Prompt } from "../../../../src/sandbox/Prompt.ts"
import { read } from "../../../../src/sandbox/protocols/gemini/Request.ts"
import { geminiWire } from "../../../../src/sandbox/protocols/gemini/Response.ts"
import { replyTo } from "../../../../src/sandbox/Replies.ts"
import { callOf, completed, decoded, failing, streamed, thinker, user } from "../../../providers/protocols/wire.ts"

const third = thinker({ support: "always" })
const clock = { name: "get_time", parameters: { type: "object", properties: {} } }
const weather = { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } }

const callFor = (request: Partial<ChatRequest>, stream: boolean): WireCall =>
  callOf({ request, stream, model: third, upstream: "gemini-3-flash", dialect: "generic" })

const promptOf = (call: WireCall): Result.Result<Prompt, string> => {
  const { body, path } = Result.getOrThrow(gemini.encode(call))
  return read(body, `${geminiWire.base}${path}`)
}

/** One exchange between the protocol and the sandbox, without a socket between them. */
const ask = (request: Partial<ChatRequest>, stream = false): Completion => {
  const call = callFor(request, stream)
  const prompt = Result.getOrThrow(promptOf(call))
  assert.deepStrictEqual([prompt.model, prompt.stream], ["gemini-3-flash", stream])
  const reply = replyTo(prompt, {
    directives: Directives.parseDirectives(prompt.lastUserText),
    promptTokens: { fresh: 10, cacheRead: 5, cacheWrite5m: 0, cacheWrite1h: 0 },
    createdSeconds: 0
  })
  if (!stream) return completed(decoded(gemini, geminiWire.answer(prompt, reply), call))
  const frames = geminiWire.pieces(prompt, reply).map(({ frame }) => frame.slice("data: ".length).trimEnd())
  return completed(streamed(gemini, frames, call))
}

describe("the sandbox as Gemini", () => {
  it("answers plain and streamed alike, with the same usage", () => {
    const request = { messages: [user("How are you?")], reasoning: { effort: "high", exclude: false } } as const
    const plain = ask(request)
    assert.deepStrictEqual(ask(request, true), plain)
    assert.include(plain.content, "How are you?")
    assert.isAbove(plain.reasoning.length, 0)
    assert.deepInclude(plain.usage, { input: 10, cacheRead: 5 })
    assert.isAbove(plain.usage?.reasoning ?? 0, 0)
  })

  it("takes back what it signed in a tool loop, and refuses it changed, missing or mismatched", () => {
    const first = { messages: [user("[call:get_weather,get_time]")], tools: [weather, clock] }
    const said = ask(first)
    assert.deepStrictEqual(ask(first, true), said)
    assert.strictEqual(said.finishReason, "tool_calls")
    const results = said.toolCalls.map(({ id, name }): Message => ({
      role: "tool",
      toolCallId: id,
      content: [{ type: "text", text: `${name} at noon` }]
    }))
    const turn = (reasoningDetails: Completion["reasoningDetails"]) => ({
      ...first,
      messages: [
        ...first.messages,
        { role: "assistant", content: [], toolCalls: said.toolCalls, reasoningDetails } as const,
        ...results.toReversed()
      ]
    })
    assert.include(ask(turn(said.reasoningDetails)).content, "get_time at noon")
    assert.include(ask(turn([])).content, "get_time at noon")
    const forged = said.reasoningDetails.map((detail) => ({ ...detail, data: sandboxDigest("forged", 48) }))
    const refusal = (text: RegExp, change: (body: string) => string, details = said.reasoningDetails) => {
      const { body, path } = Result.getOrThrow(gemini.encode(callFor(turn(details), false)))
      const result = read(JSON.parse(change(JSON.stringify(body))), path)
      assert.match(Result.isFailure(result) ? result.failure : "accepted", text)
    }
    refusal(/accepted/, (body) => body)
    refusal(/Corrupted/, (body) => body, forged)
    refusal(/missing a thought_signature/, (body) => body.replaceAll("thoughtSignature", "other"))
    refusal(/number of function response/, (body) => body.replace(`"functionResponse"`, `"other"`))
  })

  it("honours forced tools, stop sequences, limits and schemas", () => {
    const hello = [user("hello")]
    const forced = ask({ messages: hello, tools: [clock, weather], toolChoice: { name: "get_weather" } })
    assert.deepStrictEqual(
      forced.toolCalls.map(({ name }) => name),
      ["get_weather"]
    )
    assert.strictEqual(ask({ messages: hello, tools: [clock], toolChoice: "none" }).finishReason, "stop")
    assert.strictEqual(ask({ messages: hello, tools: [clock], toolChoice: "required" }).finishReason, "tool_calls")
    assert.strictEqual(
      ask({ messages: hello, stop: ["sandbox"], reasoning: { exclude: true } }).content,
      "This is the "
    )
    const cut = ask({ messages: [user("[fault:length 500]")], maxOutputTokens: 5 })
    assert.deepStrictEqual([cut.finishReason, cut.usage?.output], ["length", 5])
    const schema = { type: "object", properties: { n: { const: 7 } }, required: ["n"] }
    const shaped = ask({ messages: hello, responseFormat: { type: "json_schema", name: "x", strict: true, schema } })
    assert.deepStrictEqual(JSON.parse(shaped.content), { n: 7 })
  })

  it("complains in Google's words", () => {
    const verdict = (complaint: Parameters<typeof geminiWire.complain>[0]) => {
      const { body, status } = geminiWire.complain(complaint)
      const inStream = geminiWire.complainInStream(complaint).slice("data: ".length).trimEnd()
      const call = callFor({}, true)
      const seen = failing(Result.fail(gemini.failure({ status, headers: {}, body: JSON.stringify(body) })))
      assert.strictEqual(failing(streamed(gemini, [inStream], call)), seen)
      return seen
    }
    assert.strictEqual(verdict({ _tag: "Overloaded" }), "overloaded")
    assert.strictEqual(verdict({ _tag: "Quota" }), "Credentials")
    assert.strictEqual(verdict({ _tag: "Context" }), "ContextTooLong")
    assert.strictEqual(verdict({ _tag: "Invalid", message: "odd" }), "Invalid")
    assert.strictEqual(verdict({ _tag: "Status", status: 429 }), "rate_limited")
    assert.strictEqual(verdict({ _tag: "Status", status: 500 }), "server")
  })
})
