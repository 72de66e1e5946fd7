/**
 * Messages in Converse's form: a system prompt beside them, turns that alternate between user and assistant, no blank
 * texts, and all results of a turn's calls together right after it. Thinking goes back unchanged, at the start of its
 * turn, and only to the model that made it.
 */
import {
  type AssistantMessage,
  type Cacheable,
  type CacheControl,
  type ChatRequest,
  type ContentPart,
  type Message,
  type TextPart,
  type ToolMessage
} from "../../../domain/Conversation.ts"
import type { WireCall } from "../Protocol.ts"
import { dataUri } from "../shared/DataUri.ts"
import { argumentsIn, isBlank } from "../shared/Field.ts"
import { type SignedThinking, claudeThinkingFrom } from "../shared/ReasoningDetails.ts"
import { automaticBreakpoint, type CacheBreakpoints } from "../shared/request/CacheBreakpoints.ts"
import { instructionOf } from "../shared/request/ResponseFormats.ts"
import { interleaved } from "../shared/request/ThinkingPositions.ts"
import {
  alternatingTurns,
  continuePrompt,
  missingToolResult,
  splitSystem,
  systemTags,
  toolResultsIn,
  type ToolResults,
  type TurnAddition,
  withRefusalsAsText,
  withUniqueCallIds
} from "../shared/request/Turns.ts"
import { wireIds } from "../shared/request/WireIds.ts"
import type {
  CachePointBlock,
  ContentBlock,
  ConverseMessage,
  ImageBlock,
  ReasoningBlock,
  SystemBlock,
  TextBlock,
  ToolResultBlock
} from "./Body.ts"
import { type ModelFamily, modelFamilyOf } from "./ModelFamilies.ts"

/** The members of the body that hold the conversation. */
export interface ConversationBody {
  readonly system: ReadonlyArray<SystemBlock>
  readonly messages: ReadonlyArray<ConverseMessage>
}

/** What the model is asked for in a sentence, because Converse has no parameter for it. */
export interface PromptedRules {
  readonly format: ChatRequest["responseFormat"]
  /** Tools are declared because the history used them, but they must not be called. */
  readonly forbidsCalls: boolean
}

/** What the messages of one request have in common. */
interface MessageContext {
  readonly call: WireCall
  readonly results: ToolResults
  readonly wireId: (id: string) => string
  /** The cache point after a part or a call, if it has one. */
  readonly pointAfter: (item: Cacheable | undefined) => ReadonlyArray<CachePointBlock>
}

export const conversationOf = (
  call: WireCall,
  { forbidsCalls, format }: PromptedRules,
  marks: CacheBreakpoints
): ConversationBody => {
  const { request } = call
  const family = modelFamilyOf(call)
  const { rest, system } = splitSystem(withUniqueCallIds(withRefusalsAsText(request.messages)))
  const context: MessageContext = {
    call,
    results: toolResultsIn(rest),
    wireId: wireIds("plain"),
    pointAfter: (item) => cachePoint(item && marks.get(item), family)
  }
  const instruction: ReadonlyArray<TextBlock> = format.type === "text" ? [] : [{ text: instructionOf(format) }]
  const turns = alternatingTurns(
    rest.flatMap((message) => turnsOf(context, message)),
    { text: continuePrompt }
  )
  // What the next request may not repeat stands last, so that the cached prefix stays the same.
  turns.at(-1)?.parts.push(...cachePoint(automaticBreakpoint(request), family))
  if (forbidsCalls) turns.at(-1)?.parts.push({ text: "Answer without calling a tool." })
  return {
    system: [...system.flatMap((message) => textBlocks(context, message.content)), ...instruction],
    messages: turns.map(({ parts, role }) => ({ role, content: parts }))
  }
}

/** The block that ends a cached prefix, for models that can cache. */
export const cachePoint = (
  control: CacheControl | undefined,
  { caching }: ModelFamily
): ReadonlyArray<CachePointBlock> =>
  control === undefined || caching === "none"
    ? []
    : [{ cachePoint: { type: "default", ttl: control.ttl === "1h" && caching === "5m or 1h" ? "1h" : undefined } }]

type Addition = TurnAddition<ConverseMessage["role"], ContentBlock>

