import { assert, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import type { Message, ReasoningDetail } from "../../../../src/domain/Conversation.ts"
import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { openAiResponses } from "../../../../src/providers/protocols/openai-responses/OpenAiResponses.ts"
import { Damage, pieces, readDamaged, Sizes, ToolArguments } from "../fragments.ts"
import { bodyOf, callOf, completed, decoded, streamed, thinker, user } from "../wire.ts"

const Item = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("reasoning"),
    summaries: Schema.Array(Schema.String).check(Schema.isMaxLength(3)),
    encrypted: Schema.NonEmptyString
  }),
  Schema.Struct({ type: Schema.Literal("message"), text: Schema.String }),
  Schema.Struct({
    type: Schema.Literal("function_call"),
    name: Schema.NonEmptyString,
    input: ToolArguments
  })
])
const Answer = Schema.Array(Item).check(Schema.isMaxLength(6))
type Answer = typeof Answer.Type
/** What a server leaves out of its stream and sends only later. */
const Gaps = Schema.Struct({
  lastDelta: Schema.Boolean,
  textDone: Schema.Boolean,
  itemAdded: Schema.Boolean,
  itemDone: Schema.Boolean,
  /** Encrypted reasoning comes only in the last event. */
  encrypted: Schema.Boolean,
  /** The last event repeats no output. */
  output: Schema.Boolean
})
type Gaps = typeof Gaps.Type
const noGaps: Gaps = {
  lastDelta: false,
  textDone: false,
  itemAdded: false,
  itemDone: false,
  encrypted: false,
  output: false
}
/** A text must be whole before the next one starts, and everything must be sent at least once. */
const tolerable = (gaps: Gaps): Gaps => ({
  ...gaps,
  lastDelta: gaps.lastDelta && !gaps.textDone,
  output: gaps.output && !gaps.itemDone && !gaps.encrypted
})

const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 5 }
const call = callOf({ model: thinker() })

const itemOf = (item: Answer[number], index: number): JsonObject => {
  switch (item.type) {
    case "reasoning":
      return {
        type: "reasoning",
        id: `rs_${index}`,
        summary: item.summaries.map((text) => ({ type: "summary_text", text })),
        encrypted_content: item.encrypted
      }
    case "message":
      return { type: "message", id: `msg_${index}`, content: [{ type: "output_text", text: item.text }] }
    case "function_call":
      return {
        type: "function_call",
        id: `fc_${index}`,
        call_id: `call_${index}`,
        name: item.name,
        arguments: JSON.stringify(item.input)
      }
  }
}

const plain = (answer: Answer): JsonObject => ({
  id: "resp_1",
  status: "completed",
  error: null,
  output: answer.map(itemOf),
  usage
})

const textEvents = (
  name: string,
  at: JsonObject,
  whole: string,
  text: string,
  sizes: ReadonlyArray<number>,
  gaps: Gaps
): ReadonlyArray<JsonObject> => {
  const deltas = pieces(text, sizes).map((delta) => ({ type: `response.${name}.delta`, ...at, delta }))
  const done = { type: `response.${name}.done`, ...at, [whole]: text }
  return [...(gaps.lastDelta ? deltas.slice(0, -1) : deltas), ...(gaps.textDone ? [] : [done])]
}

const itemEvents = (
  item: Answer[number],
  output_index: number,
  sizes: ReadonlyArray<number>,
  gaps: Gaps
): ReadonlyArray<JsonObject> => {
  const whole = itemOf(item, output_index)
  const at = { output_index, item_id: whole["id"] }
  const texts = (): ReadonlyArray<JsonObject> => {
    switch (item.type) {
      case "reasoning":
        return item.summaries.flatMap((text, summary_index) =>
          textEvents("reasoning_summary_text", { ...at, summary_index }, "text", text, sizes, gaps)
        )
      case "message":
        return textEvents("output_text", { ...at, content_index: 0 }, "text", item.text, sizes, gaps)
      case "function_call":
        return textEvents("function_call_arguments", at, "arguments", JSON.stringify(item.input), sizes, gaps)
    }
  }
  const started = { ...whole, summary: [], content: [], arguments: "", encrypted_content: "not yet" }
  const added = { type: "response.output_item.added", output_index, item: started }
  const done = {
    type: "response.output_item.done",
    output_index,
    item: gaps.encrypted ? { ...whole, encrypted_content: null } : whole
  }
  return [...(gaps.itemAdded ? [] : [added]), ...texts(), ...(gaps.itemDone ? [] : [done])]
}

