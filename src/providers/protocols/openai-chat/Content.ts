/**
 * Messages in OpenAI's form. Reasoning goes back only to the model that made it, in the member that its server reads.
 * Members that a server does not know are left out, because strict servers refuse the whole request for them.
 */
import {
  type AssistantMessage,
  type ContentPart,
  type Message,
  type TextPart,
  textOf,
  type ToolMessage
} from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall } from "../Protocol.ts"
import { ephemeral } from "../shared/CacheBreakpoints.ts"
import { type Dialect, dialects } from "../shared/Dialects.ts"
import { readableArguments } from "../shared/Field.ts"
import { detailsFrom } from "../shared/ReasoningDetails.ts"
import { instructionOf, lacksWordJson } from "../shared/ResponseFormats.ts"
import { canReason } from "../shared/Sampling.ts"
import { splitSystem, toolMediaIntroduction } from "../shared/Turns.ts"
import { wireIds } from "../shared/WireIds.ts"
import type {
  AssistantChatMessage,
  ChatContentPart,
  OpenAiMessage,
  InstructionMessage,
  TextChatPart,
  ThinkingChunk,
  ToolChatMessage
} from "./Body.ts"

/** What the messages of one request have in common. */
interface MessageContext {
  readonly call: WireCall
  readonly dialect: Dialect
  readonly wireId: (id: string) => string
  /** By the client's id of the call; for servers that want the tool's name beside its result. */
  readonly toolNames: ReadonlyMap<string, string>
}

/** The `messages` member. */
export const messagesOf = (call: WireCall): ReadonlyArray<OpenAiMessage> => {
  const { messages } = call.request
  const dialect = dialects[call.dialect]
  const toolNames = messages.flatMap((message) =>
    message.role === "assistant" ? message.toolCalls.map(({ id, name }) => [id, name] as const) : []
  )
  const context: MessageContext = { call, dialect, wireId: wireIds(dialect.toolIds), toolNames: new Map(toolNames) }
  const { rest, system } = splitSystem(messages)
  return [
    ...system.map((message) => instructionMessage(context, contentOf(context, message.content))),
    ...formatInstruction(context),
    ...rest.flatMap((message, index) => [
      ...messageOf(context, message),
      ...(rest[index + 1]?.role === "tool" ? [] : mediaOfResults(context, rest, index))
    ])
  ]
}

const messageOf = (context: MessageContext, message: Message): ReadonlyArray<OpenAiMessage> => {
  switch (message.role) {
    case "system":
      return [instructionMessage(context, contentOf(context, message.content))]
    case "user":
      return [{ role: "user", content: contentOf(context, message.content) }]
    case "assistant":
      return assistantMessages(context, message)
    case "tool":
      return [toolMessage(context, message)]
  }
}

const instructionMessage = (
  { call, dialect }: MessageContext,
  content: InstructionMessage["content"]
): InstructionMessage => ({ role: canReason(call.model) ? dialect.instructionRole : "system", content })

/** Texts alone become one string, because not every server reads parts. */
const contentOf = (
  { dialect }: MessageContext,
  parts: ReadonlyArray<ContentPart>
): string | ReadonlyArray<ChatContentPart> => {
  const texts = parts.filter((part): part is TextPart => part.type === "text")
  const marked = dialect.cacheControl && texts.some((part) => part.cacheControl !== undefined)
  return texts.length === parts.length && !marked
    ? texts.map((part) => part.text).join("\n")
    : parts.map((part) => contentPart(dialect, part))
}

const contentPart = (dialect: Dialect, part: ContentPart): ChatContentPart => {
  switch (part.type) {
    case "text":
      return {
        type: "text",
        text: part.text,
        cache_control: dialect.cacheControl && part.cacheControl ? ephemeral(part.cacheControl) : undefined
      }
    case "image":
      return { type: "image_url", image_url: { url: part.url, detail: part.detail || undefined } }
    case "audio":
      return {
        type: "input_audio",
        input_audio: dialect.audio.shape === "string" ? part.data : { data: part.data, format: part.format }
      }
  }
}

