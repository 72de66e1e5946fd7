/**
 * Messages in OpenAI's form. Reasoning goes back only to the model that made it, in the field its server wants; members
 * a server does not know are left out, because strict ones refuse the whole request for them.
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
import { ephemeral } from "../shared/CacheMarks.ts"
import { type Dialect, dialects } from "../shared/Dialects.ts"
import { readableArguments } from "../shared/Field.ts"
import { detailsFrom } from "../shared/ReasoningDetails.ts"
import { instructionOf } from "../shared/ResponseFormats.ts"
import { wireIds } from "../shared/WireIds.ts"

interface Writing {
  readonly call: WireCall
  readonly dialect: Dialect
  readonly wireId: (id: string) => string
  /** By the client's id; for servers that want the tool's name beside its result. */
  readonly toolNames: ReadonlyMap<string, string>
}

export const messagesOf = (call: WireCall): ReadonlyArray<JsonObject> => {
  const { messages } = call.request
  const dialect = dialects[call.dialect]
  const writing: Writing = {
    call,
    dialect,
    wireId: wireIds(dialect.toolIds),
    toolNames: new Map(
      messages.flatMap((message) =>
        message.role === "assistant" ? message.toolCalls.map(({ id, name }) => [id, name] as const) : []
      )
    )
  }
  const leading = messages.findIndex((message) => message.role !== "system")
  const written = messages.flatMap((message, index) => [
    ...messageOf(writing, message),
    ...(messages[index + 1]?.role === "tool" ? [] : imagesOfResults(writing, messages, index))
  ])
  return written.toSpliced(leading < 0 ? messages.length : leading, 0, ...formatInstruction(writing))
}

const messageOf = (writing: Writing, message: Message): ReadonlyArray<JsonObject> => {
  switch (message.role) {
    case "system":
      return [{ role: systemRole(writing), content: contentOf(writing, message.content) }]
    case "user":
      return [{ role: "user", content: contentOf(writing, message.content) }]
    case "assistant":
      return assistantOf(writing, message)
    case "tool":
      return [toolResultOf(writing, message)]
  }
}

const systemRole = ({ call, dialect }: Writing): string =>
  call.model.reasoning.support === "none" ? "system" : dialect.instructionRole

/** One string wherever it says the same: not every server reads parts. */
const contentOf = ({ dialect }: Writing, parts: ReadonlyArray<ContentPart>): string | ReadonlyArray<JsonObject> => {
  const texts = parts.filter((part): part is TextPart => part.type === "text")
  const marked = dialect.cacheControl && texts.some((part) => part.cacheControl !== undefined)
  return texts.length === parts.length && !marked
    ? texts.map((part) => part.text).join("\n")
    : parts.map((part) => partOf(dialect, part))
}

const partOf = (dialect: Dialect, part: ContentPart): JsonObject => {
  switch (part.type) {
    case "text":
      return dialect.cacheControl && part.cacheControl !== undefined
        ? { type: "text", text: part.text, cache_control: ephemeral(part.cacheControl) }
        : { type: "text", text: part.text }
    case "image":
      return { type: "image_url", image_url: { url: part.url, ...(part.detail && { detail: part.detail }) } }
    case "audio":
      return {
        type: "input_audio",
        input_audio: dialect.audio.shape === "string" ? part.data : { data: part.data, format: part.format }
      }
  }
}

const assistantOf = (writing: Writing, message: AssistantMessage): ReadonlyArray<JsonObject> => {
  const text = textOf(message)
  if (text === "" && message.toolCalls.length === 0) return []
  const { dialect, wireId } = writing
  const { content, ...echo } = echoOf(writing, message, text)
  const calls = message.toolCalls.map((tool) => ({
    id: wireId(tool.id),
    type: "function",
    function: { name: tool.name, arguments: readableArguments(tool.arguments) }
  }))
  return [
    {
      role: "assistant",
      content: content ?? (text === "" ? dialect.emptyContent : text),
      ...echo,
      ...(calls.length > 0 && { tool_calls: calls })
    }
  ]
}

/** The model's own reasoning, for the server that made it. */
const echoOf = ({ call, dialect }: Writing, message: AssistantMessage, text: string): JsonObject => {
  const details = detailsFrom(call.origin, message)
  if (dialect.reasoningEcho === "none") return {}
  if (dialect.reasoningEcho === "details") return details.length > 0 ? { reasoning_details: details } : {}
  // Without any block nobody can tell whose reasoning it is; a block of another model proves that it is not ours.
  const foreign = message.reasoningDetails.length > 0 && details.length === 0
  const own = details.length > 0 ? details.map(readable).join("") : foreign ? "" : (message.reasoning ?? "")
  if (dialect.reasoningEcho !== "chunks")
    return own !== "" || dialect.requiresReasoningEcho ? { [dialect.reasoningEcho]: own } : {}
  if (own === "") return {}
  const thinking = { type: "thinking", thinking: [{ type: "text", text: own }] }
  return { content: text === "" ? [thinking] : [thinking, { type: "text", text }] }
}

const readable = (detail: JsonObject): string => (typeof detail["text"] === "string" ? detail["text"] : "")
const toolResultOf = (writing: Writing, message: ToolMessage): JsonObject => {
  const name = writing.dialect.namesToolResults ? writing.toolNames.get(message.toolCallId) : undefined
  const texts = message.content.filter((part) => part.type === "text")
  return {
    role: "tool",
    tool_call_id: writing.wireId(message.toolCallId),
    ...(name !== undefined && { name }),
    content: contentOf(writing, texts)
  }
}

/** Tool messages take only text, so the images of a run of results follow it as the user's. */
const imagesOfResults = (
  writing: Writing,
  messages: ChatRequest["messages"],
  last: number
): ReadonlyArray<JsonObject> => {
  const first = messages.findLastIndex((message, index) => index <= last && message.role !== "tool") + 1
  const others = messages
    .slice(first, last + 1)
    .flatMap((message): ReadonlyArray<ContentPart> => message.content.filter((part) => part.type !== "text"))
  if (others.length === 0) return []
  const parts: ReadonlyArray<ContentPart> = [{ type: "text", text: "From the tool results above:" }, ...others]
  return [{ role: "user", content: contentOf(writing, parts) }]
}

/** Formats in words where there is no switch; and OpenAI's own `json_object` insists that the word JSON occurs. */
const formatInstruction = (writing: Writing): ReadonlyArray<JsonObject> => {
  const { messages, responseFormat } = writing.call.request
  const inWords =
    responseFormat.type === "json_schema"
      ? !writing.dialect.jsonSchema
      : responseFormat.type === "json_object" && !messages.some((message) => /json/i.test(textOf(message)))
  return inWords && responseFormat.type !== "text"
    ? [{ role: systemRole(writing), content: instructionOf(responseFormat) }]
    : []
}
