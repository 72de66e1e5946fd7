import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { type Completion, type CompletionEvent, fold } from "../../../../src/domain/Completion.ts"
import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import { openAiResponses } from "../../../../src/providers/protocols/openai-responses/OpenAiResponses.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import * as SseFrames from "../../../../src/providers/transport/SseFrames.ts"
import * as Directives from "../../../../src/sandbox/Directives.ts"
import { openAiResponsesWire as wire } from "../../../../src/sandbox/protocols/openai-responses/Response.ts"
import { replyTo } from "../../../../src/sandbox/Replies.ts"
import { bodyOf, callOf, completed, decoded, thinker, user, failureTag } from "../../../providers/protocols/wire.ts"

const clock = { name: "get_time", parameters: { type: "object", properties: {} } }
const weather = { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } }

const asking = (request: Partial<ChatRequest>): WireCall =>
  callOf({ model: thinker(), request: { reasoning: { effort: "high", exclude: false }, ...request } })

const replied = (call: WireCall) => {
  const prompt = Result.getOrThrow(wire.read(bodyOf(openAiResponses, call), wire.path))
  const reply = replyTo(prompt, {
    directives: Directives.parseDirectives(prompt.lastUserText),
    promptTokens: { fresh: 10, cacheRead: 5, cacheWrite5m: 0, cacheWrite1h: 0 },
    createdSeconds: 0
  })
  return { prompt, reply }
}

const plain = (call: WireCall): Completion => {
  const { prompt, reply } = replied(call)
  return completed(decoded(openAiResponses, wire.answer(prompt, reply), call))
}

const streamed = (call: WireCall): Completion => {
  const { prompt, reply } = replied(call)
  const bytes = wire.pieces(prompt, reply).map(({ frame }) => new TextEncoder().encode(frame))
  const reader = openAiResponses.reader(call)
  const events: Array<CompletionEvent> = []
  for (const frame of Result.getOrThrow(SseFrames.sseParser().read(bytes)))
    events.push(...Result.getOrThrow(reader.step(frame)))
  return fold([...events, ...Result.getOrThrow(reader.finish())])
}

describe("the sandbox as a Responses server", () => {
  it("answers plain and streamed alike: text, reasoning, calls, limits, refusals", () => {
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
      const answer = plain(asking(request))
      assert.deepStrictEqual(streamed(asking(request)), answer)
      assert.strictEqual(answer.finishReason, finish)
      assert.deepInclude(answer.usage, { input: 10, cacheRead: 5 })
    }
  })

  const first: Partial<ChatRequest> = { messages: [user("[call:get_time]")], tools: [clock] }
  const answer = plain(asking(first))
  const turn = (over: Partial<Completion>): WireCall => {
    const { reasoningDetails, toolCalls } = { ...answer, ...over }
    const messages: ReadonlyArray<Message> = [
      user("[call:get_time]"),
      { role: "assistant", content: [], toolCalls, reasoningDetails },
      { role: "tool", toolCallId: answer.toolCalls[0]?.id ?? "", content: [{ type: "text", text: "noon" }] }
    ]
    return asking({ ...first, messages })
  }
  const complaint = (body: unknown): string =>
    Result.match(wire.read(body, wire.path), { onFailure: String, onSuccess: () => "" })

  it("accepts its own reasoning back in a tool loop, and refuses it changed", () => {
    assert.include(plain(turn({})).content, "noon")
    const forged = answer.reasoningDetails.map((detail) => ({ ...detail, data: `${String(detail["data"])}x` }))
    assert.include(complaint(bodyOf(openAiResponses, turn({ reasoningDetails: forged }))), "could not be verified")
  })

  it("refuses what a real server refuses", () => {
    const body = bodyOf(openAiResponses, turn({}))
    const input = JSON.parse(JSON.stringify(body["input"]))
    const [asked, reasoning, , output] = input
    assert.include(complaint({ ...body, max_output_tokens: 15 }), "max_output_tokens")
    assert.include(complaint({ ...body, stop: ["x"] }), "'stop'")
    assert.include(complaint({ ...body, input: [asked, reasoning] }), "following item")
    assert.include(complaint({ ...body, input: [asked, { ...reasoning, id: "rs_1" }] }), "not found")
    assert.include(complaint({ ...body, input: [asked, output] }), "No tool call found")
    assert.include(complaint({ ...body, input: input.slice(0, -1) }), "No tool output found")
  })

  it("complains in a way that the protocol understands, plain and in a stream", () => {
    const kinds = [
      [{ _tag: "Overloaded" }, "overloaded"],
      [{ _tag: "Quota" }, "Credentials"],
      [{ _tag: "Context" }, "ContextTooLong"],
      [{ _tag: "Status", status: 429 }, "rate_limited"]
    ] as const
    for (const [kind, verdict] of kinds) {
      const { body, status } = wire.complain(kind)
      const plainly = openAiResponses.failure({ status, headers: {}, body: JSON.stringify(body) })
      assert.strictEqual(failureTag(plainly), verdict)
      const [frame] = Result.getOrThrow(
        SseFrames.sseParser().read([new TextEncoder().encode(wire.complainInStream(kind))])
      )
      const step = openAiResponses.reader(asking({})).step(frame ?? assert.fail("no frame"))
      assert.strictEqual(Result.isFailure(step) ? failureTag(step.failure) : "success", verdict)
    }
  })
})
