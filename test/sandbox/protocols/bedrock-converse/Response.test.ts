import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { type Completion, fold } from "../../../../src/domain/Completion.ts"
import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import { cacheWriteTokens } from "../../../../src/domain/Usage.ts"
import { bedrockConverse } from "../../../../src/providers/protocols/bedrock-converse/BedrockConverse.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import * as EventStreamFrames from "../../../../src/providers/transport/EventStreamFrames.ts"
import { parseDirectives } from "../../../../src/sandbox/Directives.ts"
import { simulatedProtocol } from "../../../../src/sandbox/protocols/bedrock-converse/Response.ts"
import { replyTo, type SimulatedReply } from "../../../../src/sandbox/SimulatedReply.ts"
import type { SimulatedRequest } from "../../../../src/sandbox/SimulatedRequest.ts"
import { callOf, failing, thinker, user } from "../../../providers/protocols/wire.ts"

const call = (request: Partial<ChatRequest>, over: Partial<WireCall> = {}): WireCall =>
  callOf({ request, upstream: "us.anthropic.claude:0", ...over, model: thinker() })

const readRequest = (wireCall: WireCall): Result.Result<SimulatedRequest, string> => {
  const { body, path } = Result.getOrThrow(bedrockConverse.encode(wireCall))
  return simulatedProtocol.readRequest(JSON.parse(JSON.stringify(body)), `${simulatedProtocol.basePath}${path}`)
}

/** What the sandbox read and what it replied. */
interface Exchange {
  readonly request: SimulatedRequest
  readonly reply: SimulatedReply
}

const exchange = (
  wireCall: WireCall,
  tokens = { fresh: 3, cacheRead: 2, cacheWrite5m: 1, cacheWrite1h: 4 }
): Exchange => {
  const request = Result.getOrThrow(readRequest(wireCall))
  const directives = parseDirectives(request.lastUserText)
  return { request, reply: replyTo(request, { directives, promptTokens: tokens, createdSeconds: 0 }) }
}

const plain = (wireCall: WireCall, { reply, request }: Exchange): Completion =>
  fold(Result.getOrThrow(bedrockConverse.decode(simulatedProtocol.body(request, reply), wireCall)))

const streamed = (wireCall: WireCall, { reply, request }: Exchange): Completion => {
  const reader = bedrockConverse.reader(wireCall)
  const parser = EventStreamFrames.eventStreamParser()
  const frames = Result.getOrThrow(parser.read(simulatedProtocol.events(request, reply).map(({ frame }) => frame)))
  return fold([
    ...frames.flatMap((frame) => Result.getOrThrow(reader.step(frame))),
    ...Result.getOrThrow(reader.finish())
  ])
}

/** The completion of a call, which must be the same plain and streamed. */
const complete = (wireCall: WireCall): Completion => {
  const exchanged = exchange(wireCall)
  const completion = plain(wireCall, exchanged)
  assert.deepStrictEqual(streamed(wireCall, exchanged), completion)
  return completion
}

const weather = { name: "get_weather", parameters: { properties: { city: { type: "string" } } } }

