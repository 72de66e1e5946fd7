/**
 * Messages in Anthropic's form: a system prompt beside them, turns that alternate between user and assistant, and every
 * tool result in the user's turn right after its call. Thinking goes back unchanged, in order and at the start of its
 * turn, and only to the model that signed it.
 */
import {
  type AssistantMessage,
  type Cacheable,
  type ChatRequest,
  type ContentPart,
  type Message,
  type TextPart,
  textOf,
  type ToolMessage
} from "../../../domain/Conversation.ts"
import type { WireCall } from "../Protocol.ts"
import { dataUri } from "../shared/DataUri.ts"
import { argumentsIn, isBlank } from "../shared/Field.ts"
import { type SignedThinking, claudeThinkingFrom } from "../shared/ReasoningDetails.ts"
import { breakpoints, ephemeral, type EphemeralCacheControl } from "../shared/request/CacheBreakpoints.ts"
import { instructionOf } from "../shared/request/ResponseFormats.ts"
import { interleaved } from "../shared/request/ThinkingPositions.ts"
import {
  alternatingTurns,
  continuePrompt,
  splitSystem,
  systemTags,
  withRefusalsAsText,
  withResultsAtCalls
} from "../shared/request/Turns.ts"
import { wireIds } from "../shared/request/WireIds.ts"
import type {
  ClaudeMessage,
  ContentBlock,
  ImageBlock,
  TextBlock,
  ThinkingBlock,
  RedactedThinkingBlock,
  ToolResultBlock
} from "./Body.ts"

/** The `cache_control` members, by the part, call, tool or result that carries each. */
export type CacheMarks = ReadonlyMap<Cacheable, EphemeralCacheControl>

/** What the messages of one request have in common. */
interface MessageContext {
  readonly call: WireCall
  readonly marks: CacheMarks
  readonly wireId: (id: string) => string
}

/** The members of the body that hold the conversation. */
export interface ConversationBody {
  readonly system: ReadonlyArray<TextBlock>
  readonly messages: ReadonlyArray<ClaudeMessage>
}

/** The `cache_control` of everything that carries one. */
export const cacheMarks = (request: ChatRequest): CacheMarks =>
  new Map(Array.from(breakpoints(request), ([item, control]) => [item, ephemeral(control)] as const))

/** `format`: the format that the answer has to be asked for in a sentence. */
export const conversationOf = (
  call: WireCall,
  format: ChatRequest["responseFormat"],
  marks: CacheMarks
): ConversationBody => {
  const context: MessageContext = { call, marks, wireId: wireIds("plain") }
  const { rest, system } = splitSystem(withResultsAtCalls(withRefusalsAsText(call.request.messages)))
  const instruction: ReadonlyArray<TextBlock> =
    format.type === "text" ? [] : [{ type: "text", text: instructionOf(format) }]
  const additions = rest.map((message) => ({
    role: message.role === "assistant" ? ("assistant" as const) : ("user" as const),
    parts: blocksOf(context, message)
  }))
  return {
    system: [...system.flatMap((message) => textBlocks(message.content, marks)), ...instruction],
    // Newer models do not continue an assistant's turn.
    messages: alternatingTurns(additions, { type: "text", text: continuePrompt }).map(({ parts, role }) => ({
      role,
      content: resultsFirst(parts)
    }))
  }
}

/** Blank texts are refused, so they are left out. */
const textBlocks = (parts: ReadonlyArray<TextPart>, marks: CacheMarks): ReadonlyArray<TextBlock> =>
  parts.flatMap((part): ReadonlyArray<TextBlock> =>
    isBlank(part.text) ? [] : [{ type: "text", text: part.text, cache_control: marks.get(part) }]
  )

/** Nothing may stand between a call and its results. */
const resultsFirst = (content: ReadonlyArray<ContentBlock>): ReadonlyArray<ContentBlock> => [
  ...content.filter((block) => block.type === "tool_result"),
  ...content.filter((block) => block.type !== "tool_result")
]

const blocksOf = (context: MessageContext, message: Message): ReadonlyArray<ContentBlock> => {
  switch (message.role) {
    case "system":
      // Only the newest models know this role between the turns; the tags work on all of them.
      return isBlank(textOf(message)) ? [] : taggedSystem(message.content, context.marks)
    case "user":
      return partBlocks(message.content, context.marks)
    case "assistant":
      return assistantBlocks(context, message)
    case "tool":
      return [toolResult(context, message)]
  }
}

const taggedSystem = (parts: ReadonlyArray<TextPart>, marks: CacheMarks): ReadonlyArray<TextBlock> => [
  { type: "text", text: systemTags.open },
  ...textBlocks(parts, marks),
  { type: "text", text: systemTags.close }
]

/** Texts and images; a request with audio has been refused before. */
const partBlocks = (parts: ReadonlyArray<ContentPart>, marks: CacheMarks): ReadonlyArray<TextBlock | ImageBlock> =>
  parts.flatMap((part): ReadonlyArray<TextBlock | ImageBlock> => {
    if (part.type === "image") return [{ type: "image", source: imageSource(part.url), cache_control: marks.get(part) }]
    return part.type === "text" ? textBlocks([part], marks) : []
  })

const imageSource = (url: string): ImageBlock["source"] => {
  const inline = dataUri(url)
  return inline === undefined ? { type: "url", url } : { type: "base64", media_type: inline.mime, data: inline.data }
}

/** The model ignores thinking that it does not need any more. */
const assistantBlocks = (
  { call, marks, wireId }: MessageContext,
  message: AssistantMessage
): ReadonlyArray<ContentBlock> =>
  interleaved<ContentBlock>(message, claudeThinkingFrom(call, message), {
    thinking: thinkingBlock,
    text: (text, part, isEnd) =>
      isBlank(text) ? [] : [{ type: "text", text, cache_control: isEnd ? marks.get(part) : undefined }],
    call: (tool) => [
      {
        type: "tool_use",
        id: wireId(tool.id),
        name: tool.name,
        input: argumentsIn(tool.arguments),
        cache_control: marks.get(tool)
      }
    ]
  })

const thinkingBlock = (thinking: SignedThinking): ThinkingBlock | RedactedThinkingBlock =>
  thinking.type === "redacted"
    ? { type: "redacted_thinking", data: thinking.data }
    : { type: "thinking", thinking: thinking.text, signature: thinking.signature }

/** A cache mark on a part of the result moves to the result itself. */
const toolResult = ({ marks, wireId }: MessageContext, message: ToolMessage): ToolResultBlock => {
  const [first, ...others] = message.content
  return {
    type: "tool_result",
    tool_use_id: wireId(message.toolCallId),
    content:
      first === undefined || (first.type === "text" && others.length === 0)
        ? (first?.text ?? "")
        : partBlocks(message.content, new Map()),
    is_error: message.isError,
    cache_control: [...message.content, message].map((item) => marks.get(item)).findLast((mark) => mark !== undefined)
  }
}
