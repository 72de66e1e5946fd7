/** A response as it is written: a plain one is what the events of a streamed one add up to, whatever the model says. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { InternalError } from "../../../src/api/Errors.ts"
import { type FinishReason, fold } from "../../../src/domain/Completion.ts"
import { modelId, requestId } from "../../../src/domain/Ids.ts"
import { joinedDetails } from "../../../src/domain/ReasoningBlocks.ts"
import { none } from "../../../src/domain/Usage.ts"
import type { Delta } from "../../../src/gateway/Meter.ts"
import { readResponsesBody } from "../../../src/http/responses/ResponsesBody.ts"
import { responsesProtocol } from "../../../src/http/responses/ResponsesProtocol.ts"
import { at, type Json } from "../../support/Chat.ts"
import { foldedResponse, responseEventsIn } from "../../support/ResponseEvents.ts"
import { usd } from "../../support/TestGateway.ts"

const id = requestId("01a203b4-b71a-76fe-9c67-e2d507f95a68")
const envelope = { id, createdSeconds: 1_795_358_504, serviceName: "svc", fingerprint: "fp_1" }
const routing = { routed: false, model: null, latencyMillis: null }
const head = { model: modelId("gpt-5.2"), routing, adjustments: [], promptTokens: 0 }
const charged = { usage: { ...none, input: 7, cacheRead: 3, output: 5, reasoning: 2 }, cost: usd("0.0001") }

const readBody = (fields: Json) =>
  Result.getOrThrow(readResponsesBody(JSON.stringify(fields), { autoModel: "svc-auto", sessionHeader: undefined }))

const { asked } = readBody({
  input: "hi",
  tools: [
    { type: "function", name: "weather", parameters: { type: "object" } },
    { type: "custom", name: "patch" },
    { type: "namespace", name: "agents", description: "Helpers", tools: [{ type: "function", name: "start" }] }
  ]
})

const plainOf = (deltas: ReadonlyArray<Delta>, finishReason: FinishReason): Json => {
  const answer = { ...head, ...charged, finishReason, completion: fold(deltas), output: deltas }
  return JSON.parse(JSON.stringify(responsesProtocol.plain(envelope, answer, asked)))
}

const streamOf = (packets: ReadonlyArray<ReadonlyArray<Delta>>, finishReason: FinishReason): ReadonlyArray<Json> => {
  const encoder = responsesProtocol.stream(envelope, head, asked)
  const texts = packets.map((packet) => encoder.deltas(packet))
  return responseEventsIn(texts.join("") + encoder.last({ type: "settled", ...charged, finishReason }))
}

/** What a model does next; each becomes the deltas that arrive together. */
const Step = Schema.Union([
  Schema.Struct({ kind: Schema.Literals(["text", "refusal"]), text: Schema.String }),
  Schema.Struct({
    kind: Schema.Literals(["summary", "thought"]),
    text: Schema.NonEmptyString,
    index: Schema.Literals([0, 1])
  }),
  Schema.Struct({ kind: Schema.Literals(["signature", "encrypted"]), text: Schema.NonEmptyString }),
  Schema.Struct({ kind: Schema.Literals(["bare"]), text: Schema.String }),
  Schema.Struct({ kind: Schema.Literals(["weather", "patch", "agents__start", "unknown"]), text: Schema.String }),
  Schema.Struct({ kind: Schema.Literals(["arguments"]), text: Schema.String })
])
const Steps = Schema.Array(Step).check(Schema.isMaxLength(14))
const Reason = Schema.Literals(["stop", "length", "tool_calls", "content_filter"])

const packetsOf = (steps: (typeof Steps)["Type"]): ReadonlyArray<ReadonlyArray<Delta>> => {
  let calls = 0
  return steps.map((step): ReadonlyArray<Delta> => {
    const { text } = step
    const detail = (members: Json): Delta => ({ type: "detail", detail: { id: "o/m#1", format: "f", ...members } })
    switch (step.kind) {
      case "text":
      case "refusal":
        return [{ type: step.kind, text }]
      case "bare":
        return [{ type: "reasoning", text }]
      case "summary":
        return [{ type: "reasoning", text }, detail({ type: "reasoning.summary", summary: text, index: step.index })]
      case "thought":
        return [{ type: "reasoning", text }, detail({ type: "reasoning.text", text, index: step.index })]
      case "signature":
        return [detail({ type: "reasoning.text", text: "", signature: text, index: 1 })]
      case "encrypted":
        return [detail({ type: "reasoning.encrypted", data: text, index: 3 })]
      case "arguments":
        return calls === 0 ? [] : [{ type: "arguments", index: text.length % calls, fragment: text }]
      default:
        return [
          { type: "tool", index: calls++, id: `call_${calls}`, name: step.kind },
          { type: "arguments", index: calls - 1, fragment: JSON.stringify({ input: text }) }
        ]
    }
  })
}

const outputOf = (response: Json) => response["output"] as ReadonlyArray<Json>

