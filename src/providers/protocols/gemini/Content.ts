/**
 * Messages in Gemini's form: a system instruction beside them, user and model taking turns, and all results of a turn's
 * calls together, in the order of the calls, right after it. Signed parts go back as they came, and only to the model
 * that signed them.
 */
import {
  type AssistantMessage,
  type AudioFormat,
  type ChatRequest,
  type Message,
  type ContentPart,
  textOf,
  type ToolCall
} from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall } from "../Protocol.ts"
import { dataUri } from "../shared/DataUri.ts"
import { argumentsIn } from "../shared/Field.ts"
import { instructionOf } from "../shared/ResponseFormats.ts"
import { type Results, resultsIn } from "../shared/ToolResults.ts"
import { isGemini3OrLater } from "./GeminiGeneration.ts"
import { missingSignature, signaturesOf } from "./Signatures.ts"

interface Turn {
  readonly role: "user" | "model"
  readonly parts: Array<JsonObject>
}

export interface Conversation {
  readonly system: ReadonlyArray<JsonObject>
  readonly contents: ReadonlyArray<Turn>
}

/** `format`: what the answer's form has to be asked for in words. */
export const conversationOf = (call: WireCall, format: ChatRequest["responseFormat"]): Conversation => {
  const { messages } = call.request
  const found = messages.findIndex((message) => message.role !== "system")
  const leading = found < 0 ? messages.length : found
  const instruction = format.type === "text" ? [] : [{ text: instructionOf(format) }]
  return {
    system: [...messages.slice(0, leading).flatMap((message) => partsOf(message.content)), ...instruction],
    contents: turnsOf(call, messages.slice(leading))
  }
}

const turnsOf = (call: WireCall, messages: ReadonlyArray<Message>): ReadonlyArray<Turn> => {
  const results = resultsIn(messages)
  const turns: Array<Turn> = []
  const say = (role: Turn["role"], parts: ReadonlyArray<JsonObject>): void => {
    const last = turns.at(-1)
    if (parts.length === 0) return
    if (last?.role === role) last.parts.push(...parts)
    else turns.push({ role, parts: [...parts] })
  }
  for (const message of messages) {
    if (message.role === "user") say("user", partsOf(message.content))
    // There is no such role between the turns.
    if (message.role === "system" && textOf(message) !== "")
      say("user", [{ text: `<system>\n${textOf(message)}\n</system>` }])
    if (message.role === "assistant") {
      say("model", modelParts(call, message))
      say("user", resultParts(call, message.toolCalls, results))
    }
  }
  // The first and the last word are the user's: a model does not continue its own, and calls need a question.
  const pause = [{ text: "Continue." }]
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", parts: pause })
  if (turns.at(-1)?.role !== "user") say("user", pause)
  return turns
}

/** Empty texts say nothing. */
const partsOf = (parts: ReadonlyArray<ContentPart>): ReadonlyArray<JsonObject> =>
  parts.flatMap((part): ReadonlyArray<JsonObject> => {
    if (part.type === "text") return part.text === "" ? [] : [{ text: part.text }]
    if (part.type === "audio") return [{ inlineData: { mimeType: audioTypes[part.format], data: part.data } }]
    const inline = dataUri(part.url)
    return inline === undefined ? [] : [{ inlineData: { mimeType: inline.mime, data: inline.data } }]
  })

/** The Gemini API documents wav, mp3, ogg and flac; Vertex lists the others as well. */
const audioTypes = {
  mp3: "audio/mpeg",
  wav: "audio/wav",
  m4a: "audio/m4a",
  webm: "audio/webm",
  ogg: "audio/ogg",
  flac: "audio/flac",
  opus: "audio/opus"
} as const satisfies Record<AudioFormat, string>

const modelParts = (call: WireCall, message: AssistantMessage): ReadonlyArray<JsonObject> => {
  const whole = message.content.map((part) => part.text).join("")
  const signed = signaturesOf(call.origin, message, whole)
  const third = isGemini3OrLater(call.model)
  const calls = message.toolCalls.map((tool, index) => {
    const signature = signed.ofCall(tool.id) ?? (third && index === 0 ? missingSignature : undefined)
    return {
      functionCall: { ...(third && { id: tool.id }), name: tool.name, args: argumentsIn(tool.arguments) },
      ...(signature !== undefined && { thoughtSignature: signature })
    }
  })
  if (signed.texts.length === 0) return [...signed.thoughts, ...partsOf(message.content), ...calls]
  const parts: Array<JsonObject> = [...signed.thoughts]
  const saying = (text: string) => text !== "" && parts.push({ text })
  let at = 0
  for (const { calls: before, end, signature, start } of signed.texts) {
    saying(whole.slice(at, start))
    parts.push(...calls.splice(0, before - (message.toolCalls.length - calls.length)))
    parts.push({ text: whole.slice(start, end), thoughtSignature: signature })
    at = end
  }
  saying(whole.slice(at))
  return [...parts, ...calls]
}

/** As many results as calls, or the request is refused; a call that nobody answered says so. */
const resultParts = (call: WireCall, tools: ReadonlyArray<ToolCall>, results: Results): ReadonlyArray<JsonObject> => {
  const responses = tools.map((tool) => {
    const result = results.get(tool)
    return {
      functionResponse: {
        ...(isGemini3OrLater(call.model) && { id: tool.id }),
        name: tool.name,
        response: result === undefined ? { error: "The tool gave no result." } : { output: textOf(result) }
      }
    }
  })
  const media = tools.flatMap((tool) => results.get(tool)?.content.filter((part) => part.type !== "text") ?? [])
  return media.length === 0 ? responses : [...responses, { text: "From the tool results above:" }, ...partsOf(media)]
}
