import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import type { Completion } from "../../../src/domain/Completion.ts"
import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { Damage, pieces, readDamaged, Sizes, ToolArguments } from "./fragments.ts"
import { callOf, completed, decoded, streamed, thinker } from "./wire.ts"

const Answer = Schema.Struct({
  text: Schema.String,
  reasoning: Schema.String,
  signature: Schema.NonEmptyString,
  tools: Schema.Array(Schema.Struct({ name: Schema.NonEmptyString, input: ToolArguments })).check(Schema.isMaxLength(4))
})
type Answer = typeof Answer.Type
/** Takes one item of each list in turn, so that parallel calls arrive interleaved. */
const interleaved = <A>(lists: ReadonlyArray<ReadonlyArray<A>>): ReadonlyArray<A> =>
  Array.from({ length: Math.max(0, ...lists.map((list) => list.length)) }, (_, row) =>
    lists.flatMap((list) => (row < list.length ? list.slice(row, row + 1) : []))
  ).flat()

const openAi = {
  plain: ({ reasoning, text, tools }: Answer): JsonObject => ({
    id: "c1",
    choices: [
      {
        message: {
          content: text,
          reasoning_content: reasoning,
          tool_calls: tools.map(({ input, name }, index) => ({
            id: `call_${index}`,
            type: "function",
            function: { name, arguments: JSON.stringify(input) }
          }))
        },
        finish_reason: "stop"
      }
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }
  }),
  stream: ({ reasoning, text, tools }: Answer, sizes: ReadonlyArray<number>): ReadonlyArray<JsonObject | string> => {
    const chunk = (delta: JsonObject): JsonObject => ({ id: "c1", choices: [{ index: 0, delta, finish_reason: null }] })
    const calls = tools.map(({ input, name }, index) => [
      { index, id: `call_${index}`, type: "function", function: { name, arguments: "" } },
      ...pieces(JSON.stringify(input), sizes).map((fragment) => ({ index, function: { arguments: fragment } }))
    ])
    return [
      chunk({ role: "assistant", content: "" }),
      ...pieces(reasoning, sizes).map((reasoning_content) => chunk({ reasoning_content })),
      ...pieces(text, sizes).map((content) => chunk({ content })),
      ...interleaved(calls).map((call) => chunk({ tool_calls: [call] })),
      { choices: [{ delta: {}, finish_reason: "stop" }] },
      {
        choices: [{ delta: {}, finish_reason: null }],
        usage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } }
      },
      "[DONE]"
    ]
  }
}

const anthropic = {
  plain: ({ reasoning, signature, text, tools }: Answer): JsonObject => ({
    id: "msg_1",
    content: [
      { type: "thinking", thinking: reasoning, signature },
      { type: "redacted_thinking", data: signature },
      { type: "text", text },
      ...tools.map(({ input, name }, index) => ({ type: "tool_use", id: `toolu_${index}`, name, input }))
    ],
    stop_reason: "end_turn",
    usage: { input_tokens: 6, cache_read_input_tokens: 4, output_tokens: 5 }
  }),
  stream: ({ reasoning, signature, text, tools }: Answer, sizes: ReadonlyArray<number>): ReadonlyArray<JsonObject> => {
    const block = (
      index: number,
      content_block: JsonObject,
      deltas: ReadonlyArray<JsonObject>
    ): ReadonlyArray<JsonObject> => [
      { type: "content_block_start", index, content_block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index }
    ]
    const thoughts = pieces(reasoning, sizes).map((thinking) => ({ type: "thinking_delta", thinking }))
    return [
      { type: "message_start", message: { id: "msg_1", usage: { input_tokens: 6, output_tokens: 1 } } },
      ...block(0, { type: "thinking", thinking: "", signature: "" }, [
        ...thoughts,
        ...pieces(signature, sizes).map((part) => ({ type: "signature_delta", signature: part }))
      ]),
      ...block(1, { type: "redacted_thinking", data: signature }, []),
      { type: "ping" },
      ...block(
        2,
        { type: "text", text: "" },
        pieces(text, sizes).map((part) => ({ type: "text_delta", text: part }))
      ),
      ...tools.flatMap(({ input, name }, index) =>
        block(
          3 + index,
          { type: "tool_use", id: `toolu_${index}`, name, input: {} },
          pieces(JSON.stringify(input), sizes).map((part) => ({ type: "input_json_delta", partial_json: part }))
        )
      ),
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
      { type: "message_delta", delta: {}, usage: { cache_read_input_tokens: 4 } },
      { type: "message_stop" }
    ]
  }
}

const assertCompletion = (completion: Completion, answer: Answer): void => {
  assert.strictEqual(completion.content, answer.text)
  assert.strictEqual(completion.reasoning, answer.reasoning)
  assert.deepStrictEqual(
    completion.toolCalls.map(({ arguments: text, name }) => ({ name, input: JSON.parse(text) as unknown })),
    answer.tools.map(({ input, name }) => ({ name, input }))
  )
  assert.strictEqual(completion.finishReason, answer.tools.length > 0 ? "tool_calls" : "stop")
  assert.deepInclude(completion.usage, { input: 6, cacheRead: 4, output: 5 })
}

describe.each([
  ["openai-chat", openAi],
  ["anthropic-messages", anthropic]
] as const)("%s", (name, wire) => {
  const protocol = protocols[name]
  const call = callOf({ model: thinker(), dialect: "generic" })

  it.prop("a plain answer and any fragmentation of its stream are the same completion", { Answer, Sizes }, (made) => {
    const plain = completed(decoded(protocol, wire.plain(made.Answer), call))
    const stream = completed(streamed(protocol, wire.stream(made.Answer, made.Sizes), call))
    assertCompletion(plain, made.Answer)
    assert.deepStrictEqual(stream, plain)
  })

  it.prop("a stream that is cut anywhere before its end is broken", { Answer, Sizes, at: Schema.Int }, (made) => {
    const frames = wire.stream(made.Answer, made.Sizes)
    const last = frames.length - (name === "openai-chat" ? 3 : 1)
    const result = streamed(protocol, frames.slice(0, Math.abs(made.at) % last), call)
    assert.strictEqual(Result.isFailure(result) ? result.failure.reason._tag : "success", "Transient")
  })

  it.prop("no wrong value in a body, a chunk or an error makes reading throw", { Answer, Sizes, Damage }, (made) => {
    const frames = wire.stream(made.Answer, made.Sizes).map((frame) => ["", frame] as const)
    const error = { status: 500, body: { error: { message: {} } } }
    readDamaged(protocol, call, { plain: wire.plain(made.Answer), frames, error }, made.Damage)
  })
})
