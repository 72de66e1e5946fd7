/**
 * Messages in Gemini's form: a system instruction beside them, turns that alternate between user and model, and all
 * results of a turn's calls together right after it, in the order of the calls. Signed parts go back unchanged, and
 * only to the model that signed them.
 */
import type { Model } from "../../../catalog/Model.ts"
import {
  type AssistantMessage,
  type AudioFormat,
  type ChatRequest,
  type ContentPart,
  type Message,
  textOf,
  type ToolCall
} from "../../../domain/Conversation.ts"
import type { WireCall } from "../Protocol.ts"
import { dataUri } from "../shared/DataUri.ts"
import { argumentsIn } from "../shared/Field.ts"
import { instructionOf } from "../shared/request/ResponseFormats.ts"
import {
  alternatingTurns,
  continuePrompt,
  missingToolResult,
  splitSystem,
  systemTags,
  toolMediaIntroduction,
  toolResultsIn,
  type ToolResults,
  type TurnAddition,
  withRefusalsAsText
} from "../shared/request/Turns.ts"
import type { ContentTurn, FunctionCallPart, FunctionResponsePart, GeminiPart } from "./Body.ts"
import { missingSignature, signaturesOf } from "./Signatures.ts"

/**
 * Gemini 3 and later think by levels, where 2.5 had budgets and earlier models did not think; the catalog says how a
 * model is steered. They take ids on calls, insist on thought signatures, and can enforce a format beside tools.
 */
export const isGemini3OrLater = ({ reasoning }: Model): boolean =>
  reasoning.support !== "none" && reasoning.budgetTokens === undefined

/** The members of the body that hold the conversation. */
export interface ConversationBody {
  readonly system: ReadonlyArray<GeminiPart>
  readonly contents: ReadonlyArray<ContentTurn>
}

/** `format`: the format that the answer has to be asked for in a sentence. */
export const conversationOf = (call: WireCall, format: ChatRequest["responseFormat"]): ConversationBody => {
  const { rest, system } = splitSystem(withRefusalsAsText(call.request.messages))
  const instruction: ReadonlyArray<GeminiPart> = format.type === "text" ? [] : [{ text: instructionOf(format) }]
  const results = toolResultsIn(rest)
  return {
    system: [...system.flatMap((message) => partsOf(message.content)), ...instruction],
    // A model does not continue its own turn, and calls need a question before them.
    contents: alternatingTurns(
      rest.flatMap((message) => turnsOf(call, message, results)),
      { text: continuePrompt }
    )
  }
}

type Addition = TurnAddition<ContentTurn["role"], GeminiPart>

/** Results are added together with their calls, so tool messages add nothing themselves. */
const turnsOf = (call: WireCall, message: Message, results: ToolResults): ReadonlyArray<Addition> => {
  switch (message.role) {
    case "system":
      return [{ role: "user", parts: taggedSystem(textOf(message)) }]
    case "user":
      return [{ role: "user", parts: partsOf(message.content) }]
    case "assistant":
      return [
        { role: "model", parts: modelParts(call, message) },
        { role: "user", parts: resultParts(call, message.toolCalls, results) }
      ]
    case "tool":
      return []
  }
}

const taggedSystem = (text: string): ReadonlyArray<GeminiPart> =>
  text === "" ? [] : [{ text: `${systemTags.open}\n${text}\n${systemTags.close}` }]

/** Empty texts are refused, so they are left out; a request with images that are not data has been refused before. */
const partsOf = (parts: ReadonlyArray<ContentPart>): ReadonlyArray<GeminiPart> =>
  parts.flatMap((part): ReadonlyArray<GeminiPart> => {
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

/** Thoughts first, then the text with its signed pieces as parts of their own, and each call where it was made. */
const modelParts = (call: WireCall, message: AssistantMessage): ReadonlyArray<GeminiPart> => {
  const text = message.content.map((part) => part.text).join("")
  const signed = signaturesOf(call.origin, message, text)
  const calls = functionCalls(call, message, signed.ofCall)
  if (signed.texts.length === 0) return [...signed.thoughts, ...partsOf(message.content), ...calls]
  const parts: Array<GeminiPart> = [...signed.thoughts]
  const appendText = (piece: string) => piece !== "" && parts.push({ text: piece })
  let position = 0
  let called = 0
  for (const { calls: callsBefore, end, signature, start } of signed.texts) {
    appendText(text.slice(position, start))
    for (; called < Math.min(callsBefore, calls.length); called++) parts.push(...calls.slice(called, called + 1))
    parts.push({ text: text.slice(start, end), thoughtSignature: signature })
    position = end
  }
  appendText(text.slice(position))
  return [...parts, ...calls.slice(called)]
}

const functionCalls = (
  { model }: WireCall,
  { toolCalls }: AssistantMessage,
  signatureOf: (toolId: string) => string | undefined
): Array<FunctionCallPart> =>
  toolCalls.map((tool, index) => ({
    functionCall: {
      id: isGemini3OrLater(model) ? tool.id : undefined,
      name: tool.name,
      args: argumentsIn(tool.arguments)
    },
    thoughtSignature: signatureOf(tool.id) ?? (isGemini3OrLater(model) && index === 0 ? missingSignature : undefined)
  }))

/** As many results as calls, or the request is refused; a call without a result gets an error for one. */
const resultParts = (
  call: WireCall,
  tools: ReadonlyArray<ToolCall>,
  results: ToolResults
): ReadonlyArray<GeminiPart> => {
  const responses = tools.map((tool): FunctionResponsePart => {
    const result = results.get(tool)
    return {
      functionResponse: {
        id: isGemini3OrLater(call.model) ? tool.id : undefined,
        name: tool.name,
        response: result === undefined ? { error: missingToolResult } : { output: textOf(result) }
      }
    }
  })
  const media = tools.flatMap((tool) => results.get(tool)?.content.filter((part) => part.type !== "text") ?? [])
  return media.length === 0 ? responses : [...responses, { text: toolMediaIntroduction }, ...partsOf(media)]
}
