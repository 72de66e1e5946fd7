/**
 * Messages in OpenAI's form. Members that a server does not know are left out, because strict servers refuse the whole
 * request for them.
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
import { type Dialect, dialects } from "../shared/Dialects.ts"
import { readableArguments } from "../shared/Field.ts"
import {
  breakpoints,
  type CacheBreakpoints,
  ephemeral,
  type EphemeralCacheControl,
  withMarksOnTexts
} from "../shared/request/CacheBreakpoints.ts"
import { instructionOf, lacksWordJson } from "../shared/request/ResponseFormats.ts"
import { canReason } from "../shared/request/Sampling.ts"
import { splitSystem, toolMediaIntroduction, withRefusalsAsText, withResultsAtCalls } from "../shared/request/Turns.ts"
import { wireIds } from "../shared/request/WireIds.ts"
import type {
  AssistantChatMessage,
  ChatContentPart,
  OpenAiMessage,
  InstructionMessage,
  TextChatPart,
  ToolChatMessage
} from "./Body.ts"
import { reasoningEcho } from "./ReasoningEcho.ts"
import { inRoleOrder } from "./RoleOrder.ts"

/** What the messages of one request have in common. */
interface MessageContext {
  readonly call: WireCall
  readonly dialect: Dialect
  readonly wireId: (id: string) => string
  /** By the client's id of the call; for servers that want the tool's name beside its result. */
  readonly toolNames: ReadonlyMap<string, string>
  /** What carries `cache_control`, for servers that read it. */
  readonly marks: CacheBreakpoints
}

/** The `messages` member. */
export const messagesOf = (call: WireCall): ReadonlyArray<OpenAiMessage> => {
  const dialect = dialects[call.dialect]
  const messages = historyOf(call, dialect)
  const toolNames = messages.flatMap((message) =>
    message.role === "assistant" ? message.toolCalls.map(({ id, name }) => [id, name] as const) : []
  )
  const context: MessageContext = {
    call,
    dialect,
    wireId: wireIds(dialect.toolIds),
    toolNames: new Map(toolNames),
    marks: dialect.cacheControl ? breakpoints({ ...call.request, messages, tools: [] }) : new Map()
  }
  const { rest, system } = splitSystem(messages)
  return inRoleOrder(dialect, [
    ...system.map((message) => instructionMessage(context, contentOf(context, message.content))),
    ...formatInstruction(context),
    ...rest.flatMap((message, index) => [
      ...messageOf(context, message),
      ...(message.role === "tool" && rest[index + 1]?.role !== "tool" ? mediaOfResults(context, rest, index) : [])
    ])
  ])
}

/** The messages in terms that the server knows. */
const historyOf = ({ request }: WireCall, dialect: Dialect): ReadonlyArray<Message> => {
  const answered = withResultsAtCalls(request.messages)
  const history = dialect.refusals ? answered : withRefusalsAsText(answered)
  return dialect.cacheControl ? withMarksOnTexts(history) : history
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
  context: MessageContext,
  parts: ReadonlyArray<ContentPart>
): string | ReadonlyArray<ChatContentPart> => {
  const texts = parts.filter((part): part is TextPart => part.type === "text")
  return texts.length === parts.length && !texts.some((part) => context.marks.has(part))
    ? texts.map((part) => part.text).join("\n")
    : parts.map((part) => contentPart(context, part))
}

const markOf = ({ marks }: MessageContext, item: Cacheable): EphemeralCacheControl | undefined => {
  const control = marks.get(item)
  return control && ephemeral(control)
}

const contentPart = (context: MessageContext, part: ContentPart): ChatContentPart => {
  switch (part.type) {
    case "text":
      return {
        type: "text",
        text: part.text,
        cache_control: markOf(context, part)
      }
    case "image":
      return {
        type: "image_url",
        image_url: { url: part.url, detail: part.detail || undefined },
        cache_control: markOf(context, part)
      }
    case "audio":
      return {
        type: "input_audio",
        input_audio: context.dialect.audio.shape === "string" ? part.data : { data: part.data, format: part.format }
      }
  }
}

const assistantMessages = (context: MessageContext, message: AssistantMessage): ReadonlyArray<AssistantChatMessage> => {
  const text = textOf(message)
  const { toolCalls } = message
  if (text === "" && toolCalls.length === 0 && !message.refusal) return []
  const { dialect, wireId } = context
  const echo = reasoningEcho(context.call, message, text)
  return [
    {
      role: "assistant",
      content: echo.content ?? (text === "" ? dialect.emptyContent : markedText(context, message, text)),
      refusal: message.refusal || undefined,
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

/** One string, which every server reads, unless a part of it carries a mark. */
const markedText = (
  context: MessageContext,
  { content }: AssistantMessage,
  text: string
): string | ReadonlyArray<TextChatPart> =>
  content.some((part) => context.marks.has(part))
    ? content.map((part) => ({ type: "text", text: part.text, cache_control: markOf(context, part) }))
    : text

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
  let first = last
  while (messages[first - 1]?.role === "tool") first--
  const media = messages
    .slice(first, last + 1)
    .flatMap((message): ReadonlyArray<ContentPart> => message.content.filter((part) => part.type !== "text"))
  if (media.length === 0) return []
  return [{ role: "user", content: contentOf(context, [{ type: "text", text: toolMediaIntroduction }, ...media]) }]
}

/** True for an object beside tools where the server would refuse its JSON mode. */
export const asksInWords = ({ responseFormat, tools }: ChatRequest, dialect: Dialect): boolean =>
  responseFormat.type === "json_object" && tools.length > 0 && !dialect.jsonModeBesideTools

/** Asks for a format in a sentence, if the server has no parameter for it or insists on the word JSON. */
const formatInstruction = (context: MessageContext): ReadonlyArray<OpenAiMessage> => {
  const { messages, responseFormat } = context.call.request
  if (responseFormat.type === "text") return []
  const needed =
    responseFormat.type === "json_schema"
      ? !context.dialect.jsonSchema
      : lacksWordJson(messages) || asksInWords(context.call.request, context.dialect)
  return needed ? [instructionMessage(context, instructionOf(responseFormat))] : []
}
