/**
 * Messages in Converse's form: a system prompt beside them, user and assistant taking turns, no blank texts, and all
 * results of a turn's calls together right after it. Thinking goes back unchanged, first, and to its origin only.
 */
import {
  type AssistantMessage,
  type CacheControl,
  type ChatRequest,
  type Message,
  type ContentPart,
  type TextPart,
  textOf,
  type ToolMessage
} from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall } from "../Protocol.ts"
import { automaticBreakpoint, breakpoints } from "../shared/CacheMarks.ts"
import { dataUri } from "../shared/DataUri.ts"
import { argumentsIn, asText, isBlank } from "../shared/Field.ts"
import { detailsFrom } from "../shared/ReasoningDetails.ts"
import { instructionOf } from "../shared/ResponseFormats.ts"
import { type Results, resultsIn } from "../shared/ToolResults.ts"
import { wireIds } from "../shared/WireIds.ts"
import { type ModelFamily, modelFamilyOf } from "./ModelFamilies.ts"

interface Turn {
  readonly role: "user" | "assistant"
  readonly content: Array<JsonObject>
}

export interface Conversation {
  readonly system: ReadonlyArray<JsonObject>
  readonly messages: ReadonlyArray<Turn>
}

/** What is to be said beside the conversation, for want of a field. */
export interface Words {
  readonly format: ChatRequest["responseFormat"]
  /** Tools have to be declared because the history used them, and shall not be called. */
  readonly withholdsTools: boolean
}

interface Writing {
  readonly call: WireCall
  readonly wireId: (id: string) => string
  /** The cache point after a text, if it has one. */
  readonly pointAfter: (part: ContentPart | undefined) => ReadonlyArray<JsonObject>
}

export const conversationOf = (call: WireCall, words: Words): Conversation => {
  const { request } = call
  const family = modelFamilyOf(call)
  const marks: ReadonlyMap<unknown, CacheControl> = breakpoints(request)
  const writing: Writing = {
    call,
    wireId: wireIds("plain"),
    pointAfter: (part) => cachePoint(marks.get(part), family)
  }
  const found = request.messages.findIndex((message) => message.role !== "system")
  const leading = found < 0 ? request.messages.length : found
  const { format } = words
  const instruction = format.type === "text" ? [] : [{ text: instructionOf(format) }]
  const messages = turnsOf(writing, request.messages.slice(leading))
  // What changes with the call stands last, so that it changes no cached prefix.
  messages.at(-1)?.content.push(...cachePoint(automaticBreakpoint(request), family))
  if (words.withholdsTools) messages.at(-1)?.content.push({ text: "Answer without calling a tool." })
  return {
    system: [
      ...request.messages.slice(0, leading).flatMap((message) => partBlocks(writing, message.content)),
      ...instruction
    ],
    messages
  }
}

const cachePoint = (control: CacheControl | undefined, { caching }: ModelFamily): ReadonlyArray<JsonObject> =>
  control === undefined || caching === "none"
    ? []
    : [{ cachePoint: { type: "default", ...(control.ttl === "1h" && caching === "5m or 1h" && { ttl: "1h" }) } }]

const turnsOf = (writing: Writing, messages: ReadonlyArray<Message>): ReadonlyArray<Turn> => {
  const results = resultsIn(messages)
  const turns: Array<Turn> = []
  const say = (role: Turn["role"], blocks: ReadonlyArray<JsonObject>): void => {
    const last = turns.at(-1)
    if (blocks.length === 0) return
    if (last?.role === role) last.content.push(...blocks)
    else turns.push({ role, content: [...blocks] })
  }
  for (const message of messages) {
    if (message.role === "user") say("user", partBlocks(writing, message.content))
    // There is no such role between the turns.
    if (message.role === "system" && !isBlank(textOf(message)))
      say("user", [{ text: "<system>" }, ...partBlocks(writing, message.content), { text: "</system>" }])
    if (message.role === "assistant") {
      say("assistant", assistantBlocks(writing, message))
      say("user", resultBlocks(writing, message, results))
    }
  }
  // The first and the last word are the user's.
  const pause = [{ text: "Continue." }]
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", content: [...pause] })
  if (turns.at(-1)?.role !== "user") say("user", pause)
  return turns
}

/** Texts and images; a request with audio, or with an image that is not data, never comes here. */
const partBlocks = (writing: Writing, parts: ReadonlyArray<ContentPart>): ReadonlyArray<JsonObject> =>
  parts.flatMap((part): ReadonlyArray<JsonObject> => {
    if (part.type === "image") return imageBlocks(part.url)
    return part.type === "text" ? textBlocks(writing, part) : []
  })

/** Blank texts are refused, and say nothing. */
const textBlocks = ({ pointAfter }: Writing, part: TextPart): ReadonlyArray<JsonObject> =>
  isBlank(part.text) ? [] : [{ text: part.text }, ...pointAfter(part)]

const imageBlocks = (url: string): ReadonlyArray<JsonObject> => {
  const inline = dataUri(url)
  return inline === undefined
    ? []
    : [{ image: { format: inline.mime.replace("image/", ""), source: { bytes: inline.data } } }]
}

/** Thinking alone is no message. */
const assistantBlocks = (writing: Writing, message: AssistantMessage): ReadonlyArray<JsonObject> => {
  const said = [
    ...partBlocks(writing, message.content),
    ...message.toolCalls.map((tool) => ({
      toolUse: { toolUseId: writing.wireId(tool.id), name: tool.name, input: argumentsIn(tool.arguments) }
    }))
  ]
  return said.length === 0 ? [] : [...thinkingBlocks(writing.call, message), ...said]
}

/** Text without a signature is not accepted back by those that sign, nor wanted by those that do not. */
const thinkingBlocks = (call: WireCall, message: AssistantMessage): ReadonlyArray<JsonObject> =>
  detailsFrom(call.origin, message).flatMap((detail): ReadonlyArray<JsonObject> => {
    const { data, signature, text, type } = detail
    if (type === "reasoning.encrypted" && typeof data === "string")
      return [{ reasoningContent: { redactedContent: data } }]
    return type === "reasoning.text" && typeof signature === "string"
      ? [{ reasoningContent: { reasoningText: { text: asText(text) ?? "", signature } } }]
      : []
  })

/** Every call has a result, or the request is refused; a call that nobody answered says so. */
const resultBlocks = (writing: Writing, message: AssistantMessage, results: Results): ReadonlyArray<JsonObject> =>
  message.toolCalls.flatMap((tool) => {
    const result = results.get(tool)
    return [
      {
        toolResult: {
          toolUseId: writing.wireId(tool.id),
          ...(result === undefined
            ? { content: [{ text: "The tool gave no result." }], status: "error" }
            : { content: resultContent(writing, result), status: "success" })
        }
      },
      ...writing.pointAfter(result?.content.findLast((part) => writing.pointAfter(part).length > 0))
    ]
  })

/** A cache point stands after a result and not in it. */
const resultContent = (writing: Writing, { content }: ToolMessage): ReadonlyArray<JsonObject> => {
  const blocks = partBlocks({ ...writing, pointAfter: () => [] }, content)
  return blocks.length === 0 ? [{ text: "(empty)" }] : blocks
}
