import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { type Completion, type CompletionEvent, fold } from "../../../../src/domain/Completion.ts"
import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import { openAiResponses } from "../../../../src/providers/protocols/openai-responses/OpenAiResponses.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import * as SseFrames from "../../../../src/providers/transport/SseFrames.ts"
import { parseDirectives } from "../../../../src/sandbox/Directives.ts"
import { simulatedProtocol } from "../../../../src/sandbox/protocols/openai-responses/Response.ts"
import { replyTo } from "../../../../src/sandbox/SimulatedReply.ts"
import { bodyOf, callOf, completed, decoded, thinker, user, failureTag } from "../../../providers/protocols/wire.ts"

const clock = { name: "get_time", parameters: { type: "object", properties: {} } }
const weather = { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } }

const callWith = (request: Partial<ChatRequest>): WireCall =>
  callOf({ model: thinker(), request: { reasoning: { effort: "high", exclude: false }, ...request } })

const exchange = (call: WireCall) => {
  const request = Result.getOrThrow(
    simulatedProtocol.readRequest(bodyOf(openAiResponses, call), simulatedProtocol.path)
  )
  const reply = replyTo(request, {
    directives: parseDirectives(request.lastUserText),
    promptTokens: { fresh: 10, cacheRead: 5, cacheWrite5m: 0, cacheWrite1h: 0 },
    createdSeconds: 0
  })
  return { reply, request }
}

const plain = (call: WireCall): Completion => {
  const { reply, request } = exchange(call)
  return completed(decoded(openAiResponses, simulatedProtocol.body(request, reply), call))
}

const streamed = (call: WireCall): Completion => {
  const { reply, request } = exchange(call)
  const bytes = simulatedProtocol.events(request, reply).map(({ frame }) => new TextEncoder().encode(frame))
  const reader = openAiResponses.reader(call)
  const events: Array<CompletionEvent> = []
  for (const frame of Result.getOrThrow(SseFrames.sseParser().read(bytes)))
    events.push(...Result.getOrThrow(reader.step(frame)))
  return fold([...events, ...Result.getOrThrow(reader.finish())])
}

describe("The sandbox as an OpenAI Responses server", () => {
  it("gives the same answer plain and streamed: text, reasoning, calls, limits, refusals", () => {
    const cases: ReadonlyArray<readonly [Partial<ChatRequest>, string]> = [
      [{ messages: [user("How are you?")] }, "stop"],
      [{ messages: [user("[call:get_weather,get_time]")], tools: [weather, clock] }, "tool_calls"],
      [{ messages: [user("hi")], tools: [weather, clock], toolChoice: { name: "get_time" } }, "tool_calls"],
      [{ messages: [user("[fault:length 500]")], maxOutputTokens: 20 }, "length"],
      [{ messages: [user("[fault:refused] hi")] }, "content_filter"],
      [{ messages: [user("hi")], stop: ["sandbox"] }, "stop"],
      [{ messages: [user("hi")], reasoning: { effort: "none", exclude: false } }, "stop"]
    ]
    for (const [request, finish] of cases) {
      const answer = plain(callWith(request))
      assert.deepStrictEqual(streamed(callWith(request)), answer)
      assert.strictEqual(answer.finishReason, finish)
      assert.deepInclude(answer.usage, { input: 10, cacheRead: 5 })
    }
  })

  const first: Partial<ChatRequest> = { messages: [user("[call:get_time]")], tools: [clock] }
  const answer = plain(callWith(first))
  const turn = (over: Partial<Completion>): WireCall => {
    const { reasoningDetails, toolCalls } = { ...answer, ...over }
    const messages: ReadonlyArray<Message> = [
      user("[call:get_time]"),
      { role: "assistant", content: [], toolCalls, reasoningDetails },
      { role: "tool", toolCallId: answer.toolCalls[0]?.id ?? "", content: [{ type: "text", text: "noon" }] }
    ]
    return callWith({ ...first, messages })
  }
  const errorFor = (body: unknown): string =>
    Result.match(simulatedProtocol.readRequest(body, simulatedProtocol.path), {
      onFailure: String,
      onSuccess: () => ""
    })

  it("accepts its own reasoning in a tool loop, and refuses it when changed", () => {
    assert.include(plain(turn({})).content, "noon")
    const forged = answer.reasoningDetails.map((detail) => ({ ...detail, data: `${String(detail["data"])}x` }))
    assert.include(errorFor(bodyOf(openAiResponses, turn({ reasoningDetails: forged }))), "could not be verified")
  })

  it("refuses what a real server refuses", () => {
    const body = bodyOf(openAiResponses, turn({}))
    const input = JSON.parse(JSON.stringify(body["input"]))
    const [question, reasoning, , output] = input
    assert.include(errorFor({ ...body, max_output_tokens: 15 }), "max_output_tokens")
    assert.include(errorFor({ ...body, stop: ["x"] }), "'stop'")
    assert.include(errorFor({ ...body, input: [question, reasoning] }), "following item")
    assert.include(errorFor({ ...body, input: [question, { ...reasoning, id: "rs_1" }] }), "not found")
    assert.include(errorFor({ ...body, input: [question, output] }), "No tool call found")
    assert.include(errorFor({ ...body, input: input.slice(0, -1) }), "No tool output found")
  })

  it("reports errors that the protocol understands, as responses and within streams", () => {
    const errors = [
      [{ _tag: "Overloaded" }, "overloaded"],
      [{ _tag: "Quota" }, "Credentials"],
      [{ _tag: "Context" }, "ContextTooLong"],
      [{ _tag: "Status", status: 429 }, "rate_limited"]
    ] as const
    for (const [error, expected] of errors) {
      const { body, status } = simulatedProtocol.error(error)
      const failure = openAiResponses.failure({ status, headers: {}, body: JSON.stringify(body) })
      assert.strictEqual(failureTag(failure), expected)
      const [frame] = Result.getOrThrow(
        SseFrames.sseParser().read([new TextEncoder().encode(simulatedProtocol.errorEvent(error))])
      )
      const step = openAiResponses.reader(callWith({})).step(frame ?? assert.fail("no frame"))
      assert.strictEqual(Result.isFailure(step) ? failureTag(step.failure) : "success", expected)
    }
  })
})