describe("A response", () => {
  it.prop("streamed is the plain one, whatever the packets", { Steps, Reason, whole: Schema.Boolean }, (made) => {
    const packets = packetsOf(made.Steps)
    const sent = made.whole ? [packets.flat()] : packets
    assert.deepStrictEqual(foldedResponse(streamOf(sent, made.Reason)), plainOf(packets.flat(), made.Reason))
  })

  it.prop("has all texts and calls of the answer, and all blocks of reasoning", { Steps }, ({ Steps: steps }) => {
    const deltas = packetsOf(steps).flat()
    const output = outputOf(plainOf(deltas, "stop"))
    const { reasoningDetails, refusal, toolCalls } = fold(deltas)
    const parts = output.flatMap((item) => (item["type"] === "message" ? (item["content"] as ReadonlyArray<Json>) : []))
    assert.strictEqual(parts.map((part) => part["refusal"] ?? "").join(""), refusal)
    const calls = output.filter((item) => "call_id" in item)
    assert.deepStrictEqual(
      calls.map((item) => item["call_id"]),
      toolCalls.map((call) => call.id)
    )
    const { input } = readBody({ input: [{ role: "user", content: "hi" }, ...output] })
    const [, answer, ...rest] = input.request.messages
    assert.lengthOf(rest, 0)
    if (output.length === 0 || answer?.role !== "assistant") return void assert.lengthOf(output, 0)
    // Blocks in pieces came back joined, as the client of a chat would have joined them.
    assert.sameDeepMembers([...joinedDetails(answer.reasoningDetails)], [...reasoningDetails])
  })
})

const text = (content: string): Delta => ({ type: "text", text: content })
const summary = (content: string, index: number): ReadonlyArray<Delta> => [
  { type: "reasoning", text: content },
  { type: "detail", detail: { type: "reasoning.summary", summary: content, index, id: "o/m#rs_1", format: "f" } }
]

const typesOf = (deltas: ReadonlyArray<Delta>) => outputOf(plainOf(deltas, "stop")).map((item) => item["type"])

describe("The output of a response", () => {
  it("has its items in the order of the answer", () => {
    const call: ReadonlyArray<Delta> = [{ type: "tool", index: 0, id: "call_1", name: "weather" }]
    assert.deepStrictEqual(typesOf([...summary("a", 0), text("b"), ...call, text("c"), ...summary("d", 1)]), [
      "reasoning",
      "message",
      "function_call",
      "message",
      "reasoning"
    ])
  })

  it("has a part for each summary, without the break between them", () => {
    const [first] = outputOf(
      plainOf([...summary("a", 0), { type: "reasoning", text: "\n\n" }, ...summary("b", 1)], "stop")
    )
    assert.deepStrictEqual(first?.["summary"], [
      { type: "summary_text", text: "a" },
      { type: "summary_text", text: "b" }
    ])
    assert.notProperty(first, "content")
  })

  it("does not begin a second message with the break before it", () => {
    const call: ReadonlyArray<Delta> = [{ type: "tool", index: 0, id: "call_1", name: "weather" }]
    const output = outputOf(plainOf([text("a"), ...call, text("\n"), text("b")], "stop"))
    assert.strictEqual(at(output, 2, "content", 0, "text"), "b")
  })

  it("keeps a message in one piece where a signature comes within it", () => {
    const signature: Delta = {
      type: "detail",
      detail: { type: "reasoning.text", text: "", signature: "s", index: 0, id: "o/m##" }
    }
    const output = outputOf(plainOf([text("a"), signature, text("b")], "stop"))
    assert.deepStrictEqual(
      output.map((item) => item["type"]),
      ["message", "reasoning"]
    )
    assert.strictEqual(at(output, 0, "content", 0, "text"), "ab")
    assert.match(String(output[1]?.["encrypted_content"]), /^tg1\./)
  })

  it("names tools as the client does", () => {
    const called = (name: string, fragment: string, index: number): ReadonlyArray<Delta> => [
      { type: "tool", index, id: `call_${index}`, name },
      { type: "arguments", index, fragment }
    ]
    const deltas = [
      ...called("patch", '{"input":"*** Begin"}', 0),
      ...called("agents__start", "{}", 1),
      ...called("patch", "{", 2)
    ]
    const [patch, start, cut] = outputOf(plainOf(deltas, "length"))
    assert.include(patch, { type: "custom_tool_call", name: "patch", input: "*** Begin", status: "completed" })
    assert.include(start, { type: "function_call", name: "start", namespace: "agents", arguments: "{}" })
    assert.include(cut, { type: "custom_tool_call", input: "{", status: "incomplete" })
  })

  it("is incomplete where the model was cut off, and says why", () => {
    const cut = plainOf([text("a")], "length")
    assert.deepInclude(cut, { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } })
    assert.strictEqual(outputOf(cut)[0]?.["status"], "incomplete")
    const filtered = plainOf([text("a")], "content_filter")
    assert.deepInclude(filtered, { status: "incomplete", incomplete_details: { reason: "content_filter" } })
    assert.deepInclude(plainOf([text("a")], "stop"), { status: "completed", incomplete_details: null, error: null })
  })

  it("has the usage and the charge", () => {
    assert.deepStrictEqual(plainOf([text("a")], "stop")["usage"], {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
      cost: 0.0001
    })
  })
})

describe("A response that breaks off", () => {
  const error = InternalError.of("No provider answered")

  it("ends with a failed response that has what there was", () => {
    const encoder = responsesProtocol.stream(envelope, head, asked)
    const events = responseEventsIn(encoder.deltas([text("a")]) + encoder.last({ type: "broken", error }))
    const response = foldedResponse(events)
    assert.deepInclude(response, {
      status: "failed",
      usage: null,
      error: { code: "server_error", message: "No provider answered", type: "internal_error" }
    })
    assert.strictEqual(at(response, "output", 0, "status"), "incomplete")
  })

  it("is an error event where no model had begun", () => {
    const encoder = responsesProtocol.stream(envelope, head, asked)
    assert.deepStrictEqual(responseEventsIn(encoder.last({ type: "broken", error })), [
      { type: "error", sequence_number: 0, code: "internal_error", message: "No provider answered", param: null }
    ])
  })
})
