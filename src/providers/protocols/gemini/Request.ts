/**
 * A request in Gemini's form. What a model would refuse is settled before: a request that cannot be said faithfully
 * fails here and costs no call.
 */
import { Result } from "effect"

import { type ChatRequest, forcesTool, type ContentPart } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import { isOptOut } from "../../../domain/Reasoning.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { dataUri } from "../shared/DataUri.ts"
import { unsupported } from "../shared/ErrorClassifier.ts"
import { outputLimit, type Thinking, thinkingOf } from "../shared/Thinking.ts"
import { conversationOf } from "./Content.ts"
import { isGemini3OrLater } from "./GeminiGeneration.ts"
import { hasNoParameters, geminiSchema } from "./GeminiSchema.ts"

export const encode = (call: WireCall): Result.Result<WireRequest, Failure> => {
  const fault = unsayable(call) ?? unfetchedImage(call)
  if (fault !== undefined) return Result.fail(unsupported(fault))
  const { request } = call
  const native = shapesAnswers(call)
  const { contents, system } = conversationOf(call, native ? { type: "text" } : request.responseFormat)
  const thinking = thinkingOf(call)
  const stops = sentStops(call)
  return Result.succeed({
    path: `/models/${call.upstream}:${call.stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    headers: {},
    body: {
      ...tools(request),
      ...(system.length > 0 && { systemInstruction: { parts: system } }),
      contents,
      generationConfig: {
        ...(request.maxOutputTokens !== undefined && { maxOutputTokens: outputLimit(call) }),
        ...sampling(call, thinking),
        ...(stops.length > 0 && { stopSequences: stops }),
        ...(native && answerFormat(request.responseFormat)),
        ...thinkingFields(request, thinking)
      }
    }
  })
}

const functionName = /^[a-zA-Z_][\w.:-]{0,127}$/
const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]

const imageUrls = ({ request }: WireCall): ReadonlyArray<string> =>
  request.messages
    .flatMap((message): ReadonlyArray<ContentPart> => message.content)
    .flatMap((part) => (part.type === "image" ? [part.url] : []))

/** What this model or Gemini cannot be asked, if anything. */
const unsayable = (call: WireCall): string | undefined => {
  const { model, request } = call
  if (forcesTool(request) && !model.forcedToolChoice) return `${model.id} cannot be forced to call a tool.`
  if (request.responseFormat.type === "json_schema" && !model.structuredOutput)
    return `${model.id} cannot answer in a given JSON schema.`
  if (request.tools.some(({ name }) => !functionName.test(name)))
    return `${model.id} takes tools whose names begin with a letter and hold letters, digits and _ . : - alone.`
  const types = imageUrls(call).map((url) => dataUri(url)?.mime ?? "image/png")
  const strange = types.find((type) => !imageTypes.includes(type))
  return strange && `${model.id} does not take images of type ${strange}.`
}

/** Gemini does not fetch images, so one that is only named by its URL cannot be shown to it. */
const unfetchedImage = (call: WireCall): string | undefined =>
  imageUrls(call).some((url) => dataUri(url) === undefined)
    ? `${call.model.id} takes images as data and not by their URL.`
    : undefined

/** Gemini refuses more, so the gateway cuts at the others itself. */
const maxStops = 5
const sayableStops = ({ request }: WireCall): ReadonlyArray<string> => request.stop.filter((stop) => stop !== "")
const sentStops = (call: WireCall): ReadonlyArray<string> => sayableStops(call).slice(0, maxStops)
export const localStops = (call: WireCall): ReadonlyArray<string> => sayableStops(call).slice(maxStops)

/** All functions are one tool. */
const tools = ({ toolChoice, tools }: ChatRequest): JsonObject => {
  if (tools.length === 0) return {}
  const functionDeclarations = tools.map(({ description, name, parameters }) => ({
    name,
    ...(description !== undefined && { description }),
    ...(!hasNoParameters(parameters) && { parametersJsonSchema: geminiSchema(parameters) })
  }))
  return {
    tools: [{ functionDeclarations }],
    ...(toolChoice !== "auto" && { toolConfig: { functionCallingConfig: choiceOf(toolChoice) } })
  }
}

const choiceOf = (choice: Exclude<ChatRequest["toolChoice"], "auto">): JsonObject => {
  if (typeof choice === "object") return { mode: "ANY", allowedFunctionNames: [choice.name] }
  return { mode: choice === "required" ? "ANY" : "NONE" }
}

/** Before Gemini 3 an answer's format cannot be enforced while tools are offered, so it is asked for in words. */
const shapesAnswers = ({ model, request }: WireCall): boolean => request.tools.length === 0 || isGemini3OrLater(model)

const answerFormat = (format: ChatRequest["responseFormat"]): JsonObject => {
  if (format.type === "text") return {}
  return {
    responseMimeType: "application/json",
    ...(format.type === "json_schema" && { responseJsonSchema: geminiSchema(format.schema) })
  }
}

/** Penalties ended with the models that do not think: all later ones refuse them. */
const sampling = ({ model, request }: WireCall, thinking: Thinking): JsonObject => {
  const reasons = model.reasoning.support !== "none"
  const allowed =
    model.sampling === "always" || (model.sampling === "without_reasoning" && (!reasons || thinking.state === "off"))
  if (!allowed) return {}
  const { frequencyPenalty, presencePenalty, temperature, topP } = request
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(!reasons && frequencyPenalty !== undefined && { frequencyPenalty }),
    ...(!reasons && presencePenalty !== undefined && { presencePenalty })
  }
}

/** A budget or a level, never both: the two together are refused. */
const thinkingFields = ({ reasoning }: ChatRequest, thinking: Thinking): JsonObject => {
  if (thinking.state === "unset") return {}
  if (thinking.state === "off") return { thinkingConfig: { thinkingBudget: 0 } }
  const { budget, effort } = thinking
  const level = effort === undefined ? {} : { thinkingLevel: effort.toUpperCase() }
  return {
    thinkingConfig: {
      includeThoughts: reasoning?.exclude !== true && !isOptOut(reasoning),
      ...(budget === undefined ? level : { thinkingBudget: budget })
    }
  }
}
