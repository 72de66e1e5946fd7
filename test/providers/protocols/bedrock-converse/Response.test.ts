import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { type Completion, type CompletionEvent, fold } from "../../../../src/domain/Completion.ts"
import type { Message } from "../../../../src/domain/Conversation.ts"
import type { Failure } from "../../../../src/domain/Failure.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { none } from "../../../../src/domain/Usage.ts"
import { bedrockConverse } from "../../../../src/providers/protocols/bedrock-converse/BedrockConverse.ts"
import type { ProviderFrame, WireCall } from "../../../../src/providers/protocols/Protocol.ts"
import * as EventStreamFrames from "../../../../src/providers/transport/EventStreamFrames.ts"
import { eventMessage } from "../../../../src/sandbox/protocols/bedrock-converse/Response.ts"
import { Damage, damaged, pieces, readDamaged, Sizes, ToolArguments } from "../fragments.ts"
import { bodyOf, callOf, completed, decoded, failing, failureTag, outcome, thinker, user } from "../wire.ts"

const tools = ["f", "g"].map((name) => ({ name, parameters: {} }))
const call = (over: Parameters<typeof callOf>[0] = {}): WireCall =>
  callOf({
    dialect: "generic",
    upstream: "us.anthropic.claude-haiku-4-5",
    model: thinker(),
    ...over,
    request: { tools, ...over.request }
  })

type Event = readonly [name: string, payload: JsonObject]

/** The events of a stream as bytes, in packets of these sizes, read to their end. */
const streamed = (
  events: ReadonlyArray<Event>,
  wireCall: WireCall = call(),
  sizes: ReadonlyArray<number> = [50]
): Result.Result<Completion, Failure> =>
  readBytes(Buffer.concat(events.map(([name, payload]) => eventMessage("event", name, payload))), wireCall, sizes)

const readBytes = (bytes: Uint8Array, wireCall: WireCall, sizes: ReadonlyArray<number>) =>
  Result.gen(function* () {
    const parser = EventStreamFrames.eventStreamParser()
    const reader = bedrockConverse.reader(wireCall)
    const events: Array<CompletionEvent> = []
    const read = function* (frames: ReadonlyArray<ProviderFrame>) {
      for (const frame of frames) if (!reader.ended()) events.push(...(yield* reader.step(frame)))
    }
    for (let at = 0, count = 0; at < bytes.length; count++) {
      const size = sizes[count % sizes.length] ?? 1
      yield* read(yield* parser.read([bytes.subarray(at, at + size)]))
      at += size
    }
    if (!reader.ended()) yield* read(yield* parser.end())
    events.push(...(yield* reader.finish()))
    return fold(events)
  })

const start: Event = ["messageStart", { role: "assistant" }]
const delta = (contentBlockIndex: number, delta: JsonObject): Event => [
  "contentBlockDelta",
  { contentBlockIndex, delta }
]
const stop = (contentBlockIndex: number): Event => ["contentBlockStop", { contentBlockIndex }]
const tool = (contentBlockIndex: number, toolUse: JsonObject): Event => [
  "contentBlockStart",
  { contentBlockIndex, start: { toolUse } }
]
const end = (stopReason: string, usage: JsonObject = { inputTokens: 3, outputTokens: 2 }): ReadonlyArray<Event> => [
  ["messageStop", { stopReason }],
  ["metadata", { usage, metrics: { latencyMs: 1 } }]
]
const body = (content: ReadonlyArray<JsonObject>, stopReason: string, usage: JsonObject = {}): JsonObject => ({
  output: { message: { role: "assistant", content } },
  stopReason,
  usage
})

