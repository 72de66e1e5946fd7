/**
 * Reads a request as an OpenAI Responses server would that keeps nothing. It refuses reasoning that it did not seal or
 * that leads to no output, so that a gateway which loses, changes or misplaces reasoning is found out here.
 */
import { Option, Result, Schema } from "effect"

import type { JsonObject } from "../../../domain/JsonObject.ts"
import { sandboxDigest } from "../../Digest.ts"
import type { Prompt } from "../../Prompt.ts"

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

/** The prompt of a request body, or what is wrong with it. */
export const read = (body: unknown): Result.Result<Prompt, string> => {
  const unknown = unknownFields.find((field) => typeof body === "object" && body !== null && field in body)
  if (unknown !== undefined) return Result.fail(`Unknown parameter: '${unknown}'.`)
  const request = Option.getOrUndefined(decode(body))
  if (request === undefined) return Result.fail("The body is not a request for a response.")
  const fault = faultOf(request)
  if (fault !== undefined) return Result.fail(fault)
  const { input, tool_choice: choice } = request
  const last = input.at(-1)
  const parts = input.flatMap(({ content, output }) =>
    [content, output].flatMap((some) => (Array.isArray(some) ? some : []))
  )
  return Result.succeed({
    model: request.model,
    stream: request.stream ?? false,
    messages: input.filter(({ type }) => type !== "reasoning").length,
    text: JSON.stringify([request.tools ?? [], input]),
    breakpoints: [],
    lastUserText: textOf(input.findLast(({ role }) => role === "user")?.content),
    toolResult: last?.type === "function_call_output" ? textOf(last.output) : undefined,
    images: parts.filter(({ type }) => type === "input_image").length,
    audios: 0,
    tools: (request.tools ?? []).map(({ name, parameters }) => ({ name, schema: parameters ?? {} })),
    toolChoice: choice ?? "auto",
    parallelCalls: request.parallel_tool_calls ?? true,
    answerSchema: answerSchemaOf(request),
    thinks: (request.reasoning?.effort ?? "none") !== "none",
    maxTokens: request.max_output_tokens,
    stop: []
  })
}

const answerSchemaOf = ({ text }: Request): JsonObject | undefined => {
  const format = text?.format
  return format === undefined || format.type === "text" ? undefined : (format.schema ?? {})
}

const unknownFields = ["stop", "frequency_penalty", "presence_penalty", "messages", "max_tokens", "response_format"]

const minOutputTokens = 16

/** What the real server would refuse and a gateway could get wrong. */
const faultOf = (request: Request): string | undefined => {
  const { input, max_output_tokens: limit, store, tool_choice: choice, tools } = request
  if (tools === undefined && choice !== undefined) return "Tool choice is only allowed when tools are specified."
  if (limit !== undefined && limit < minOutputTokens)
    return `Invalid 'max_output_tokens': expected a value >= ${minOutputTokens}, but got ${limit} instead.`
  const kept =
    store === false ? input.find(({ id, type }) => type === "reasoning" && typeof id === "string") : undefined
  if (kept !== undefined)
    return `Item with id '${kept.id}' not found. Items are not persisted when \`store\` is set to false.`
  return faultOfReasoning(input) ?? faultOfCalls(input)
}

const isOutput = (item: Item | undefined): boolean => item?.type === "function_call" || item?.role === "assistant"

const faultOfReasoning = (input: ReadonlyArray<Item>): string | undefined => {
  for (const [index, item] of input.entries()) {
    if (item.type !== "reasoning") continue
    if (!isSealed(item.encrypted_content ?? ""))
      return "The encrypted content of a reasoning item could not be verified."
    if (!isOutput(input.slice(index).find(({ type }) => type !== "reasoning")))
      return "Item of type 'reasoning' was provided without its required following item."
  }
  return undefined
}

const faultOfCalls = (input: ReadonlyArray<Item>): string | undefined => {
  const idsOf = (type: string) => new Set(input.flatMap((item) => (item.type === type ? [item.call_id ?? ""] : [])))
  const [calls, outputs] = [idsOf("function_call"), idsOf("function_call_output")]
  const open = [...calls].find((id) => !outputs.has(id))
  if (open !== undefined) return `No tool output found for function call ${open}.`
  const stray = [...outputs].find((id) => !calls.has(id))
  return stray === undefined ? undefined : `No tool call found for function call output with call_id ${stray}.`
}

/** Seals the reasoning of an answer: a change of any letter breaks it. */
export const encryptedContentOf = (answer: string): string => `sandbox.${answer}.${sandboxDigest(answer, 48)}`

const isSealed = (content: string): boolean => content === encryptedContentOf(content.split(".")[1] ?? "")
