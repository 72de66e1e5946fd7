/**
 * Reads requests as an Anthropic Messages server does. A thinking block is refused unless the sandbox itself signed it,
 * which reveals a gateway that loses or changes thinking blocks.
 */
import { Option, Result, Schema } from "effect"

import { thinkingSignature } from "../../Digest.ts"
import { type MarkedPrefix, type SimulatedRequest, requestedSchema } from "../../SimulatedRequest.ts"

const Record = Schema.Record(Schema.String, Schema.Unknown)
const CacheControl = Schema.optional(
  Schema.NullOr(
    Schema.Struct({ type: Schema.Literal("ephemeral"), ttl: Schema.optional(Schema.Literals(["5m", "1h"])) })
  )
)
const Block = Schema.Struct({
  type: Schema.String,
  text: Schema.optional(Schema.String),
  thinking: Schema.optional(Schema.String),
  signature: Schema.optional(Schema.String),
  content: Schema.optional(Schema.Unknown),
  cache_control: CacheControl
})
type Block = typeof Block.Type
const Content = Schema.Union([Schema.String, Schema.Array(Block)])
const Message = Schema.Struct({ role: Schema.Literals(["user", "assistant", "system"]), content: Content })
const Request = Schema.Struct({
  model: Schema.String,
  max_tokens: Schema.Finite,
  messages: Schema.NonEmptyArray(Message),
  system: Schema.optional(Content),
  stream: Schema.optional(Schema.Boolean),
  stop_sequences: Schema.optional(Schema.Array(Schema.String)),
  tools: Schema.optional(
    Schema.Array(Schema.Struct({ name: Schema.String, input_schema: Record, cache_control: CacheControl }))
  ),
  tool_choice: Schema.optional(
    Schema.Struct({
      type: Schema.Literals(["auto", "any", "tool", "none"]),
      name: Schema.optional(Schema.String),
      disable_parallel_tool_use: Schema.optional(Schema.Boolean)
    })
  ),
  thinking: Schema.optional(Schema.Struct({ type: Schema.String })),
  output_config: Schema.optional(
    Schema.Struct({ format: Schema.optional(Schema.Struct({ schema: Schema.optional(Record) })) })
  ),
  cache_control: CacheControl
})
type Request = typeof Request.Type

const decode = Schema.decodeUnknownOption(Request)

const blocksOf = (content: typeof Content.Type | undefined): ReadonlyArray<Block> =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content ?? [])

const textOf = (blocks: ReadonlyArray<Block>): string => blocks.map(({ text }) => text ?? "").join("")

/** The request of a body, or the message of the error that refuses it. */
export const readRequest = (body: unknown): Result.Result<SimulatedRequest, string> => {
  const request = Option.getOrUndefined(decode(body))
  if (request === undefined) return Result.fail("messages: the body is not a Messages request")
  const fault = faultOf(request)
  if (fault !== undefined) return Result.fail(fault)
  const turns = request.messages.map(({ role, content }) => ({ role, blocks: blocksOf(content) }))
  const last = turns.at(-1)?.blocks ?? []
  const userTurn = turns.findLast(({ role, blocks }) => role === "user" && blocks.some(({ type }) => type === "text"))
  const result = last.findLast(({ type }) => type === "tool_result")
  const blocks = turns.flatMap((turn) => turn.blocks)
  return Result.succeed({
    model: request.model,
    stream: request.stream ?? false,
    messageCount: turns.length,
    promptText: segmentsOf(request).join(""),
    cacheBreakpoints: breakpointsOf(request),
    lastUserText: userTurn === undefined ? "" : textOf(userTurn.blocks.filter(({ type }) => type === "text")),
    toolResult: result === undefined ? undefined : resultText(result.content),
    imageCount: blocks.filter(({ type }) => type === "image").length,
    audioCount: 0,
    tools: (request.tools ?? []).map((tool) => ({ name: tool.name, schema: tool.input_schema })),
    toolChoice: choiceOf(request),
    parallelToolCalls: request.tool_choice?.disable_parallel_tool_use !== true,
    responseSchema: request.output_config?.format?.schema ?? requestedSchema(textOf(blocksOf(request.system))),
    reasons: wantsReasoning(request),
    maxTokens: request.max_tokens,
    stopSequences: request.stop_sequences ?? []
  })
}

const resultText = (content: unknown): string => (typeof content === "string" ? content : JSON.stringify(content ?? ""))

const wantsReasoning = ({ thinking }: Request): boolean => thinking !== undefined && thinking.type !== "disabled"

const choiceOf = ({ tool_choice: choice }: Request): SimulatedRequest["toolChoice"] => {
  if (choice === undefined || choice.type === "auto") return "auto"
  if (choice.type === "none") return "none"
  return choice.type === "tool" ? { name: choice.name ?? "" } : "required"
}

/** The message for a request that the real server would refuse, for the faults that a gateway is likely to make. */
const faultOf = (request: Request): string | undefined => {
  const choice = request.tool_choice?.type
  if (wantsReasoning(request) && (choice === "any" || choice === "tool")) {
    return "Thinking may not be enabled when tool_choice forces tool use."
  }
  for (const [index, { role, content }] of request.messages.entries()) {
    const blocks = blocksOf(content)
    if (blocks.some((block) => block.type === "text" && (block.text ?? "") === "")) {
      return `messages.${index}: text content blocks must be non-empty`
    }
    const forged = blocks.findIndex(
      (block) => block.type === "thinking" && block.signature !== thinkingSignature(block.thinking ?? "")
    )
    if (forged >= 0) return `messages.${index}.content.${forged}: Invalid \`signature\` in \`thinking\` block`
    const startsWithCall =
      role === "assistant" && blocks.some(({ type }) => type === "tool_use") && blocks[0]?.type !== "thinking"
    if (request.thinking?.type === "enabled" && startsWithCall) {
      return `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\``
    }
  }
  return undefined
}

/** The prompt in the order of the cache: tools, system, messages, with one segment for each block. */
const segmentsOf = (request: Request): ReadonlyArray<string> => markedSegments(request).map(({ text }) => text)

const markedSegments = (request: Request) =>
  [
    ...(request.tools ?? []),
    ...blocksOf(request.system),
    ...request.messages.flatMap(({ content }) => blocksOf(content))
  ].map(({ cache_control: control, ...block }) => ({ text: JSON.stringify(block), control: control ?? undefined }))

const breakpointsOf = (request: Request): ReadonlyArray<MarkedPrefix> => {
  let prefix = ""
  const segments = markedSegments(request)
  return segments.flatMap(({ text, control }, index) => {
    prefix += text
    const mark = control ?? (index === segments.length - 1 ? (request.cache_control ?? undefined) : undefined)
    return mark === undefined ? [] : [{ prefix: `${request.model}\n${prefix}`, ttl: mark.ttl ?? "5m" }]
  })
}