describe("an answer", () => {
  it("reads the stop reason by one table, plain and streamed", () => {
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["end_turn", "stop"],
      ["stop_sequence", "stop"],
      ["max_tokens", "length"],
      ["model_context_window_exceeded", "length"],
      ["tool_use", "stop"],
      ["guardrail_intervened", "content_filter"],
      ["content_filtered", "content_filter"],
      ["malformed_model_output", "broken"],
      ["malformed_tool_use", "broken"],
      ["new_reason", "stop"],
      ["content_blocked_by_policy", "content_filter"],
      ["output_limit_reached", "length"],
      ["backend_error", "broken"]
    ]
    for (const [stopReason, expected] of cases)
      for (const result of [
        streamed([start, ...end(stopReason)]),
        decoded(bedrockConverse, body([], stopReason), call())
      ])
        assert.strictEqual(outcome(result), expected, stopReason)
  })

  it("counts usage in disjoint buckets, under either name, also before the stop", () => {
    const usage = {
      inputTokens: 10,
      outputTokens: 9,
      totalTokens: 31,
      cacheReadInputTokens: 7,
      cacheWriteInputTokens: 5,
      cacheDetails: [
        { ttl: "1h", inputTokens: 2 },
        { ttl: "5m", inputTokens: 3 }
      ]
    }
    const expected = { ...none, input: 10, cacheRead: 7, cacheWrite5m: 3, cacheWrite1h: 2, output: 9 }
    assert.deepStrictEqual(completed(streamed([start, ...end("end_turn", usage)])).usage, expected)
    assert.deepStrictEqual(completed(streamed([start, ...end("end_turn", usage).toReversed()])).usage, expected)
    const { cacheDetails: _, cacheReadInputTokens, cacheWriteInputTokens, ...counts } = usage
    const second = {
      ...counts,
      cacheReadInputTokenCount: cacheReadInputTokens,
      cacheWriteInputTokenCount: cacheWriteInputTokens
    }
    assert.deepStrictEqual(completed(decoded(bedrockConverse, body([], "end_turn", second), call())).usage, {
      ...expected,
      cacheWrite5m: 5,
      cacheWrite1h: 0
    })
    assert.isUndefined(completed(streamed([start, ["messageStop", { stopReason: "end_turn" }]])).usage)
  })

  it("has only the calls that were asked for, and {} for no input", () => {
    const events = [
      start,
      tool(0, { toolUseId: "a", name: "f" }),
      delta(0, { toolUse: { input: "" } }),
      stop(0),
      tool(1, { toolUseId: "b", name: "g" }),
      delta(1, { toolUse: { input: `{"x":1}` } }),
      ...end("tool_use")
    ]
    const called = (request: Parameters<typeof callOf>[0]) => {
      const { finishReason, toolCalls } = completed(streamed(events, call(request)))
      return [finishReason, ...toolCalls.map((made) => `${made.id} ${made.name} ${made.arguments}`)]
    }
    assert.deepStrictEqual(called({}), ["tool_calls", "a f {}", `b g {"x":1}`])
    assert.deepStrictEqual(called({ request: { parallelToolCalls: false } }), ["tool_calls", "a f {}"])
    assert.deepStrictEqual(called({ request: { toolChoice: "none" } }), ["stop"])
  })

  it("is broken without a stop reason, with a call without a name and in an unknown shape", () => {
    const text = delta(0, { text: "a" })
    const streams: ReadonlyArray<readonly [ReadonlyArray<Event>, string]> = [
      [[], "broken"],
      [[start, text], "broken"],
      [[start, text, stop(0), ["metadata", { usage: {} }]], "broken"],
      [[start, text, ["messageStop", {}]], "broken"],
      [[start, tool(0, { toolUseId: "a" })], "broken"],
      [[start, ["somethingNew", {}], text, ...end("end_turn")], "success"]
    ]
    for (const [events, expected] of streams) assert.strictEqual(failing(streamed(events)), expected)
    for (const unknown of [null, [], {}, body([], ""), body([{ toolUse: {} }], "tool_use"), { output: { message: 1 } }])
      assert.strictEqual(failing(decoded(bedrockConverse, unknown, call())), "broken")
  })
})