const stream = (answer: Answer, sizes: ReadonlyArray<number>, gaps: Gaps): ReadonlyArray<JsonObject | string> => [
  { type: "response.created", response: { id: "resp_1", status: "in_progress", error: null, output: [] } },
  ...answer.flatMap((item, index) => itemEvents(item, index, sizes, gaps)),
  {
    type: "response.completed",
    response: { ...plain(answer), ...(gaps.output && { output: [] }) }
  }
]

/** The summaries and the encrypted reasoning of each item, in an order that does not depend on the stream. */
const blocksOf = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<string> =>
  details.map(({ data, id, summary, type }) => JSON.stringify([id, type, summary, data])).toSorted()

it.prop(
  "a plain answer and any fragmentation of its stream, with any tolerable gaps, are the same completion",
  { Answer, Sizes, Gaps },
  (made) => {
    const whole = completed(decoded(openAiResponses, plain(made.Answer), call))
    const fragmented = completed(streamed(openAiResponses, stream(made.Answer, made.Sizes, tolerable(made.Gaps)), call))
    // What was left out comes at the end. Its block is then the same, but comes after others.
    assert.deepStrictEqual({ ...fragmented, reasoningDetails: [] }, { ...whole, reasoningDetails: [] })
    assert.deepStrictEqual(blocksOf(fragmented.reasoningDetails), blocksOf(whole.reasoningDetails))
    const texts = made.Answer.flatMap((item) => (item.type === "message" && item.text !== "" ? [item.text] : []))
    assert.strictEqual(whole.content, texts.join("\n"))
    const calls = made.Answer.filter((item) => item.type === "function_call")
    assert.deepStrictEqual(
      whole.toolCalls.map(({ arguments: text, name }) => ({ name, input: JSON.parse(text) as unknown })),
      calls.map(({ input, name }) => ({ name, input }))
    )
    assert.strictEqual(whole.finishReason, calls.length > 0 ? "tool_calls" : "stop")
  }
)

it.prop(
  "encrypted reasoning goes back unchanged, in order, each item before the output it led to",
  { Answer },
  (made) => {
    const { content, reasoningDetails, toolCalls } = completed(decoded(openAiResponses, plain(made.Answer), call))
    const answered: Message = {
      role: "assistant",
      content: content === "" ? [] : [{ type: "text", text: content }],
      toolCalls,
      reasoningDetails
    }
    const request = { ...call.request, messages: [user("q"), answered, user("go on")] }
    const input = bodyOf(openAiResponses, { ...call, request })["input"] as ReadonlyArray<JsonObject>
    // The calls have no results here, and get some.
    const items = input.slice(1, -1).filter((item) => item["type"] !== "function_call_output")
    const reasoning = items.filter((item: JsonObject) => item["type"] === "reasoning")
    const expected = made.Answer.flatMap((item) => (item.type === "reasoning" ? [item] : []))
    const hasOutput = content !== "" || toolCalls.length > 0
    assert.deepStrictEqual(
      reasoning.map((item: JsonObject) => item["encrypted_content"]),
      hasOutput ? expected.map((item) => item.encrypted) : []
    )
    assert.notStrictEqual(items.at(-1)?.["type"], "reasoning")
    // The order is kept where all text came before all calls.
    const [firstCall, lastText] = [
      made.Answer.findIndex((item) => item.type === "function_call"),
      made.Answer.findLastIndex((item) => item.type === "message" && item.text !== "")
    ]
    const texts = made.Answer.filter((item) => item.type === "message" && item.text !== "").length
    if (!hasOutput || texts > 1 || (firstCall >= 0 && lastText > firstCall)) return
    const types = made.Answer.flatMap((item) => (item.type === "message" && item.text === "" ? [] : [item.type]))
    const lastOutput = types.findLastIndex((type) => type !== "reasoning")
    const trailing = types.slice(lastOutput + 1)
    assert.deepStrictEqual(
      items.map((item: JsonObject) => item["type"] ?? "message"),
      [...types.slice(0, lastOutput), ...trailing, ...types.slice(lastOutput, lastOutput + 1)]
    )
  }
)

it.prop("a stream that is cut anywhere before its end is broken", { Answer, Sizes, at: Schema.Int }, (made) => {
  const frames = stream(made.Answer, made.Sizes, noGaps)
  const result = streamed(openAiResponses, frames.slice(0, Math.abs(made.at) % frames.length), call)
  assert.strictEqual(Result.isFailure(result) ? result.failure.reason._tag : "success", "Transient")
})

it.prop("no wrong value in a body, an event or an error makes reading throw", { Answer, Sizes, Damage }, (made) => {
  const frames = stream(made.Answer, made.Sizes, noGaps).map((frame) => ["", frame] as const)
  const error = { status: 500, body: { error: { message: {} } } }
  readDamaged(openAiResponses, call, { plain: plain(made.Answer), frames, error }, made.Damage)
})
