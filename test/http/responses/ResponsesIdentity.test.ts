/**
 * A request for a response that goes on to a server of OpenAI's Responses API arrives there as it was sent, in all that
 * the gateway knows; and what such a server answered goes back to it, by way of the client, as it was.
 */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { fold } from "../../../src/domain/Completion.ts"
import { modelId, requestId } from "../../../src/domain/Ids.ts"
import { zero } from "../../../src/domain/Money.ts"
import { normalise } from "../../../src/domain/Reasoning.ts"
import { none } from "../../../src/domain/Usage.ts"
import { Meter } from "../../../src/gateway/Meter.ts"
import { readResponsesBody } from "../../../src/http/responses/ResponsesBody.ts"
import { responsesProtocol } from "../../../src/http/responses/ResponsesProtocol.ts"
import { openAiResponses } from "../../../src/providers/protocols/openai-responses/OpenAiResponses.ts"
import { ToolArguments } from "../../providers/protocols/fragments.ts"
import { asSent, callOf, thinker } from "../../providers/protocols/wire.ts"
import type { Json } from "../../support/Chat.ts"

const reading = (fields: Json) =>
  Result.getOrThrow(readResponsesBody(JSON.stringify(fields), { autoModel: "svc-auto", sessionHeader: undefined }))

/** The call that the gateway makes of a request. */
const callFor = (fields: Json) => {
  const { input } = reading(fields)
  const reasoning = normalise(input.reasoning, { routed: false })
  return callOf({ request: { ...input.request, ...(reasoning && { reasoning }) }, model: thinker(), stream: false })
}

/** The body that the server gets. */
const forwarded = (fields: Json): Json => asSent(Result.getOrThrow(openAiResponses.encode(callFor(fields))).body)

const Text = Schema.NonEmptyString
const InputText = Schema.Struct({ type: Schema.Literal("input_text"), text: Text })
const InputImage = Schema.Struct({
  type: Schema.Literal("input_image"),
  image_url: Schema.Literals(["https://example.com/a.png", "data:image/png;base64,iVBORw0KGgo="]),
  detail: Schema.Literals(["low", "high", "auto"])
})
const Message = Schema.Union([
  Schema.Struct({
    role: Schema.Literal("user"),
    content: Schema.Array(Schema.Union([InputText, InputImage])).check(Schema.isMinLength(1), Schema.isMaxLength(3))
  }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.Tuple([Schema.Struct({ type: Schema.Literal("output_text"), text: Text })])
  })
])
const Call = Schema.Struct({ name: Schema.Literals(["weather", "time"]), input: ToolArguments, output: Text })
const Settings = Schema.Struct({
  max_output_tokens: Schema.optionalKey(Schema.Literals([16, 1_000])),
  tool_choice: Schema.optionalKey(
    Schema.Union([
      Schema.Literals(["none", "required"]),
      Schema.Struct({ type: Schema.Literal("function"), name: Schema.Literal("weather") })
    ])
  ),
  parallel_tool_calls: Schema.optionalKey(Schema.Literal(false)),
  prompt_cache_key: Schema.optionalKey(Schema.Literals(["k"])),
  text: Schema.optionalKey(
    Schema.Struct({
      format: Schema.Struct({
        type: Schema.Literal("json_schema"),
        name: Schema.Literal("n"),
        schema: Schema.Struct({ type: Schema.Literal("object") }),
        strict: Schema.Boolean
      })
    })
  )
})
const Effort = Schema.Literals(["low", "medium", "high"])
const Messages = Schema.Array(Message).check(Schema.isMinLength(1), Schema.isMaxLength(5))
const Calls = Schema.Array(Call).check(Schema.isMaxLength(3))

const tools = ["weather", "time"].map((name, index) => ({
  type: "function",
  name,
  description: `The ${name}`,
  parameters: { type: "object", properties: {} },
  strict: index === 0
}))

