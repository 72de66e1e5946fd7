/**
 * Reads requests as Bedrock's Converse API does: roles alternate and begin with the user, texts are not blank, every
 * tool call has its result, and tools that were used are declared. A signature is refused unless the sandbox made it.
 */
import { Option, Result, Schema } from "effect"

import { thinkingSignature } from "../../Digest.ts"
import { type MarkedPrefix, type SimulatedRequest, requestedSchema } from "../../SimulatedRequest.ts"

const Record = Schema.Record(Schema.String, Schema.Unknown)
const CachePoint = Schema.Struct({
  type: Schema.Literal("default"),
  ttl: Schema.optional(Schema.Literals(["5m", "1h"]))
})
const Text = Schema.Struct({ text: Schema.optional(Schema.String), cachePoint: Schema.optional(CachePoint) })
const Image = Schema.Struct({
  format: Schema.Literals(["png", "jpeg", "gif", "webp"]),
  source: Schema.Struct({ bytes: Schema.NonEmptyString })
})
const Block = Schema.Struct({
  ...Text.fields,
  image: Schema.optional(Image),
  toolUse: Schema.optional(
    Schema.Struct({
      toolUseId: Schema.String,
      name: Schema.String,
      input: Schema.Record(Schema.String, Schema.Unknown)
    })
  ),
  toolResult: Schema.optional(
    Schema.Struct({
      toolUseId: Schema.String,
      content: Schema.NonEmptyArray(Schema.Struct({ ...Text.fields, image: Schema.optional(Image) })),
      status: Schema.optional(Schema.Literals(["success", "error"]))
    })
  ),
  reasoningContent: Schema.optional(
    Schema.Struct({
      reasoningText: Schema.optional(Schema.Struct({ text: Schema.String, signature: Schema.optional(Schema.String) })),
      redactedContent: Schema.optional(Schema.String)
    })
  )
})
type Block = typeof Block.Type
const Message = Schema.Struct({ role: Schema.Literals(["user", "assistant"]), content: Schema.NonEmptyArray(Block) })
const Tool = Schema.Struct({
  toolSpec: Schema.Struct({ name: Schema.String, inputSchema: Schema.Struct({ json: Record }) })
})
const Request = Schema.Struct({
  messages: Schema.NonEmptyArray(Message),
  system: Schema.optional(Schema.Array(Text)),
  inferenceConfig: Schema.optional(
    Schema.Struct({
      maxTokens: Schema.optional(Schema.Finite),
      temperature: Schema.optional(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
      stopSequences: Schema.optional(Schema.Array(Schema.NonEmptyString))
    })
  ),
  toolConfig: Schema.optional(
    Schema.Struct({
      tools: Schema.NonEmptyArray(Tool),
      toolChoice: Schema.optional(
        Schema.Struct({
          auto: Schema.optional(Record),
          any: Schema.optional(Record),
          tool: Schema.optional(Schema.Struct({ name: Schema.String }))
        })
      )
    })
  ),
  additionalModelRequestFields: Schema.optional(
    Schema.Struct({
      thinking: Schema.optional(Schema.Struct({ type: Schema.String })),
      reasoningConfig: Schema.optional(Schema.Struct({ type: Schema.String }))
    })
  ),
  outputConfig: Schema.optional(
    Schema.Struct({
      textFormat: Schema.Struct({
        type: Schema.Literal("json_schema"),
        structure: Schema.Struct({ jsonSchema: Schema.Struct({ schema: Schema.fromJsonString(Record) }) })
      })
    })
  )
})
type Request = typeof Request.Type

const decode = Schema.decodeUnknownOption(Request)

/** The id of the model is percent-encoded, because it may contain colons and slashes. */
const converseTarget = /\/model\/([^/]+)\/converse(-stream)?$/

/**
 * The request of a body, or the message of the error that refuses it. The model, and whether to stream, are in the
 * path.
 */
export const readRequest = (body: unknown, target: string): Result.Result<SimulatedRequest, string> => {
  const [, model, streaming] = converseTarget.exec(target) ?? []
  const request = Option.getOrUndefined(decode(body))
  if (request === undefined || model === undefined) return Result.fail("The body is not a Converse request.")
  const fault = faultOf(request)
  if (fault !== undefined) return Result.fail(fault)
  const { messages } = request
  const userMessage = messages.findLast(({ role, content }) => role === "user" && content.some((block) => block.text))
  const last = messages.at(-1)?.content ?? []
  const result = last.findLast((block) => block.toolResult !== undefined)?.toolResult
  const name = decodeURIComponent(model)
  return Result.succeed({
    model: name,
    stream: streaming !== undefined,
    messageCount: messages.length,
    promptText: segmentsOf(request)
      .map(({ text }) => text)
      .join(""),
    cacheBreakpoints: breakpointsOf(request, name),
    lastUserText: (userMessage?.content ?? []).map(({ text }) => text ?? "").join(""),
    toolResult: result && result.content.map(({ text }) => text ?? "").join(""),
    imageCount: messages.flatMap(({ content }) => content.filter(({ image }) => image !== undefined)).length,
    audioCount: 0,
    tools: (request.toolConfig?.tools ?? []).map(({ toolSpec: { inputSchema, name } }) => ({
      name,
      schema: inputSchema.json
    })),
    toolChoice: choiceOf(request),
    parallelToolCalls: true,
    responseSchema:
      request.outputConfig?.textFormat.structure.jsonSchema.schema ??
      requestedSchema((request.system ?? []).map(({ text }) => text ?? "").join("")),
    reasons: wantsReasoning(request),
    maxTokens: request.inferenceConfig?.maxTokens,
    stopSequences: request.inferenceConfig?.stopSequences ?? []
  })
}

const wantsReasoning = ({ additionalModelRequestFields: fields }: Request): boolean =>
  [fields?.thinking, fields?.reasoningConfig].some((kind) => kind !== undefined && kind.type !== "disabled")

const choiceOf = ({ toolConfig }: Request): SimulatedRequest["toolChoice"] => {
  if (toolConfig?.toolChoice?.tool !== undefined) return { name: toolConfig.toolChoice.tool.name }
  return toolConfig?.toolChoice?.any === undefined ? "auto" : "required"
}

/** The message for a request that the real server would refuse, for the faults that a gateway is likely to make. */
const faultOf = (request: Request): string | undefined => {
  const { additionalModelRequestFields: fields, messages, system, toolConfig } = request
  const usesTools = messages.some(({ content }) => content.some(({ toolResult, toolUse }) => toolUse ?? toolResult))
  if (usesTools && toolConfig === undefined) return "toolConfig must be defined beside toolUse and toolResult blocks."
  if (wantsReasoning(request) && fields?.thinking !== undefined && choiceOf(request) !== "auto")
    return "Thinking may not be enabled when tool_choice forces tool use."
  if (system?.some(isBlank) === true) return "A text of system is blank."
  for (const [index, { content, role }] of messages.entries()) {
    if (role !== (index % 2 === 0 ? "user" : "assistant")) return `messages.${index}: roles must alternate, user first.`
    if (content.some(isBlank)) return `messages.${index}: a text is blank.`
    const signed = content.map(({ reasoningContent }) => reasoningContent?.reasoningText)
    if (signed.some((block) => block !== undefined && block.signature !== thinkingSignature(block.text)))
      return `messages.${index}: Invalid \`signature\` in \`thinking\` block`
    const called = content.flatMap(({ toolUse }) => toolUse?.toolUseId ?? [])
    const answered = (messages[index + 1]?.content ?? []).flatMap(({ toolResult }) => toolResult?.toolUseId ?? [])
    if (called.join() !== answered.join()) return `messages.${index}: expected toolResult blocks for ${called.join()}.`
    if (fields?.thinking?.type === "enabled" && called.length > 0 && content[0]?.reasoningContent === undefined)
      return `messages.${index}: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\``
  }
  return undefined
}

const isBlank = ({ text }: Pick<Block, "text">): boolean => text !== undefined && text.trim() === ""

interface Segment {
  readonly text: string
  readonly point: typeof CachePoint.Type | undefined
}

/** The prompt in the order of the cache: tools, system, messages. */
const segmentsOf = ({ messages, system, toolConfig }: Request): ReadonlyArray<Segment> => [
  ...(toolConfig?.tools ?? []).map((tool) => ({ text: JSON.stringify(tool), point: undefined })),
  ...[...(system ?? []), ...messages.flatMap(({ content }) => content)].map(({ cachePoint: point, ...block }) => ({
    text: point === undefined ? JSON.stringify(block) : "",
    point
  }))
]

const breakpointsOf = (request: Request, model: string): ReadonlyArray<MarkedPrefix> => {
  let prefix = ""
  return segmentsOf(request).flatMap(({ point, text }) => {
    prefix += text
    return point === undefined ? [] : [{ prefix: `${model}\n${prefix}`, ttl: point.ttl ?? "5m" }]
  })
}
