/**
 * Reads a request as an Anthropic Messages server would. It refuses a thinking block whose signature the sandbox did
 * not make, so that a gateway which loses or changes thinking blocks is found out here.
 */
import { Option, Result, Schema } from "effect"

import { sandboxDigest } from "../../Digest.ts"
import { type Breakpoint, type Prompt, schemaAskedFor } from "../../Prompt.ts"

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

/** The prompt of a request body, or what is wrong with it. */
export const read = (body: unknown): Result.Result<Prompt, string> => {
  const request = Option.getOrUndefined(decode(body))
  if (request === undefined) return Result.fail("messages: the body is not a Messages request")
  const fault = faultOf(request)
  if (fault !== undefined) return Result.fail(fault)
  const turns = request.messages.map(({ role, content }) => ({ role, blocks: blocksOf(content) }))
  const last = turns.at(-1)?.blocks ?? []
  const asked = turns.findLast(({ role, blocks }) => role === "user" && blocks.some(({ type }) => type === "text"))
  const result = last.findLast(({ type }) => type === "tool_result")
  const blocks = turns.flatMap((turn) => turn.blocks)
  return Result.succeed({
    model: request.model,
    stream: request.stream ?? false,
    messages: turns.length,
    text: segmentsOf(request).join(""),
    breakpoints: breakpointsOf(request),
    lastUserText: asked === undefined ? "" : textOf(asked.blocks.filter(({ type }) => type === "text")),
    toolResult: result === undefined ? undefined : resultText(result.content),
    images: blocks.filter(({ type }) => type === "image").length,
    audios: 0,
    tools: (request.tools ?? []).map((tool) => ({ name: tool.name, schema: tool.input_schema })),
    toolChoice: choiceOf(request),
    parallelCalls: request.tool_choice?.disable_parallel_tool_use !== true,
    answerSchema: request.output_config?.format?.schema ?? schemaAskedFor(textOf(blocksOf(request.system))),
    thinks: isThinking(request),
    maxTokens: request.max_tokens,
    stop: request.stop_sequences ?? []
  })
}

const resultText = (content: unknown): string => (typeof content === "string" ? content : JSON.stringify(content ?? ""))

const isThinking = ({ thinking }: Request): boolean => thinking !== undefined && thinking.type !== "disabled"

const choiceOf = ({ tool_choice: choice }: Request): Prompt["toolChoice"] => {
  if (choice === undefined || choice.type === "auto") return "auto"
  if (choice.type === "none") return "none"
  return choice.type === "tool" ? { name: choice.name ?? "" } : "required"
}

/** What the real server would refuse and a gateway could get wrong. */
const faultOf = (request: Request): string | undefined => {
  const choice = request.tool_choice?.type
  if (isThinking(request) && (choice === "any" || choice === "tool")) {
    return "Thinking may not be enabled when tool_choice forces tool use."
  }
  for (const [index, { role, content }] of request.messages.entries()) {
    const blocks = blocksOf(content)
    if (blocks.some((block) => block.type === "text" && (block.text ?? "") === "")) {
      return `messages.${index}: text content blocks must be non-empty`
    }
    const forged = blocks.findIndex(
      (block) => block.type === "thinking" && block.signature !== signatureOf(block.thinking ?? "")
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

/** Signs a thinking block: by its text alone. */
export const signatureOf = (thinking: string): string => `sandbox-${sandboxDigest(thinking, 48)}`

/** The prompt in the order in which a cache sees it: tools, system, messages, one segment per block. */
const segmentsOf = (request: Request): ReadonlyArray<string> => markedSegments(request).map(({ text }) => text)

const markedSegments = (request: Request) =>
  [
    ...(request.tools ?? []),
    ...blocksOf(request.system),
    ...request.messages.flatMap(({ content }) => blocksOf(content))
  ].map(({ cache_control: control, ...block }) => ({ text: JSON.stringify(block), control: control ?? undefined }))

const breakpointsOf = (request: Request): ReadonlyArray<Breakpoint> => {
  let prefix = ""
  const segments = markedSegments(request)
  return segments.flatMap(({ text, control }, index) => {
    prefix += text
    const mark = control ?? (index === segments.length - 1 ? (request.cache_control ?? undefined) : undefined)
    return mark === undefined ? [] : [{ prefix: `${request.model}\n${prefix}`, ttl: mark.ttl ?? "5m" }]
  })
}