/** Results are added together with their calls, so tool messages add nothing themselves. */
const turnsOf = (context: MessageContext, message: Message): ReadonlyArray<Addition> => {
  switch (message.role) {
    case "system":
      return [{ role: "user", parts: taggedSystem(context, message.content) }]
    case "user":
      return [{ role: "user", parts: partBlocks(context, message.content) }]
    case "assistant":
      return [
        { role: "assistant", parts: assistantBlocks(context, message) },
        { role: "user", parts: resultBlocks(context, message) }
      ]
    case "tool":
      return []
  }
}

const taggedSystem = (context: MessageContext, parts: ReadonlyArray<TextPart>): ReadonlyArray<ContentBlock> => {
  const blocks = textBlocks(context, parts)
  return blocks.length === 0 ? [] : [{ text: systemTags.open }, ...blocks, { text: systemTags.close }]
}

/** Texts and images; a request with audio, or with an image that is not data, has been refused before. */
const partBlocks = (context: MessageContext, parts: ReadonlyArray<ContentPart>): ReadonlyArray<ContentBlock> =>
  parts.flatMap((part): ReadonlyArray<ContentBlock> => {
    if (part.type === "image") return [...imageBlocks(part.url), ...context.pointAfter(part)]
    return part.type === "text" ? textBlocks(context, [part]) : []
  })

/** Blank texts are refused, so they are left out. */
const textBlocks = ({ pointAfter }: MessageContext, parts: ReadonlyArray<TextPart>): ReadonlyArray<SystemBlock> =>
  parts.flatMap((part): ReadonlyArray<SystemBlock> =>
    isBlank(part.text) ? [] : [{ text: part.text }, ...pointAfter(part)]
  )

const imageBlocks = (url: string): ReadonlyArray<ImageBlock> => {
  const inline = dataUri(url)
  return inline === undefined
    ? []
    : [{ image: { format: inline.mime.replace("image/", ""), source: { bytes: inline.data } } }]
}

/**
 * A turn of thinking alone is refused. Models that sign their thinking refuse it without the signature, and the others
 * refuse all of it.
 */
const assistantBlocks = (context: MessageContext, message: AssistantMessage): ReadonlyArray<ContentBlock> => {
  const { call, pointAfter, wireId } = context
  if (message.toolCalls.length === 0 && message.content.every(({ text }) => isBlank(text))) return []
  return interleaved<ContentBlock>(message, claudeThinkingFrom(call, message), {
    thinking: reasoningBlock,
    text: (text, part, isEnd) => (isBlank(text) ? [] : [{ text }, ...(isEnd ? pointAfter(part) : [])]),
    call: (tool) => [
      { toolUse: { toolUseId: wireId(tool.id), name: tool.name, input: argumentsIn(tool.arguments) } },
      ...pointAfter(tool)
    ]
  })
}

const reasoningBlock = (thinking: SignedThinking): ReasoningBlock => {
  if (thinking.type === "redacted") return { reasoningContent: { redactedContent: thinking.data } }
  const { signature, text } = thinking
  return { reasoningContent: { reasoningText: { text, signature } } }
}

/** Every call has a result, or the request is refused; a call without one gets an error. */
const resultBlocks = (context: MessageContext, { toolCalls }: AssistantMessage): ReadonlyArray<ContentBlock> =>
  toolCalls.flatMap((tool): ReadonlyArray<ContentBlock> => {
    const result = context.results.get(tool)
    const marked = result && [...result.content, result].findLast((item) => context.pointAfter(item).length > 0)
    return [
      {
        toolResult: {
          toolUseId: context.wireId(tool.id),
          content: result === undefined ? [{ text: missingToolResult }] : resultContent(result),
          status: result === undefined || result.isError === true ? "error" : "success"
        }
      },
      ...context.pointAfter(marked)
    ]
  })

/** A cache point stands after a result and not in it. */
const resultContent = ({ content }: ToolMessage): ToolResultBlock["toolResult"]["content"] => {
  const blocks = content.flatMap((part): ReadonlyArray<TextBlock | ImageBlock> => {
    if (part.type === "image") return imageBlocks(part.url)
    return part.type === "text" && !isBlank(part.text) ? [{ text: part.text }] : []
  })
  return blocks.length === 0 ? [{ text: "(empty)" }] : blocks
}
