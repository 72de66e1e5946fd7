/**
 * Reads requests as an OpenAI Responses server does that stores nothing. Reasoning is refused unless the sandbox itself
 * encrypted it and an output follows it, which reveals a gateway that loses, changes or misplaces reasoning.
 */
import { Option, Result, Schema } from "effect"

import type { JsonObject } from "../../../domain/JsonObject.ts"
import { sandboxDigest } from "../../Digest.ts"
import type { SimulatedRequest } from "../../SimulatedRequest.ts"

const Record = Schema.Record(Schema.String, Schema.Unknown)
const Content = Schema.Union([
  Schema.String,
  Schema.Array(Schema.Struct({ type: Schema.String, text: Schema.optional(Schema.String) }))
])
const Item = Schema.Struct({
  type: Schema.optional(Schema.String),
  role: Schema.optional(Schema.String),
  id: Schema.optional(Schema.NullOr(Schema.String)),
  content: Schema.optional(Schema.NullOr(Content)),
  call_id: Schema.optional(Schema.String),
  output: Schema.optional(Content),
  encrypted_content: Schema.optional(Schema.NullOr(Schema.String))
})
type Item = typeof Item.Type
const Request = Schema.Struct({
  model: Schema.String,
  input: Schema.NonEmptyArray(Item),
  store: Schema.optional(Schema.Boolean),
  stream: Schema.optional(Schema.Boolean),
  max_output_tokens: Schema.optional(Schema.Finite),
  tools: Schema.optional(Schema.Array(Schema.Struct({ name: Schema.String, parameters: Schema.optional(Record) }))),
  tool_choice: Schema.optional(
    Schema.Union([Schema.Literals(["none", "auto", "required"]), Schema.Struct({ name: Schema.String })])
  ),
  parallel_tool_calls: Schema.optional(Schema.Boolean),
  text: Schema.optional(
    Schema.Struct({
      format: Schema.optional(Schema.Struct({ type: Schema.String, schema: Schema.optional(Record) }))
    })
  ),
  reasoning: Schema.optional(Schema.NullOr(Schema.Struct({ effort: Schema.optional(Schema.NullOr(Schema.String)) })))
})
type Request = typeof Request.Type

const decode = Schema.decodeUnknownOption(Request)

const textOf = (content: Item["content"]): string =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("")

/** The request of a body, or the message of the error that refuses it. */
export const readRequest = (body: unknown): Result.Result<SimulatedRequest, string> => {
  const unknown = unknownFields.find((field) => typeof body === "object" && body !== null && field in body)
  if (unknown !== undefined) return Result.fail(`Unknown parameter: '${unknown}'.`)
  const request = Option.getOrUndefined(decode(body))
  if (request === undefined) return Result.fail("The body is not a request for a response.")
  const fault = faultOf(request)
  if (fault !== undefined) return Result.fail(fault)
  const { input, tool_choice: choice } = request
  const last = input.at(-1)
  const parts = input.flatMap(({ content, output }) =>
    [content, output].flatMap((content) => (Array.isArray(content) ? content : []))
  )
  return Result.succeed({
    model: request.model,
    stream: request.stream ?? false,
    messageCount: input.filter(({ type }) => type !== "reasoning").length,
    promptText: JSON.stringify([request.tools ?? [], input]),
    cacheBreakpoints: [],
    lastUserText: textOf(input.findLast(({ role }) => role === "user")?.content),
    toolResult: last?.type === "function_call_output" ? textOf(last.output) : undefined,
    imageCount: parts.filter(({ type }) => type === "input_image").length,
    audioCount: 0,
    tools: (request.tools ?? []).map(({ name, parameters }) => ({ name, schema: parameters ?? {} })),
    toolChoice: choice ?? "auto",
    parallelToolCalls: request.parallel_tool_calls ?? true,
    responseSchema: responseSchemaOf(request),
    reasons: (request.reasoning?.effort ?? "none") !== "none",
    maxTokens: request.max_output_tokens,
    stopSequences: []
  })
}

const responseSchemaOf = ({ text }: Request): JsonObject | undefined => {
  const format = text?.format
  return format === undefined || format.type === "text" ? undefined : (format.schema ?? {})
}

/** Fields of chat completions that this API does not know. */
const unknownFields = ["stop", "frequency_penalty", "presence_penalty", "messages", "max_tokens", "response_format"]

const minOutputTokens = 16

/** The message for a request that the real server would refuse, for the faults that a gateway is likely to make. */
const faultOf = (request: Request): string | undefined => {
  const { input, max_output_tokens: limit, store, tool_choice: choice, tools } = request
  if (tools === undefined && choice !== undefined) return "Tool choice is only allowed when tools are specified."
  if (limit !== undefined && limit < minOutputTokens)
    return `Invalid 'max_output_tokens': expected a value >= ${minOutputTokens}, but got ${limit} instead.`
  const stored =
    store === false ? input.find(({ id, type }) => type === "reasoning" && typeof id === "string") : undefined
  if (stored !== undefined)
    return `Item with id '${stored.id}' not found. Items are not persisted when \`store\` is set to false.`
  return faultOfReasoning(input) ?? faultOfCalls(input)
}

const isOutput = (item: Item | undefined): boolean => item?.type === "function_call" || item?.role === "assistant"

const faultOfReasoning = (input: ReadonlyArray<Item>): string | undefined => {
  for (const [index, item] of input.entries()) {
    if (item.type !== "reasoning") continue
    if (!isValid(item.encrypted_content ?? ""))
      return "The encrypted content of a reasoning item could not be verified."
    if (!isOutput(input.slice(index).find(({ type }) => type !== "reasoning")))
      return "Item of type 'reasoning' was provided without its required following item."
  }
  return undefined
}

const faultOfCalls = (input: ReadonlyArray<Item>): string | undefined => {
  const idsOf = (type: string) => new Set(input.flatMap((item) => (item.type === type ? [item.call_id ?? ""] : [])))
  const [calls, outputs] = [idsOf("function_call"), idsOf("function_call_output")]
  const unanswered = [...calls].find((id) => !outputs.has(id))
  if (unanswered !== undefined) return `No tool output found for function call ${unanswered}.`
  const stray = [...outputs].find((id) => !calls.has(id))
  return stray === undefined ? undefined : `No tool call found for function call output with call_id ${stray}.`
}

/** The encrypted reasoning of a reply, by its id. A change of any letter makes it invalid. */
export const encryptedReasoning = (id: string): string => `sandbox.${id}.${sandboxDigest(id, 48)}`

const isValid = (content: string): boolean => content === encryptedReasoning(content.split(".")[1] ?? "")
