/**
 * Translates the messages of a valid body: tool results become messages of their own, before the rest of their turn,
 * and thinking becomes the details that the model which made it can read again.
 */
import type { MessageParam, MessagesRequest } from "../../api/MessagesRequest.ts"
import type {
  AssistantMessage,
  CacheControl,
  ContentPart,
  ImagePart,
  Message,
  ReasoningDetail,
  TextPart,
  ToolCall,
  ToolMessage
} from "../../domain/Conversation.ts"
import { nativeDetail, type NativePosition } from "../../domain/NativeThinking.ts"
import { cacheControlOf, withMark, type WireCacheControl } from "../chat/CacheControlFromWire.ts"
import { detailsIn, isOwnSignature } from "./ThinkingSignatures.ts"

type UserBlock = Exclude<Extract<MessageParam, { readonly role: "user" }>["content"], string>[number]
type ToolResult = Extract<UserBlock, { readonly type: "tool_result" }>
type ContentBlock = Exclude<UserBlock, ToolResult>
type AssistantBlock = Exclude<Extract<MessageParam, { readonly role: "assistant" }>["content"], string>[number]
type System = NonNullable<MessagesRequest["system"]>

/** The messages, and what of them was left out, in the words of an adjustment. */
export interface TranslatedMessages {
  readonly messages: ReadonlyArray<Message>
  readonly dropped: ReadonlySet<string>
}

/** The conversation with its system prompt before it. */
export const conversationIn = (wire: Pick<MessagesRequest, "messages" | "system">): TranslatedMessages => {
  const dropped = new Set<string>()
  const system: ReadonlyArray<Message> =
    wire.system === undefined || wire.system === null || wire.system.length === 0 ? [] : [systemMessage(wire.system)]
  return { messages: [...system, ...wire.messages.flatMap((message) => messagesIn(message, dropped))], dropped }
}

const systemMessage = (content: System): Message => ({ role: "system", content: textParts(content) })

const textParts = (content: System): ReadonlyArray<TextPart> =>
  typeof content === "string" ? plainText(content) : content.map(textPart)

const plainText = (text: string): ReadonlyArray<TextPart> => (text === "" ? [] : [{ type: "text", text }])

interface Marked {
  readonly cache_control?: WireCacheControl
}

/** The member, if there is a mark. */
const markOf = ({ cache_control }: Marked): { readonly cacheControl?: CacheControl } => {
  const cacheControl = cacheControlOf(cache_control)
  return cacheControl === undefined ? {} : { cacheControl }
}

const textPart = (block: Marked & { readonly text: string }): TextPart => ({
  type: "text",
  text: block.text,
  ...markOf(block)
})

const messagesIn = (message: MessageParam, dropped: Set<string>): ReadonlyArray<Message> => {
  switch (message.role) {
    case "system":
      return [systemMessage(message.content)]
    case "assistant":
      return [assistantMessage(message.content, dropped)]
    case "user":
      return typeof message.content === "string"
        ? [{ role: "user", content: plainText(message.content) }]
        : userMessages(message.content)
  }
}

/** Results come first, as Anthropic insists and other vendors need. */
const userMessages = (blocks: ReadonlyArray<UserBlock>): ReadonlyArray<Message> => {
  const results = blocks.filter((block) => block.type === "tool_result").map(toolMessage)
  const content = blocks.filter((block) => block.type !== "tool_result").flatMap(partsOf)
  return content.length === 0 && results.length > 0 ? results : [...results, { role: "user", content }]
}

const toolMessage = (block: ToolResult): ToolMessage => {
  const { content, is_error, tool_use_id } = block
  const parts = typeof content === "string" ? plainText(content) : (content ?? []).flatMap(partsOf)
  const mark = cacheControlOf(block.cache_control)
  return {
    role: "tool",
    toolCallId: tool_use_id,
    content: withMark(parts, mark),
    ...(parts.length === 0 && markOf(block)),
    ...(is_error === true && { isError: true })
  }
}

