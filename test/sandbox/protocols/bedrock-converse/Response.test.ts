import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"

import { type Completion, fold } from "../../../../src/domain/Completion.ts"
import type { ChatRequest, Message } from "../../../../src/domain/Conversation.ts"
import { cacheWriteTokens } from "../../../../src/domain/Usage.ts"
import { bedrockConverse } from "../../../../src/providers/protocols/bedrock-converse/BedrockConverse.ts"
import type { WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import * as EventStreamFrames from "../../../../src/providers/transport/EventStreamFrames.ts"
import * as Directives from "../../../../src/sandbox/Directives.ts"
import type { Prompt, Reply } from "../../../../src/sandbox/Prompt.ts"
import { bedrockWire } from "../../../../src/sandbox/protocols/bedrock-converse/Response.ts"
import { replyTo } from "../../../../src/sandbox/Replies.ts"
import { callOf, failing, thinker, user } from "../../../providers/protocols/wire.ts"

const call = (request: Partial<ChatRequest>, over: Partial<WireCall> = {}): WireCall =>
  callOf({ request, upstream: "us.anthropic.claude:0", ...over, model: thinker() })

const read = (asking: WireCall): Result.Result<Prompt, string> => {
  const { body, path } = Result.getOrThrow(bedrockConverse.encode(asking))
  return bedrockWire.read(JSON.parse(JSON.stringify(body)), `${bedrockWire.base}${path}`)
}

const replied = (asking: WireCall, tokens = { fresh: 3, cacheRead: 2, cacheWrite5m: 1, cacheWrite1h: 4 }) => {
  const prompt = Result.getOrThrow(read(asking))
  const directives = Directives.parseDirectives(prompt.lastUserText)
  return { prompt, reply: replyTo(prompt, { directives, promptTokens: tokens, createdSeconds: 0 }) }
}

const plain = (asking: WireCall, { prompt, reply }: { prompt: Prompt; reply: Reply }): Completion =>
  fold(Result.getOrThrow(bedrockConverse.decode(bedrockWire.answer(prompt, reply), asking)))

const streamed = (asking: WireCall, { prompt, reply }: { prompt: Prompt; reply: Reply }): Completion => {
  const reader = bedrockConverse.reader(asking)
  const parser = EventStreamFrames.eventStreamParser()
  const frames = Result.getOrThrow(parser.read(bedrockWire.pieces(prompt, reply).map(({ frame }) => frame)))
  return fold([
    ...frames.flatMap((frame) => Result.getOrThrow(reader.step(frame))),
    ...Result.getOrThrow(reader.finish())
  ])
}

const both = (asking: WireCall): Completion => {
  const made = replied(asking)
  const whole = plain(asking, made)
  assert.deepStrictEqual(streamed(asking, made), whole)
  return whole
}

const weather = { name: "get_weather", parameters: { properties: { city: { type: "string" } } } }

describe("the sandbox as Bedrock", () => {
  it("answers plain and streamed alike, with thinking and every kind of prompt token", () => {
    const asking = call({ messages: [user("How are you?")], reasoning: { effort: "high", exclude: false } })
    const { content, finishReason, reasoning, usage } = both(asking)
    assert.include(content, "How are you?")
    assert.include(content, "us.anthropic.claude:0")
    assert.isAbove(reasoning.length, 0)
    assert.strictEqual(finishReason, "stop")
    assert.deepInclude(usage, { input: 3, cacheRead: 2, cacheWrite5m: 1, cacheWrite1h: 4 })
    assert.strictEqual(usage && cacheWriteTokens(usage), 5)
  })

  it("calls tools, takes their results with the thinking before them, and knows a forged signature", () => {
    const asking = call({
      messages: [user("[call:get_weather]")],
      tools: [weather],
      reasoning: { effort: "high", exclude: false }
    })
    const said = both(asking)
    assert.deepStrictEqual(
      said.toolCalls.map(({ arguments: written, name }) => [name, JSON.parse(written)]),
      [["get_weather", { city: "sandbox" }]]
    )
    const assistant: Message = { ...said, role: "assistant", content: [] }
    const result: Message = {
      role: "tool",
      toolCallId: said.toolCalls[0]?.id ?? "",
      content: [{ type: "text", text: "12 degrees" }]
    }
    const more = (first: Message) => call({ ...asking.request, messages: [...asking.request.messages, first, result] })
    assert.include(both(more(assistant)).content, "12 degrees")
    const forged = {
      ...assistant,
      reasoningDetails: said.reasoningDetails.map((detail) => ({ ...detail, text: "no" }))
    }
    assert.match(
      Result.getOrElse(Result.flip(read(more(forged))), () => ""),
      /signature/
    )
  })

  it("honours stops, limits, forced tools, schemas and cache points", () => {
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
    const format = { type: "json_schema", name: "s", strict: true, schema } as const
    assert.notInclude(both(call({ stop: ["sandbox"] })).content, "sandbox")
    assert.strictEqual(both(call({ maxOutputTokens: 2 })).finishReason, "length")
    assert.strictEqual(both(call({ tools: [weather], toolChoice: "required" })).toolCalls[0]?.name, "get_weather")
    assert.hasAllKeys(JSON.parse(both(call({ responseFormat: format })).content), ["city"])
    const marked: Message = { role: "user", content: [{ type: "text", text: "a", cacheControl: { ttl: "1h" } }] }
    const { breakpoints } = Result.getOrThrow(read(call({ messages: [marked, user("b")] })))
    assert.deepStrictEqual(breakpoints, [{ prefix: `us.anthropic.claude:0\n{"text":"a"}`, ttl: "1h" }])
  })

  it.each([
    ["an assistant first", { messages: [{ role: "assistant", content: [{ text: "a" }] }] }],
    ["two users in a row", { messages: [1, 2].map(() => ({ role: "user", content: [{ text: "a" }] })) }],
    ["a blank text", { messages: [{ role: "user", content: [{ text: " " }] }] }],
    ["a blank system", { system: [{ text: "" }], messages: [{ role: "user", content: [{ text: "a" }] }] }],
    [
      "tools that nobody declared",
      { messages: [{ role: "user", content: [{ toolResult: { toolUseId: "a", content: [{ text: "a" }] } }] }] }
    ],
    ["no messages", { messages: [] }],
    ["nothing", null]
  ])("refuses %s, as the real server does", (_name, body) => {
    assert.isTrue(Result.isFailure(bedrockWire.read(body, "/bedrock/model/m/converse")))
  })

  it("words its errors as Bedrock does, refused and in a stream", () => {
    const cases = [
      [{ _tag: "Status", status: 429 }, "rate_limited"],
      [{ _tag: "Status", status: 500 }, "server"],
      [{ _tag: "Overloaded" }, "overloaded"],
      [{ _tag: "Quota" }, "Credentials"],
      [{ _tag: "Context" }, "ContextTooLong"],
      [{ _tag: "Invalid", message: "no" }, "Invalid"]
    ] as const
    for (const [complaint, expected] of cases) {
      const { body, headers = {}, status } = bedrockWire.complain(complaint)
      const failure = bedrockConverse.failure({ status, headers, body: JSON.stringify(body) })
      assert.strictEqual(failing(Result.fail(failure)), expected)
      const [frame] = Result.getOrThrow(
        EventStreamFrames.eventStreamParser().read([bedrockWire.complainInStream(complaint)])
      )
      const step = frame && bedrockConverse.reader(call({})).step(frame)
      assert.strictEqual(step && failing(step), expected)
    }
  })
})