describe("The sandbox as a Bedrock server", () => {
  it("gives the same answer plain and streamed, with reasoning and every kind of prompt tokens", () => {
    const wireCall = call({ messages: [user("How are you?")], reasoning: { effort: "high", exclude: false } })
    const { content, finishReason, reasoning, usage } = complete(wireCall)
    assert.include(content, "How are you?")
    assert.include(content, "us.anthropic.claude:0")
    assert.isAbove(reasoning.length, 0)
    assert.strictEqual(finishReason, "stop")
    assert.deepInclude(usage, { input: 3, cacheRead: 2, cacheWrite5m: 1, cacheWrite1h: 4 })
    assert.strictEqual(usage && cacheWriteTokens(usage), 5)
  })

  it("calls tools, accepts their results with the reasoning before them, and refuses a forged signature", () => {
    const wireCall = call({
      messages: [user("[call:get_weather]")],
      tools: [weather],
      reasoning: { effort: "high", exclude: false }
    })
    const completion = complete(wireCall)
    assert.deepStrictEqual(
      completion.toolCalls.map(({ arguments: written, name }) => [name, JSON.parse(written)]),
      [["get_weather", { city: "sandbox" }]]
    )
    const assistant: Message = { ...completion, role: "assistant", content: [] }
    const result: Message = {
      role: "tool",
      toolCallId: completion.toolCalls[0]?.id ?? "",
      content: [{ type: "text", text: "12 degrees" }]
    }
    const more = (first: Message) =>
      call({ ...wireCall.request, messages: [...wireCall.request.messages, first, result] })
    assert.include(complete(more(assistant)).content, "12 degrees")
    const forged = {
      ...assistant,
      reasoningDetails: completion.reasoningDetails.map((detail) => ({ ...detail, signature: "no" }))
    }
    assert.match(
      Result.getOrElse(Result.flip(readRequest(more(forged))), () => ""),
      /signature/
    )
  })

  it("respects stop sequences, output limits, forced tools, JSON schemas and cache points", () => {
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    const format = { type: "json_schema", name: "s", strict: true, schema } as const
    assert.notInclude(complete(call({ stop: ["sandbox"] })).content, "sandbox")
    assert.strictEqual(complete(call({ maxOutputTokens: 2 })).finishReason, "length")
    assert.strictEqual(complete(call({ tools: [weather], toolChoice: "required" })).toolCalls[0]?.name, "get_weather")
    assert.hasAllKeys(JSON.parse(complete(call({ responseFormat: format })).content), ["city"])
    const marked: Message = { role: "user", content: [{ type: "text", text: "a", cacheControl: { ttl: "1h" } }] }
    const { cacheBreakpoints: breakpoints } = Result.getOrThrow(readRequest(call({ messages: [marked, user("b")] })))
    assert.deepStrictEqual(breakpoints, [{ prefix: `us.anthropic.claude:0\n{"text":"a"}`, ttl: "1h" }])
  })

  it.each([
    ["a conversation that begins with the assistant", { messages: [{ role: "assistant", content: [{ text: "a" }] }] }],
    ["two user messages in a row", { messages: [1, 2].map(() => ({ role: "user", content: [{ text: "a" }] })) }],
    ["a blank text", { messages: [{ role: "user", content: [{ text: " " }] }] }],
    ["a blank system prompt", { system: [{ text: "" }], messages: [{ role: "user", content: [{ text: "a" }] }] }],
    [
      "a result of an undeclared tool",
      { messages: [{ role: "user", content: [{ toolResult: { toolUseId: "a", content: [{ text: "a" }] } }] }] }
    ],
    ["no messages", { messages: [] }],
    ["no body", null]
  ])("refuses %s, as the real server does", (_name, body) => {
    assert.isTrue(Result.isFailure(simulatedProtocol.readRequest(body, "/bedrock/model/m/converse")))
  })

  it("reports errors as Bedrock does, as responses and within streams", () => {
    const cases = [
      [{ _tag: "Status", status: 429 }, "rate_limited"],
      [{ _tag: "Status", status: 500 }, "server"],
      [{ _tag: "Overloaded" }, "overloaded"],
      [{ _tag: "Quota" }, "Credentials"],
      [{ _tag: "Context" }, "ContextTooLong"],
      [{ _tag: "Invalid", message: "no" }, "Invalid"]
    ] as const
    for (const [error, expected] of cases) {
      const { body, headers = {}, status } = simulatedProtocol.error(error)
      const failure = bedrockConverse.failure({ status, headers, body: JSON.stringify(body) })
      assert.strictEqual(failing(Result.fail(failure)), expected)
      const [frame] = Result.getOrThrow(
        EventStreamFrames.eventStreamParser().read([simulatedProtocol.errorEvent(error)])
      )
      const step = frame && bedrockConverse.reader(call({})).step(frame)
      assert.strictEqual(step && failing(step), expected)
    }
  })
})
