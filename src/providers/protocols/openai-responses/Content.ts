/**
 * Messages as input items. No item carries the id it had: the provider keeps nothing, and an id of an item that it does
 * not keep makes it look for one in vain. Calls and their outputs are joined by the call's own id.
 */
import {
  type AssistantMessage,
  type CacheControl,
  type Message,
  type ContentPart,
  textOf,
  type ToolMessage
} from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall } from "../Protocol.ts"
import { dialects } from "../shared/Dialects.ts"
import { readableArguments } from "../shared/Field.ts"
import { instructionOf } from "../shared/ResponseFormats.ts"
import { wireIds } from "../shared/WireIds.ts"
import { returnedReasoningItems } from "./Reasoning.ts"

interface Writing {
  readonly call: WireCall
  readonly wireId: (id: string) => string
}

/** Instructions are items too, because not every server knows them as a field of their own. */
export const inputOf = (call: WireCall): ReadonlyArray<JsonObject> => {
  const { messages } = call.request
  const writing: Writing = { call, wireId: wireIds("plain") }
  const found = messages.findIndex((message) => message.role !== "system")
  const leading = found < 0 ? messages.length : found
  const itemsOf = (some: ReadonlyArray<Message>) => some.flatMap((message) => messageItems(writing, message))
  return [...itemsOf(messages.slice(0, leading)), ...formatInstruction(call), ...itemsOf(messages.slice(leading))]
}

const messageItems = (writing: Writing, message: Message): ReadonlyArray<JsonObject> => {
  switch (message.role) {
    case "system":
      return messageItem(writing.call, instructionRole(writing.call), message.content)
    case "user":
      return messageItem(writing.call, "user", message.content)
    case "assistant":
      return assistantItems(writing, message)
    case "tool":
      return [toolOutput(writing, message)]
  }
}

const instructionRole = ({ dialect, model }: WireCall): string =>
  model.reasoning.support === "none" ? "system" : dialects[dialect].instructionRole

/** A message without content is refused, and says nothing. */
const messageItem = (call: WireCall, role: string, parts: ReadonlyArray<ContentPart>): ReadonlyArray<JsonObject> => {
  const content = contentOf(call, parts)
  return content.length === 0 ? [] : [{ role, content }]
}

/** Texts and images; a request with audio never comes here. */
const contentOf = (call: WireCall, parts: ReadonlyArray<ContentPart>): ReadonlyArray<JsonObject> =>
  parts.flatMap((part): ReadonlyArray<JsonObject> => {
    if (part.type === "text") return [{ type: "input_text", text: part.text, ...breakpoint(call, part.cacheControl) }]
    return part.type === "image" ? [{ type: "input_image", image_url: part.url, detail: part.detail ?? "auto" }] : []
  })

/**
 * Models from 5.6 on, which are those that know `max`, take marks where to cache, and decide themselves how long they
 * keep a prompt. Older ones refuse marks and may be told how long.
 */
export const takesBreakpoints = ({ dialect, model }: WireCall): boolean =>
  dialects[dialect].promptCacheRetention && model.reasoning.efforts.includes("max")

/** What they keep anyway is half an hour, and what outlives that is kept half a day. */
const breakpoint = (call: WireCall, control: CacheControl | undefined): JsonObject =>
  control === undefined || !takesBreakpoints(call)
    ? {}
    : { prompt_cache_breakpoint: { mode: "explicit", ...(control.ttl === "1h" && { ttl: "12h" }) } }

/** Reasoning stands directly before the output it led to. Without any output it is refused, so then it stays away. */
const assistantItems = ({ call, wireId }: Writing, message: AssistantMessage): ReadonlyArray<JsonObject> => {
  const text = textOf(message)
  const outputs: ReadonlyArray<JsonObject> = [
    ...(text === "" ? [] : [{ role: "assistant", content: [{ type: "output_text", text }] }]),
    ...message.toolCalls.map((tool) => ({
      type: "function_call",
      call_id: wireId(tool.id),
      name: tool.name,
      arguments: readableArguments(tool.arguments)
    }))
  ]
  const reasoning = returnedReasoningItems(call.origin, message)
  const last = outputs.length - 1
  return outputs.flatMap((output, at) => [
    ...reasoning.filter(({ place }) => Math.min(place, last) === at).map(({ item }) => item),
    output
  ])
}

const toolOutput = ({ call, wireId }: Writing, message: ToolMessage): JsonObject => ({
  type: "function_call_output",
  call_id: wireId(message.toolCallId),
  output: message.content.every((part) => part.type === "text") ? textOf(message) : contentOf(call, message.content)
})

/** `json_object` insists that the word JSON occurs in the input. */
const formatInstruction = (call: WireCall): ReadonlyArray<JsonObject> => {
  const { messages, responseFormat } = call.request
  return responseFormat.type === "json_object" && !messages.some((message) => /json/i.test(textOf(message)))
    ? messageItem(call, instructionRole(call), [{ type: "text", text: instructionOf(responseFormat) }])
    : []
}
