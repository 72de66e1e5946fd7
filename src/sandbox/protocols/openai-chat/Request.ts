/**
 * Reads requests as an OpenAI chat completions server does. For DeepSeek's models it refuses a tool loop whose
 * reasoning is missing or changed, which reveals a gateway that loses it.
 */
import { Option, Result, Schema } from "effect"

import type { JsonObject } from "../../../domain/JsonObject.ts"
import { isReasoning } from "../../SimulatedReply.ts"
import type { SimulatedRequest } from "../../SimulatedRequest.ts"

const Record = Schema.Record(Schema.String, Schema.Unknown)
const Part = Schema.Struct({ type: Schema.String, text: Schema.optional(Schema.String) })
const Message = Schema.Struct({
  role: Schema.String,
  content: Schema.optional(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Part)]))),
  tool_calls: Schema.optional(Schema.Array(Record)),
  reasoning_content: Schema.optional(Schema.NullOr(Schema.String))
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

/** The request of a body, or the message of the error that refuses it. */
export const readRequest = (body: unknown): Result.Result<SimulatedRequest, string> => {
  const request = Option.getOrUndefined(decode(body))
  if (request === undefined) return Result.fail("The body is not a chat completion request.")
  const fault = faultOf(request)
  if (fault !== undefined) return Result.fail(fault)
  const { messages } = request
  const last = messages.at(-1)
  const lastUser = messages.findLast(({ role }) => role === "user")
  const parts = messages.flatMap(({ content }) => (content instanceof Array ? content : []))
  const choice = request.tool_choice
  return Result.succeed({
    model: request.model,
    stream: request.stream ?? false,
    messageCount: messages.length,
    promptText: JSON.stringify([request.tools ?? [], messages]),
    cacheBreakpoints: [],
    lastUserText: lastUser === undefined ? "" : textOf(lastUser),
    toolResult: last?.role === "tool" ? textOf(last) : undefined,
    imageCount: parts.filter(({ type }) => type === "image_url").length,
    audioCount: parts.filter(({ type }) => type === "input_audio").length,
    tools: (request.tools ?? []).map((tool) => ({ name: tool.function.name, schema: tool.function.parameters ?? {} })),
    toolChoice: typeof choice === "object" ? { name: choice.function.name } : (choice ?? "auto"),
    parallelToolCalls: request.parallel_tool_calls ?? true,
    responseSchema: responseSchemaOf(request),
    reasons: wantsReasoning(request),
    maxTokens: request.max_completion_tokens ?? request.max_tokens,
    stopSequences: typeof request.stop === "string" ? [request.stop] : (request.stop ?? [])
  })
}

/** The message for a request that the real server would refuse, for the faults that a gateway is likely to make. */
const faultOf = (request: Request): string | undefined => {
  if (request.tools === undefined && request.tool_choice !== undefined)
    return "'tool_choice' is only allowed when 'tools' are specified."
  return request.model.startsWith("deepseek") && wantsReasoning(request) ? faultOfReasoning(request) : undefined
}

/**
 * DeepSeek requires the reasoning of a tool loop to be sent back, and does not check it. The sandbox does: it
 * recognises the reasoning that it wrote.
 */
const faultOfReasoning = ({ messages }: Request): string | undefined => {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === "user"))
  if (turn.some(({ reasoning_content: text, tool_calls }) => tool_calls !== undefined && text === undefined))
    return "The `reasoning_content` in the thinking mode must be passed back to the API."
  const isForged = messages.some(({ reasoning_content: text }) => text && !isReasoning(text))
  return isForged ? "The `reasoning_content` is not what the model thought." : undefined
}

const responseSchemaOf = ({ response_format: format }: Request): JsonObject | undefined =>
  format === undefined || format.type === "text" ? undefined : (format.json_schema?.schema ?? {})

/** True when the request sets an effort or one of the switches of OpenAI-compatible servers. */
const wantsReasoning = ({ reasoning_effort: effort, reasoning, thinking }: Request): boolean =>
  (effort ?? "none") !== "none" ||
  (reasoning !== undefined && reasoning !== null && reasoning["enabled"] !== false && reasoning["effort"] !== "none") ||
  (thinking !== undefined && thinking !== null && thinking["type"] !== "disabled")