describe("a failure", () => {
  const failure = (status: number, name: string, message: string, inBody = false) =>
    failureTag(
      bedrockConverse.failure({
        status,
        headers: inBody || name === "" ? {} : { "x-amzn-errortype": `${name}:http://internal.amazon.com/coral/` },
        body: JSON.stringify({ message, ...(inBody && { __type: `com.amazon.coral.service#${name}` }) })
      })
    )

  it.each<readonly [number, string, string, string]>([
    [400, "ValidationException", "Input is too long for requested model.", "ContextTooLong"],
    [400, "ValidationException", "The provided model identifier is invalid.", "Unsupported"],
    [400, "ValidationException", "This model doesn't support the reasoningContent field.", "Unsupported"],
    [400, "ValidationException", "A conversation must start with a user message.", "Invalid"],
    [400, "ValidationException", "Field rate limit is not a number.", "Invalid"],
    [400, "ServiceQuotaExceededException", "Over the quota.", "rate_limited"],
    [400, "ExpiredTokenException", "The security token included in the request is expired", "Credentials"],
    [403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", "Credentials"],
    [403, "UnrecognizedClientException", "The security token included in the request is invalid.", "Credentials"],
    [403, "InvalidSignatureException", "Signature expired.", "Credentials"],
    [404, "ResourceNotFoundException", "No such model.", "Unsupported"],
    [408, "ModelTimeoutException", "Slow.", "timeout"],
    [424, "ModelErrorException", "The model failed.", "server"],
    [429, "ThrottlingException", "Too many tokens, please wait before trying again.", "rate_limited"],
    [429, "ModelNotReadyException", "Not ready.", "overloaded"],
    [500, "InternalServerException", "Sorry.", "server"],
    [503, "ServiceUnavailableException", "Bedrock is unable to process your request.", "overloaded"],
    [418, "", "Short and stout.", "Invalid"],
    [502, "", "Bad.", "server"]
  ])("%i %s: %s", (status, name, message, expected) => {
    assert.strictEqual(failure(status, name, message), expected)
    assert.strictEqual(failure(status, name, message, true), expected)
  })

  it("is found in a response with a success status", () => {
    const inside = { __type: "com.amazon.coral.availability#ThrottlingException", message: "Slow down." }
    assert.strictEqual(failing(decoded(bedrockConverse, inside, call())), "rate_limited")
  })

  it("in a stream has the type of its event as its name", () => {
    const cases: ReadonlyArray<readonly [string, JsonObject, string]> = [
      ["throttlingException", { message: "Too many tokens." }, "rate_limited"],
      ["modelStreamErrorException", { message: "x", originalStatusCode: 500 }, "server"],
      ["internalServerException", { message: "x" }, "server"],
      ["serviceUnavailableException", {}, "overloaded"],
      ["validationException", { message: "Input is too long for requested model." }, "ContextTooLong"],
      ["validationException", { message: "x" }, "Invalid"],
      ["someNewException", { message: "x" }, "server"]
    ]
    for (const [name, payload, expected] of cases) {
      const bytes = Buffer.concat([eventMessage("event", ...start), eventMessage("exception", name, payload)])
      assert.strictEqual(failing(readBytes(bytes, call(), [9])), expected, name)
    }
  })
})

describe("thinking over the turns of a tool loop", () => {
  const content = (id: string): ReadonlyArray<JsonObject> => [
    { reasoningContent: { reasoningText: { text: "why", signature: "s1" } } },
    { reasoningContent: { redactedContent: "aGlkZGVu" } },
    { reasoningContent: { reasoningText: { text: "", signature: "s2" } } },
    { text: "so" },
    { toolUse: { toolUseId: id, name: "f", input: {} } }
  ]
  const asEvents = (id: string): ReadonlyArray<Event> => [
    start,
    delta(0, { reasoningContent: { text: "wh" } }),
    delta(0, { reasoningContent: { text: "y" } }),
    delta(0, { reasoningContent: { signature: "s" } }),
    delta(0, { reasoningContent: { signature: "1" } }),
    stop(0),
    delta(1, { reasoningContent: { redactedContent: Buffer.from("hid").toString("base64") } }),
    delta(1, { reasoningContent: { redactedContent: Buffer.from("den").toString("base64") } }),
    stop(1),
    delta(2, { reasoningContent: { signature: "s2" } }),
    stop(2),
    delta(3, { text: "so" }),
    stop(3),
    tool(4, { toolUseId: id, name: "f" }),
    stop(4),
    ...end("tool_use")
  ]
  const answered = (kind: string, id: string, wireCall: WireCall): Completion =>
    completed(
      kind === "plain"
        ? decoded(bedrockConverse, body(content(id), "tool_use"), wireCall)
        : streamed(asEvents(id), wireCall)
    )

  it.each(["plain", "streamed"])("goes back unchanged, in order, and only to the target that made it (%s)", (kind) => {
    const messages: Array<Message> = [user("q")]
    const turns = (origin: string) =>
      bodyOf(bedrockConverse, call({ origin, request: { messages } }))["messages"] as ReadonlyArray<JsonObject>
    for (const id of ["t1", "t2", "t3"]) {
      const answer = answered(kind, id, call({ request: { messages: [...messages] } }))
      messages.push(
        { ...answer, role: "assistant", content: [{ type: "text", text: answer.content }] },
        { role: "tool", toolCallId: id, content: [{ type: "text", text: "r" }] }
      )
      const assistants = turns("lab/up").filter((turn) => turn["role"] === "assistant")
      assert.deepStrictEqual(
        assistants.map((turn) => turn["content"]),
        ["t1", "t2", "t3"].slice(0, assistants.length).map(content)
      )
      assert.notMatch(JSON.stringify(turns("lab/other")), /reasoningContent|why|s1|aGlk/)
    }
    assert.strictEqual(messages.length, 7)
  })

  it.each(["plain", "streamed"])(
    "is reduced to the blocks that are valid without their text when the client excludes it (%s)",
    (kind) => {
      const { reasoning, reasoningDetails } = answered(kind, "t", call({ request: { reasoning: { exclude: true } } }))
      assert.strictEqual(reasoning, "")
      assert.deepStrictEqual(
        reasoningDetails.map((detail) => detail["data"] ?? detail["signature"]),
        ["aGlkZGVu", "s2"]
      )
    }
  )
})

describe("plain and streamed", () => {
  const Answer = Schema.Struct({
    text: Schema.String,
    reasoning: Schema.String,
    signature: Schema.NonEmptyString,
    tools: Schema.Array(ToolArguments).check(Schema.isMaxLength(4))
  })
  type Answer = typeof Answer.Type
  const usage = { inputTokens: 6, cacheReadInputTokens: 4, outputTokens: 5 }

  const plain = ({ reasoning, signature, text, tools }: Answer): JsonObject =>
    body(
      [
        { reasoningContent: { reasoningText: { text: reasoning, signature } } },
        { text },
        ...tools.map((input, index) => ({ toolUse: { toolUseId: `t${index}`, name: "f", input } }))
      ],
      tools.length > 0 ? "tool_use" : "end_turn",
      usage
    )
  const events = (
    { reasoning, signature, text, tools }: Answer,
    sizes: ReadonlyArray<number>
  ): ReadonlyArray<Event> => [
    start,
    ...pieces(reasoning, sizes).map((part) => delta(0, { reasoningContent: { text: part } })),
    ...pieces(signature, sizes).map((part) => delta(0, { reasoningContent: { signature: part } })),
    stop(0),
    ...pieces(text, sizes).map((part) => delta(1, { text: part })),
    stop(1),
    ...tools.flatMap((input, index) => [
      tool(index + 2, { toolUseId: `t${index}`, name: "f" }),
      ...pieces(JSON.stringify(input), sizes).map((part) => delta(index + 2, { toolUse: { input: part } })),
      stop(index + 2)
    ]),
    ...end(tools.length > 0 ? "tool_use" : "end_turn", usage)
  ]
  const bytesOf = (made: ReadonlyArray<Event>) =>
    Buffer.concat(made.map(([name, payload]) => eventMessage("event", name, payload)))

  it.prop("are the same completion, wherever the bytes are cut", { Answer, Sizes }, (made) => {
    const whole = completed(decoded(bedrockConverse, plain(made.Answer), call()))
    assert.strictEqual(whole.content, made.Answer.text)
    assert.strictEqual(whole.reasoning, made.Answer.reasoning)
    assert.deepStrictEqual<ReadonlyArray<unknown>>(
      whole.toolCalls.map((made) => JSON.parse(made.arguments)),
      made.Answer.tools
    )
    assert.deepInclude(whole.usage, { input: 6, cacheRead: 4, output: 5 })
    const cut = completed(readBytes(bytesOf(events(made.Answer, made.Sizes)), call(), made.Sizes))
    assert.deepStrictEqual(cut, whole)
  })

  it.prop("are broken when the bytes end or are damaged before the stop", { Answer, Sizes, Damage }, (made) => {
    const all = events(made.Answer, made.Sizes)
    const lengthToStop = bytesOf(all.slice(0, -1)).length
    const bytes = bytesOf(all)
    const at = made.Damage.place % lengthToStop
    assert.strictEqual(failing(readBytes(bytes.subarray(0, at), call(), [64])), "broken")
    bytes[at] = (bytes[at] ?? 0) ^ 1
    assert.strictEqual(failing(readBytes(bytes, call(), [64])), "broken")
  })

  it.prop("never make reading throw, whatever value is wrong", { Answer, Sizes, Damage }, (made) => {
    const frames = events(made.Answer, made.Sizes)
    const responses = { plain: plain(made.Answer), frames, error: { status: 500, body: { message: {} } } }
    readDamaged(bedrockConverse, call(), responses, made.Damage)
    const wrong = damaged({}, made.Damage)
    bedrockConverse.reader(call()).step({ event: "throttlingException", data: JSON.stringify(wrong) })
    const headers = { "x-amzn-errortype": String(wrong) }
    bedrockConverse.failure({ status: 500, headers, body: JSON.stringify(damaged({ message: {} }, made.Damage)) })
  })
})
