/**
 * Messages in Anthropic's form: a system prompt beside them, user and assistant taking turns, every tool result in the
 * user turn right after its call. Thinking goes back unchanged, in order and first, and only to the model that signed.
 */
import {
  type AssistantMessage,
  type ChatRequest,
  type Message,
  type ContentPart,
  type TextPart,
  textOf,
  type ToolMessage
} from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall } from "../Protocol.ts"
import { breakpoints, ephemeral } from "../shared/CacheMarks.ts"
import { dataUri } from "../shared/DataUri.ts"
import { argumentsIn, asText, isBlank } from "../shared/Field.ts"
import { detailsFrom } from "../shared/ReasoningDetails.ts"
import { instructionOf } from "../shared/ResponseFormats.ts"
import { wireIds } from "../shared/WireIds.ts"

interface Turn {
  readonly role: "user" | "assistant"
  readonly content: Array<JsonObject>
}

export interface Conversation {
  readonly system: ReadonlyArray<JsonObject>
  readonly messages: ReadonlyArray<Turn>
}

type Marks = ReadonlyMap<TextPart, JsonObject>

export const conversationOf = (call: WireCall, format: ChatRequest["responseFormat"]): Conversation => {
  const { messages } = call.request
  const marks = new Map(
    Array.from(breakpoints(call.request), ([part, control]) => [part, { cache_control: ephemeral(control) }] as const)
  )
  const found = messages.findIndex((message) => message.role !== "system")
  const leading = found < 0 ? messages.length : found
  const instruction = format.type === "text" ? [] : [{ type: "text", text: instructionOf(format) }]
  return {
    system: [...messages.slice(0, leading).flatMap((message) => partBlocks(message.content, marks)), ...instruction],
    messages: turnsOf(call, messages.slice(leading), marks)
  }
}

/** Blank texts are refused, and say nothing. */
const textBlocks = (parts: ReadonlyArray<TextPart>, marks: Marks): ReadonlyArray<JsonObject> =>
  parts.flatMap((part) => (isBlank(part.text) ? [] : [{ type: "text", text: part.text, ...marks.get(part) }]))

const turnsOf = (call: WireCall, messages: ReadonlyArray<Message>, marks: Marks): ReadonlyArray<Turn> => {
  const wireId = wireIds("plain")
  const turns: Array<Turn> = []
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user"
    const blocks = blocksOf(call, message, marks, wireId)
    const last = turns.at(-1)
    if (blocks.length === 0) continue
    if (last?.role === role) last.content.push(...blocks)
    else turns.push({ role, content: [...blocks] })
  }
  // The first and the last word are the user's: newer models do not continue an assistant's.
  const pause: Turn = { role: "user", content: [{ type: "text", text: "Continue." }] }
  if (turns[0]?.role !== "user") turns.unshift(pause)
  if (turns.at(-1)?.role !== "user") turns.push(pause)
  return turns.map(({ content, role }) => ({ role, content: resultsFirst(content) }))
}

/** Nothing may stand between a call and its results. */
const resultsFirst = (content: ReadonlyArray<JsonObject>): Array<JsonObject> => [
  ...content.filter((block) => block["type"] === "tool_result"),
  ...content.filter((block) => block["type"] !== "tool_result")
]

const blocksOf = (
  call: WireCall,
  message: Message,
  marks: Marks,
  wireId: (id: string) => string
): ReadonlyArray<JsonObject> => {
  switch (message.role) {
    case "system":
      // Only the newest models know this role here; the tags work on all of them.
      return isBlank(textOf(message)) ? [] : systemInPlace(message.content, marks)
    case "user":
      return partBlocks(message.content, marks)
    case "assistant":
      return [
        ...thinkingBlocks(call, message),
        ...textBlocks(message.content, marks),
        ...message.toolCalls.map((tool) => ({
          type: "tool_use",
          id: wireId(tool.id),
          name: tool.name,
          input: argumentsIn(tool.arguments)
        }))
      ]
    case "tool":
      return [toolResult(message, marks, wireId)]
  }
}

const systemInPlace = (parts: ReadonlyArray<TextPart>, marks: Marks): ReadonlyArray<JsonObject> => [
  { type: "text", text: "<system>" },
  ...textBlocks(parts, marks),
  { type: "text", text: "</system>" }
]

/** Texts and images; a request with audio never comes here. */
const partBlocks = (parts: ReadonlyArray<ContentPart>, marks: Marks): ReadonlyArray<JsonObject> =>
  parts.flatMap((part) => {
    if (part.type === "image") return [{ type: "image", source: imageSource(part.url) }]
    return part.type === "text" ? textBlocks([part], marks) : []
  })

const imageSource = (url: string): JsonObject => {
  const inline = dataUri(url)
  return inline === undefined ? { type: "url", url } : { type: "base64", media_type: inline.mime, data: inline.data }
}

/** Text without a signature is not accepted back, and the model ignores what it does not need. */
const thinkingBlocks = (call: WireCall, message: AssistantMessage): ReadonlyArray<JsonObject> =>
  detailsFrom(call.origin, message).flatMap((detail): ReadonlyArray<JsonObject> => {
    const { data, signature, text, type } = detail
    if (type === "reasoning.encrypted" && typeof data === "string") return [{ type: "redacted_thinking", data }]
    return type === "reasoning.text" && typeof signature === "string"
      ? [{ type: "thinking", thinking: asText(text) ?? "", signature }]
      : []
  })

const toolResult = (message: ToolMessage, marks: Marks, wireId: (id: string) => string): JsonObject => {
  const [first, ...others] = message.content
  const mark = message.content.map((part) => part.type === "text" && marks.get(part)).findLast((found) => found)
  return {
    type: "tool_result",
    tool_use_id: wireId(message.toolCallId),
    content:
      first === undefined || (first.type === "text" && others.length === 0)
        ? (first?.text ?? "")
        : partBlocks(message.content, new Map()),
    ...mark
  }
}
