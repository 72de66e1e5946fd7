/**
 * A chat request in the form of Gemini's generateContent. What the model or the API cannot do is refused here, before a
 * call is made.
 */
import { Result } from "effect"

import { audioFormats, type ChatRequest } from "../../../domain/Conversation.ts"
import type { Failure } from "../../../domain/Failure.ts"
import { isOptOut } from "../../../domain/Reasoning.ts"
import type { WireCall, WireRequest } from "../Protocol.ts"
import { describedSchema } from "../shared/request/JsonSchema.ts"
import { requestedOutputLimit } from "../shared/request/OutputLimits.ts"
import { acceptedSampling, canReason } from "../shared/request/Sampling.ts"
import { limitedStops, type StopSequences } from "../shared/request/StopSequences.ts"
import { type Thinking, thinkingOf } from "../shared/request/Thinking.ts"
import { type AcceptedInput, unsupportedFailure } from "../shared/request/UnsupportedFeatures.ts"
import type { FunctionCallingConfig, GenerationConfig, RequestBody, ThinkingConfig } from "./Body.ts"
import { conversationOf, isGemini3OrLater } from "./Content.ts"
import { geminiSchema, hasNoParameters } from "./GeminiSchema.ts"

const acceptedInput: AcceptedInput = {
  forcedToolBesideReasoning: true,
  audioFormats,
  imageTypes: ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
  imageUrls: false,
  toolNames: {
    pattern: /^[a-zA-Z_][\w.:-]{0,127}$/,
    rule: "begin with a letter and hold letters, digits and _ . : - alone"
  }
}

/** The HTTP request, or an `Unsupported` failure if the model or the API cannot do what it asks. */
export const encode = (call: WireCall): Result.Result<WireRequest<RequestBody>, Failure> => {
  const failure = unsupportedFailure(call, acceptedInput)
  if (failure !== undefined) return Result.fail(failure)
  const method = call.stream ? "streamGenerateContent?alt=sse" : "generateContent"
  return Result.succeed({ path: `/models/${call.upstream}:${method}`, headers: {}, body: bodyOf(call) })
}

const noFormat = { type: "text" } as const

const bodyOf = (call: WireCall): RequestBody => {
  const { request } = call
  const enforced = enforcesFormat(call)
  const { contents, system } = conversationOf(call, enforced ? noFormat : request.responseFormat)
  return {
    ...tools(request),
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    contents,
    generationConfig: generationConfig(call, enforced ? request.responseFormat : noFormat)
  }
}

/** Gemini refuses more sequences. */
const maxStops = 5
const stopSequences = ({ request }: WireCall): StopSequences => limitedStops(request.stop, maxStops)

/** The sequences beyond the fifth: the gateway cuts the answer at them. */
export const localStops = (call: WireCall): ReadonlyArray<string> => stopSequences(call).local

const tools = (request: ChatRequest): Pick<RequestBody, "tools" | "toolConfig"> => {
  if (request.tools.length === 0) return { tools: undefined, toolConfig: undefined }
  const functionDeclarations = request.tools.map(({ description, name, parameters }) => ({
    name,
    description,
    parametersJsonSchema: hasNoParameters(parameters) ? undefined : geminiSchema(parameters)
  }))
  return { tools: [{ functionDeclarations }], toolConfig: toolConfig(request) }
}

const toolConfig = ({ toolChoice }: ChatRequest): RequestBody["toolConfig"] =>
  toolChoice === "auto" ? undefined : { functionCallingConfig: callingConfig(toolChoice) }

const callingConfig = (choice: Exclude<ChatRequest["toolChoice"], "auto">): FunctionCallingConfig => ({
  mode: choice === "none" ? "NONE" : "ANY",
  allowedFunctionNames: typeof choice === "object" ? [choice.name] : undefined
})

/** Before Gemini 3 the format of an answer cannot be enforced beside tools, so it is asked for in a sentence. */
const enforcesFormat = ({ model, request }: WireCall): boolean => request.tools.length === 0 || isGemini3OrLater(model)

const generationConfig = (call: WireCall, format: ChatRequest["responseFormat"]): GenerationConfig => {
  const thinking = thinkingOf(call)
  const { frequencyPenalty, presencePenalty, temperature, topP } = acceptedSampling(call, thinking, {
    unset: "reasons"
  })
  const stops = stopSequences(call).sent
  return {
    maxOutputTokens: requestedOutputLimit(call),
    temperature,
    topP,
    // All models that think refuse penalties.
    frequencyPenalty: canReason(call.model) ? undefined : frequencyPenalty,
    presencePenalty: canReason(call.model) ? undefined : presencePenalty,
    stopSequences: stops.length > 0 ? stops : undefined,
    responseMimeType: format.type === "text" ? undefined : "application/json",
    responseJsonSchema: format.type === "json_schema" ? geminiSchema(describedSchema(format)) : undefined,
    thinkingConfig: thinkingConfig(call.request, thinking)
  }
}

const thinkingConfig = ({ reasoning }: ChatRequest, thinking: Thinking): ThinkingConfig | undefined => {
  if (thinking.state === "unset") return undefined
  if (thinking.state === "off") return { includeThoughts: undefined, thinkingLevel: undefined, thinkingBudget: 0 }
  const { budget, effort } = thinking
  return {
    includeThoughts: reasoning?.exclude !== true && !isOptOut(reasoning),
    thinkingLevel: budget === undefined ? effort?.toUpperCase() : undefined,
    thinkingBudget: budget
  }
}