const partsOf = (block: ContentBlock): ReadonlyArray<ContentPart> => {
  switch (block.type) {
    case "text":
      return [textPart(block)]
    case "image":
      return [imagePart(block)]
    case "document":
      return withMark(documentParts(block), cacheControlOf(block.cache_control))
    case "search_result": {
      const { content, source, title } = block
      const head = `<search_result>\n<source>${source}</source>\n<title>${title}</title>\n`
      return withMark(enclosed(head, content.map(textPart), "\n</search_result>"), cacheControlOf(block.cache_control))
    }
  }
}

const imagePart = (block: Extract<ContentBlock, { readonly type: "image" }>): ImagePart => ({
  type: "image",
  url:
    block.source.type === "url"
      ? block.source.url
      : `data:${block.source.media_type};base64,${block.source.data.replaceAll(/\s/g, "")}`,
  ...markOf(block)
})

/** A document as text that every model reads, between tags as Anthropic recommends them for prompts. */
const documentParts = (block: Extract<ContentBlock, { readonly type: "document" }>): ReadonlyArray<ContentPart> => {
  const { context, source, title } = block
  const head = [
    "<document>\n",
    ...(title ? [`<title>${title}</title>\n`] : []),
    ...(context ? [`<context>${context}</context>\n`] : [])
  ].join("")
  const content = source.type === "text" ? source.data : source.content
  const parts =
    typeof content === "string"
      ? plainText(content)
      : content.map((part) => (part.type === "text" ? textPart(part) : imagePart(part)))
  return enclosed(head, parts, "\n</document>")
}

const enclosed = (head: string, parts: ReadonlyArray<ContentPart>, end: string): ReadonlyArray<ContentPart> => {
  if (parts.every((part) => part.type === "text"))
    return [{ type: "text", text: `${head}${parts.map(({ text }) => text).join("\n")}${end}` }]
  return [{ type: "text", text: head }, ...parts, { type: "text", text: end }]
}

/** What an assistant's message consists of so far. */
interface Assistant {
  readonly content: Array<TextPart>
  readonly toolCalls: Array<ToolCall>
  readonly details: Array<ReasoningDetail>
  readonly reasoning: Array<string>
  /** Characters of text. */
  length: number
}

const assistantMessage = (content: string | ReadonlyArray<AssistantBlock>, dropped: Set<string>): AssistantMessage => {
  const message: Assistant = { content: [], toolCalls: [], details: [], reasoning: [], length: 0 }
  const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content
  for (const block of blocks) addBlock(message, block, dropped)
  const reasoning = message.reasoning.join("")
  return {
    role: "assistant",
    content: message.content,
    toolCalls: message.toolCalls,
    reasoningDetails: message.details,
    ...(reasoning !== "" && { reasoning })
  }
}

const addBlock = (message: Assistant, block: AssistantBlock, dropped: Set<string>): void => {
  switch (block.type) {
    case "text":
      message.content.push(textPart(block))
      message.length += block.text.length
      return
    case "tool_use": {
      const { id, input, name } = block
      message.toolCalls.push({ id, name, arguments: JSON.stringify(input), ...markOf(block) })
      return
    }
    case "thinking":
      message.reasoning.push(block.thinking)
      return addThinking(message, { ...block, signature: block.signature ?? "" }, dropped)
    case "redacted_thinking": {
      const { data } = block
      if (!isOwnSignature(data)) {
        message.details.push(nativeDetail({ type: "redacted", data, position: positionIn(message) }))
        return
      }
      return addDetails(message, detailsIn(data), dropped)
    }
  }
}

const addThinking = (
  message: Assistant,
  { signature, thinking }: { readonly signature: string; readonly thinking: string },
  dropped: Set<string>
): void => {
  if (isOwnSignature(signature)) return addDetails(message, detailsIn(signature, thinking), dropped)
  if (signature === "") return
  message.details.push(nativeDetail({ type: "text", text: thinking, signature, position: positionIn(message) }))
}

const addDetails = (
  { details }: Assistant,
  found: ReadonlyArray<ReasoningDetail> | undefined,
  dropped: Set<string>
): void => {
  if (found === undefined) dropped.add("thinking.signature=omitted")
  // A list that is spread into arguments must be short.
  else for (const detail of found) details.push(detail)
}

const positionIn = ({ length, toolCalls }: Assistant): NativePosition => ({ text: length, calls: toolCalls.length })
