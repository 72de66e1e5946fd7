import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import type { Completion } from "../../../../src/domain/Completion.ts"
import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import { gemini } from "../../../../src/providers/protocols/gemini/Gemini.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import { sandboxDigest } from "../../../../src/sandbox/Digest.ts"
import { parseDirectives } from "../../../../src/sandbox/Directives.ts"
import { readRequest } from "../../../../src/sandbox/protocols/gemini/Request.ts"
import { simulatedProtocol } from "../../../../src/sandbox/protocols/gemini/Response.ts"
import { replyTo } from "../../../../src/sandbox/SimulatedReply.ts"
import type { SimulatedRequest } from "../../../../src/sandbox/SimulatedRequest.ts"
import { callOf, completed, decoded, failing, streamed, thinker, user } from "../../../providers/protocols/wire.ts"

const gemini3 = thinker({ support: "always" })
const clock = { name: "get_time", parameters: { type: "object", properties: {} } }
const weather = { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } }

const callFor = (request: Partial<ChatRequest>, stream: boolean): WireCall =>
  callOf({ request, stream, model: gemini3, upstream: "gemini-3-flash", dialect: "generic" })

const requestOf = (call: WireCall): Result.Result<SimulatedRequest, string> => {
  const { body, path } = Result.getOrThrow(gemini.encode(call))
  return readRequest(body, `${simulatedProtocol.basePath}${path}`)
}

/** The completion of a request, exchanged with the sandbox without a socket. */
const complete = (request: Partial<ChatRequest>, stream = false): Completion => {
  const call = callFor(request, stream)
  const read = Result.getOrThrow(requestOf(call))
  assert.deepStrictEqual([read.model, read.stream], ["gemini-3-flash", stream])
  const reply = replyTo(read, {
    directives: parseDirectives(read.lastUserText),
    promptTokens: { fresh: 10, cacheRead: 5, cacheWrite5m: 0, cacheWrite1h: 0 },
    createdSeconds: 0
  })
  if (!stream) return completed(decoded(gemini, simulatedProtocol.body(read, reply), call))
  const frames = simulatedProtocol.events(read, reply).map(({ frame }) => frame.slice("data: ".length).trimEnd())
  return completed(streamed(gemini, frames, call))
}

describe("The sandbox as a Gemini server", () => {
  it("gives the same answer and usage, plain and streamed", () => {
    const request = { messages: [user("How are you?")], reasoning: { effort: "high", exclude: false } } as const
    const plain = complete(request)
    assert.deepStrictEqual(complete(request, true), plain)
    assert.include(plain.content, "How are you?")
    assert.isAbove(plain.reasoning.length, 0)
    assert.deepInclude(plain.usage, { input: 10, cacheRead: 5 })
    assert.isAbove(plain.usage?.reasoning ?? 0, 0)
  })

  it("accepts what it signed in a tool loop, and refuses it when changed, missing or mismatched", () => {
    const first = { messages: [user("[call:get_weather,get_time]")], tools: [weather, clock] }
    const completion = complete(first)
    assert.deepStrictEqual(complete(first, true), completion)
    assert.strictEqual(completion.finishReason, "tool_calls")
    const results = completion.toolCalls.map(({ id, name }): Message => ({
      role: "tool",
      toolCallId: id,
      content: [{ type: "text", text: `${name} at noon` }]
    }))
    const turn = (reasoningDetails: Completion["reasoningDetails"]) => ({
      ...first,
      messages: [
        ...first.messages,
        { role: "assistant", content: [], toolCalls: completion.toolCalls, reasoningDetails } as const,
        ...results.toReversed()
      ]
    })
    assert.include(complete(turn(completion.reasoningDetails)).content, "get_time at noon")
    assert.include(complete(turn([])).content, "get_time at noon")
    const forged = completion.reasoningDetails.map((detail) => ({ ...detail, data: sandboxDigest("forged", 48) }))
    const refusal = (text: RegExp, change: (body: string) => string, details = completion.reasoningDetails) => {
      const { body, path } = Result.getOrThrow(gemini.encode(callFor(turn(details), false)))
      const result = readRequest(JSON.parse(change(JSON.stringify(body))), path)
      assert.match(Result.isFailure(result) ? result.failure : "accepted", text)
    }
    refusal(/accepted/, (body) => body)
    refusal(/Corrupted/, (body) => body, forged)
    refusal(/missing a thought_signature/, (body) => body.replaceAll("thoughtSignature", "other"))
    refusal(/number of function response/, (body) => body.replace(`"functionResponse"`, `"other"`))
  })

  it("respects forced tools, stop sequences, output limits and JSON schemas", () => {
    const hello = [user("hello")]
    const forced = complete({ messages: hello, tools: [clock, weather], toolChoice: { name: "get_weather" } })
    assert.deepStrictEqual(
      forced.toolCalls.map(({ name }) => name),
      ["get_weather"]
    )
    assert.strictEqual(complete({ messages: hello, tools: [clock], toolChoice: "none" }).finishReason, "stop")
    assert.strictEqual(complete({ messages: hello, tools: [clock], toolChoice: "required" }).finishReason, "tool_calls")
    assert.strictEqual(
      complete({ messages: hello, stop: ["sandbox"], reasoning: { exclude: true } }).content,
      "This is the "
    )
    const cut = complete({ messages: [user("[fault:length 500]")], maxOutputTokens: 5 })
    assert.deepStrictEqual([cut.finishReason, cut.usage?.output], ["length", 5])
    const schema = { type: "object", properties: { n: { const: 7 } }, required: ["n"] }
    const shaped = complete({
      messages: hello,
      responseFormat: { type: "json_schema", name: "x", strict: true, schema }
    })
    assert.deepStrictEqual(JSON.parse(shaped.content), { n: 7 })
  })

  it("reports errors as Google does, as responses and within streams", () => {
    const reasonOf = (error: Parameters<typeof simulatedProtocol.error>[0]) => {
      const { body, status } = simulatedProtocol.error(error)
      const inStream = simulatedProtocol.errorEvent(error).slice("data: ".length).trimEnd()
      const call = callFor({}, true)
      const reason = failing(Result.fail(gemini.failure({ status, headers: {}, body: JSON.stringify(body) })))
      assert.strictEqual(failing(streamed(gemini, [inStream], call)), reason)
      return reason
    }
    assert.strictEqual(reasonOf({ _tag: "Overloaded" }), "overloaded")
    assert.strictEqual(reasonOf({ _tag: "Quota" }), "Credentials")
    assert.strictEqual(reasonOf({ _tag: "Context" }), "ContextTooLong")
    assert.strictEqual(reasonOf({ _tag: "Invalid", message: "odd" }), "Invalid")
    assert.strictEqual(reasonOf({ _tag: "Status", status: 429 }), "rate_limited")
    assert.strictEqual(reasonOf({ _tag: "Status", status: 500 }), "server")
  })
})