describe("A request for a response", () => {
  it.prop("reaches a server of the same API as it was sent", { Messages, Calls, Settings, Effort }, (made) => {
    const calls = made.Calls.map(({ input, name }, index) => ({
      type: "function_call",
      call_id: `call_${index}`,
      name,
      arguments: JSON.stringify(input)
    }))
    const outputs = made.Calls.map(({ output }, index) => ({
      type: "function_call_output",
      call_id: `call_${index}`,
      output
    }))
    const input = [
      ...made.Messages,
      { role: "user", content: [{ type: "input_text", text: "?" }] },
      ...calls,
      ...outputs
    ]
    const settings = { ...made.Settings, tools }
    const {
      include,
      input: sent,
      model,
      reasoning,
      store,
      stream,
      ...rest
    } = forwarded({
      ...settings,
      input,
      reasoning: { effort: made.Effort }
    })
    assert.deepStrictEqual(sent, JSON.parse(JSON.stringify(input)))
    assert.deepStrictEqual(rest, JSON.parse(JSON.stringify(settings)))
    assert.deepStrictEqual(reasoning, { effort: made.Effort, summary: "auto" })
    assert.deepStrictEqual([model, store, stream], ["up", false, false])
    assert.deepStrictEqual(include, ["reasoning.encrypted_content"])
  })
})

/** An item as the server makes it. Newer models tell notes from answers by the phase. */
const Item = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("reasoning"),
    summaries: Schema.Array(Text).check(Schema.isMaxLength(2)),
    encrypted: Text
  }),
  Schema.Struct({
    type: Schema.Literal("message"),
    text: Text,
    phase: Schema.Literals(["commentary", "final_answer"])
  }),
  Schema.Struct({
    type: Schema.Literal("function_call"),
    name: Schema.Literals(["weather", "time"]),
    input: ToolArguments
  })
])
const Items = Schema.Array(Item).check(Schema.isMaxLength(7))

const itemOf = (item: (typeof Items)["Type"][number], index: number): Json => {
  switch (item.type) {
    case "reasoning": {
      const summary = item.summaries.map((text) => ({ type: "summary_text", text }))
      return { type: "reasoning", summary, encrypted_content: `${item.encrypted}${index}` }
    }
    case "message":
      return { role: "assistant", phase: item.phase, content: [{ type: "output_text", text: item.text }] }
    case "function_call":
      return {
        type: "function_call",
        call_id: `call_${index}`,
        name: item.name,
        arguments: JSON.stringify(item.input)
      }
  }
}

const question = { role: "user", content: [{ type: "input_text", text: "?" }] }

/** What the client gets for the server's answer. */
const answered = (items: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const fields = { input: [question], tools }
  const call = callFor(fields)
  const output = items.map((item, index) => ({ id: `item_${index}`, type: "message", status: "completed", ...item }))
  const events = Result.getOrThrow(openAiResponses.decode({ id: "r", status: "completed", output }, call))
  const bounds = { prompt: 1, output: 1 }
  const deltas = new Meter({ request: call.request, promptTokens: 1, outputLimit: 1, bounds }).pass(events)
  const answer = {
    model: modelId("m"),
    routing: { routed: false, model: null, latencyMillis: null },
    adjustments: [],
    usage: none,
    cost: zero,
    finishReason: "stop",
    completion: fold(deltas),
    output: deltas
  } as const
  const id = requestId("01a203b4-b71a-76fe-9c67-e2d507f95a68")
  const envelope = { id, createdSeconds: 0, serviceName: "svc", fingerprint: "f" }
  const response: Json = JSON.parse(JSON.stringify(responsesProtocol.plain(envelope, answer, reading(fields).asked)))
  return response["output"] as ReadonlyArray<Json>
}

/** Without reasoning that leads to no output: the server refuses it. It stands before the last output at the latest. */
const acceptable = (items: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const last = items.findLastIndex((item) => item["type"] !== "reasoning")
  return last < 0 ? [] : [...items.slice(0, last), ...items.slice(last + 1), ...items.slice(last, last + 1)]
}

describe("The answer of a server of the same API", () => {
  it.prop("goes back to it as it was, when the client sends back the response", { Items }, (made) => {
    const items = made.Items.map(itemOf)
    const results = items.flatMap(({ call_id, type }) =>
      type === "function_call" ? [{ type: "function_call_output", call_id, output: "done" }] : []
    )
    const input = [question, ...answered(items), ...results, question]
    const { input: sent } = forwarded({ input, tools })
    const returned = (sent as ReadonlyArray<Json>).slice(1, -1).filter(({ type }) => type !== "function_call_output")
    assert.deepStrictEqual(returned, acceptable(items))
  })
})
