/** Reads a request as an OpenAI chat completions server would. */
import { Option, Result, Schema } from "effect"

import type { Json, Prompt } from "./Prompt.ts"

const Record = Schema.Record(Schema.String, Schema.Unknown)
const Part = Schema.Struct({ type: Schema.String, text: Schema.optional(Schema.String) })
const Message = Schema.Struct({
  role: Schema.String,
  content: Schema.optional(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Part)])))
})
const Request = Schema.Struct({
  model: Schema.String,
  messages: Schema.NonEmptyArray(Message),
  stream: Schema.optional(Schema.Boolean),
  max_completion_tokens: Schema.optional(Schema.Finite),
  max_tokens: Schema.optional(Schema.Finite),
  stop: Schema.optional(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Schema.String)]))),
  tools: Schema.optional(
    Schema.Array(
      Schema.Struct({ function: Schema.Struct({ name: Schema.String, parameters: Schema.optional(Record) }) })
    )
  ),
  tool_choice: Schema.optional(
    Schema.Union([
      Schema.Literals(["none", "auto", "required"]),
      Schema.Struct({ function: Schema.Struct({ name: Schema.String }) })
    ])
  ),
  parallel_tool_calls: Schema.optional(Schema.Boolean),
  response_format: Schema.optional(
    Schema.Struct({
      type: Schema.String,
      json_schema: Schema.optional(Schema.Struct({ schema: Schema.optional(Record) }))
    })
  ),
  reasoning_effort: Schema.optional(Schema.NullOr(Schema.String)),
  reasoning: Schema.optional(Schema.NullOr(Record)),
  thinking: Schema.optional(Schema.NullOr(Record))
})
type Request = typeof Request.Type

const decode = Schema.decodeUnknownOption(Request)

const textOf = ({ content }: typeof Message.Type): string =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("")

/** The prompt of a request body, or what is wrong with it. */
export const read = (body: unknown): Result.Result<Prompt, string> => {
  const request = Option.getOrUndefined(decode(body))
  if (request === undefined) return Result.fail("The body is not a chat completion request.")
  if (request.tools === undefined && request.tool_choice !== undefined) {
    return Result.fail("'tool_choice' is only allowed when 'tools' are specified.")
  }
  const { messages } = request
  const last = messages.at(-1)
  const lastUser = messages.findLast(({ role }) => role === "user")
  const parts = messages.flatMap(({ content }) => (content instanceof Array ? content : []))
  const choice = request.tool_choice
  return Result.succeed({
    model: request.model,
    stream: request.stream ?? false,
    messages: messages.length,
    text: JSON.stringify([request.tools ?? [], messages]),
    breakpoints: [],
    lastUserText: lastUser === undefined ? "" : textOf(lastUser),
    toolResult: last?.role === "tool" ? textOf(last) : undefined,
    images: parts.filter(({ type }) => type === "image_url").length,
    audios: parts.filter(({ type }) => type === "input_audio").length,
    tools: (request.tools ?? []).map((tool) => ({ name: tool.function.name, schema: tool.function.parameters ?? {} })),
    toolChoice: typeof choice === "object" ? { name: choice.function.name } : (choice ?? "auto"),
    parallelCalls: request.parallel_tool_calls ?? true,
    answerSchema: answerSchemaOf(request),
    thinks: thinks(request),
    maxTokens: request.max_completion_tokens ?? request.max_tokens,
    stop: typeof request.stop === "string" ? [request.stop] : (request.stop ?? [])
  })
}

const answerSchemaOf = ({ response_format: format }: Request): Json | undefined =>
  format === undefined || format.type === "text" ? undefined : (format.json_schema?.schema ?? {})

/** Effort, or any of the switches that OpenAI-compatible servers have for it. */
const thinks = ({ reasoning_effort: effort, reasoning, thinking }: Request): boolean =>
  (effort ?? "none") !== "none" ||
  (reasoning !== undefined && reasoning !== null && reasoning["enabled"] !== false && reasoning["effort"] !== "none") ||
  (thinking !== undefined && thinking !== null && thinking["type"] !== "disabled")