const assistantMessages = (context: MessageContext, message: AssistantMessage): ReadonlyArray<AssistantChatMessage> => {
  const text = textOf(message)
  const { toolCalls } = message
  if (text === "" && toolCalls.length === 0) return []
  const { dialect, wireId } = context
  const echo = reasoningEcho(context, message, text)
  return [
    {
      role: "assistant",
      content: echo.content ?? (text === "" ? dialect.emptyContent : text),
      reasoning_details: echo.details,
      reasoning: dialect.reasoningEcho === "reasoning" ? echo.text : undefined,
      reasoning_content: dialect.reasoningEcho === "reasoning_content" ? echo.text : undefined,
      tool_calls:
        toolCalls.length === 0
          ? undefined
          : toolCalls.map((tool) => ({
              id: wireId(tool.id),
              type: "function",
              function: { name: tool.name, arguments: readableArguments(tool.arguments) }
            }))
    }
  ]
}

/** A message's own reasoning, in one of the forms in which servers take it back, or in none. */
interface ReasoningEcho {
  readonly text?: string
  readonly details?: AssistantMessage["reasoningDetails"]
  /** The content with the reasoning in it, in place of the text. */
  readonly content?: ReadonlyArray<ThinkingChunk | TextChatPart>
}

const reasoningEcho = ({ call, dialect }: MessageContext, message: AssistantMessage, text: string): ReasoningEcho => {
  if (dialect.reasoningEcho === "none") return {}
  const details = detailsFrom(call.origin, message)
  if (dialect.reasoningEcho === "details") return details.length > 0 ? { details } : {}
  // Without any block nobody can tell which model reasoned; blocks of another model prove that it was not this one.
  const foreign = message.reasoningDetails.length > 0 && details.length === 0
  const reasoning = details.length > 0 ? details.map(detailText).join("") : foreign ? "" : (message.reasoning ?? "")
  if (dialect.reasoningEcho !== "chunks")
    return reasoning !== "" || dialect.requiresReasoningEcho ? { text: reasoning } : {}
  if (reasoning === "") return {}
  const chunk: ThinkingChunk = { type: "thinking", thinking: [{ type: "text", text: reasoning }] }
  return { content: text === "" ? [chunk] : [chunk, { type: "text", text }] }
}

const detailText = (detail: JsonObject): string => (typeof detail["text"] === "string" ? detail["text"] : "")

const toolMessage = (context: MessageContext, message: ToolMessage): ToolChatMessage => {
  const texts = message.content.filter((part) => part.type === "text")
  return {
    role: "tool",
    tool_call_id: context.wireId(message.toolCallId),
    name: context.dialect.namesToolResults ? context.toolNames.get(message.toolCallId) : undefined,
    content: contentOf(context, texts)
  }
}

/** Tool messages take only text, so the images of consecutive results follow the last of them as the user's. */
const mediaOfResults = (
  context: MessageContext,
  messages: ReadonlyArray<Message>,
  last: number
): ReadonlyArray<OpenAiMessage> => {
  const first = messages.findLastIndex((message, index) => index <= last && message.role !== "tool") + 1
  const media = messages
    .slice(first, last + 1)
    .flatMap((message): ReadonlyArray<ContentPart> => message.content.filter((part) => part.type !== "text"))
  if (media.length === 0) return []
  return [{ role: "user", content: contentOf(context, [{ type: "text", text: toolMediaIntroduction }, ...media]) }]
}

/** Asks for a format in a sentence, if the server has no parameter for it or insists on the word JSON. */
const formatInstruction = (context: MessageContext): ReadonlyArray<OpenAiMessage> => {
  const { messages, responseFormat } = context.call.request
  if (responseFormat.type === "text") return []
  const needed = responseFormat.type === "json_schema" ? !context.dialect.jsonSchema : lacksWordJson(messages)
  return needed ? [instructionMessage(context, instructionOf(responseFormat))] : []
}
