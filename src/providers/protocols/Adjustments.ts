/**
 * What becomes of parameters that a model does not take as they are. Nothing is changed in silence: routing prefers
 * models that take every parameter, and what is changed or left out all the same is named in the answer's headers and
 * in the receipt. A test compares what is named here with the bodies that the protocols make.
 */
import { type Endpoint, isTranscription, type Model } from "../../catalog/Model.ts"
import type { DialectName } from "../../catalog/Provider.ts"
import { type ChatRequest, textRequest } from "../../domain/Conversation.ts"
import { isOptOut } from "../../domain/Reasoning.ts"
import type { TranscriptionRequest } from "../../domain/Transcription.ts"
import { modelFamilyOf } from "./bedrock-converse/ModelFamilies.ts"
import { omittedContent } from "./OmittedContent.ts"
import { omittedHints } from "./OmittedHints.ts"
import type { WireCall } from "./Protocol.ts"
import { dialects } from "./shared/Dialects.ts"
import { claudeThinking } from "./shared/request/ClaudeThinking.ts"
import { acceptedSampling, canReason, type Sampling, temperatureUpToOne } from "./shared/request/Sampling.ts"
import { openAiEffort, type Thinking, thinkingOf } from "./shared/request/Thinking.ts"

/**
 * A parameter by the name that clients know, and what was sent for it: `temperature=1`, `reasoning.effort=high`. One
 * that was left out is `top_p=omitted`.
 */
export type Adjustment = string

/** A request at one endpoint. */
export interface AdjustedCall {
  readonly request: ChatRequest
  readonly model: Model
  readonly endpoint: Endpoint
  readonly dialect: DialectName
}

/** Everything that this endpoint would not get as it was asked for. */
export const adjustmentsOf = (call: AdjustedCall): ReadonlyArray<Adjustment> => {
  const wire = wireCallOf(call)
  const thinking = thinkingAt(call, wire)
  return [
    ...samplingAdjustments(call, wire, thinking),
    ...thinkingAdjustments(call, thinking),
    ...omittedHints(call.endpoint.protocol, wire),
    ...omittedContent(call.endpoint.protocol, wire)
  ]
}

/**
 * True when the endpoint gets the sampling parameters and the output limit as they are. How much it thinks is left out,
 * because the router compares that by itself.
 */
export const takesParameters = (call: AdjustedCall): boolean => {
  const wire = wireCallOf(call)
  return samplingAdjustments(call, wire, thinkingAt(call, wire)).length === 0
}

/** A transcription at one endpoint. */
export interface AdjustedTranscription extends Omit<AdjustedCall, "request"> {
  readonly request: TranscriptionRequest
}

/** Everything that this endpoint would not get of a transcription's options. A temperature of 0 is the usual one. */
export const transcriptionAdjustmentsOf = (call: AdjustedTranscription): ReadonlyArray<Adjustment> => {
  const { dialect, endpoint, request } = call
  const { language, prompt, temperature } = request
  if (!isTranscription(endpoint.protocol)) {
    // The instruction of a chat model names the language and the prompt.
    const chat = { ...textRequest(""), reasoning: { effort: "none", exclude: true }, temperature } as const
    return temperature === 0
      ? []
      : adjustmentsOf({ ...call, request: chat }).filter((one) => one.startsWith("temperature="))
  }
  const asked = { language, prompt, temperature: temperature === 0 ? undefined : temperature }
  return (["language", "prompt", "temperature"] as const).flatMap((name) =>
    asked[name] && !dialects[dialect].transcription.includes(name) ? [`${name}=omitted`] : []
  )
}

/** Whether the request has a parameter that any model might not take. Most requests have none. */
export const hasParameters = (request: ChatRequest): boolean =>
  asked(request).length > 0 || request.maxOutputTokens !== undefined

const wireCallOf = ({ dialect, endpoint, model, request }: AdjustedCall): WireCall => ({
  request,
  stream: false,
  model,
  upstream: endpoint.upstream,
  maxOutputTokens: endpoint.maxOutputTokens,
  dialect,
  origin: `${endpoint.provider}/${endpoint.upstream}`
})

const thinkingAt = ({ endpoint: { protocol } }: AdjustedCall, wire: WireCall): Thinking => {
  if (protocol === "anthropic-messages") return claudeThinking(wire)
  return protocol === "bedrock-converse" ? modelFamilyOf(wire).thinking(wire) : thinkingOf(wire)
}

interface AskedParameter {
  readonly name: string
  readonly member: keyof Sampling
  readonly value: number
}

/** The sampling parameters that differ from what every model does without them. */
const asked = (request: ChatRequest): ReadonlyArray<AskedParameter> =>
  (
    [
      ["temperature", "temperature", request.temperature, 1],
      ["top_p", "topP", request.topP, 1],
      ["frequency_penalty", "frequencyPenalty", request.frequencyPenalty, 0],
      ["presence_penalty", "presencePenalty", request.presencePenalty, 0]
    ] as const
  ).flatMap(([name, member, value, usual]) => (value === undefined || value === usual ? [] : [{ name, member, value }]))

const samplingAdjustments = (call: AdjustedCall, wire: WireCall, thinking: Thinking): ReadonlyArray<Adjustment> => {
  const parameters = asked(call.request)
  const sent = parameters.length > 0 ? sentSampling(call, wire, thinking) : undefined
  const changed = parameters.flatMap(({ member, name, value }) =>
    sent?.[member] === value ? [] : [`${name}=${sent?.[member] ?? "omitted"}`]
  )
  return [...changed, ...limitAdjustments(call, wire, thinking)]
}

const sentSampling = ({ dialect, endpoint }: AdjustedCall, wire: WireCall, thinking: Thinking): Sampling => {
  const unset = { unset: "reasons" } as const
  switch (endpoint.protocol) {
    case "anthropic-messages": {
      const { sampling, temperature } = cappedSampling(wire, thinking)
      return { ...sampling, topP: temperature === undefined ? sampling.topP : undefined }
    }
    case "bedrock-converse": {
      const family = modelFamilyOf(wire)
      if (!family.acceptsLimits(thinking)) return noSampling
      const { sampling, temperature } = cappedSampling(wire, thinking)
      return {
        ...sampling,
        topP: family.temperatureBesideTopP || temperature === undefined ? sampling.topP : undefined
      }
    }
    case "openai-responses":
      return { ...acceptedSampling(wire, thinking, unset), ...noPenalties }
    case "gemini":
      return { ...acceptedSampling(wire, thinking, unset), ...(canReason(wire.model) && noPenalties) }
    default: {
      const { penalties } = dialects[dialect]
      const takesPenalties = penalties === "always" || (penalties === "without reasoning" && !canReason(wire.model))
      return { ...acceptedSampling(wire, thinking, unset), ...(!takesPenalties && noPenalties) }
    }
  }
}

const noPenalties = { frequencyPenalty: undefined, presencePenalty: undefined }
const noSampling: Sampling = { temperature: undefined, topP: undefined, ...noPenalties }

/** Of the models whose temperature ends at 1, and which know no penalties. */
const cappedSampling = (wire: WireCall, thinking: Thinking) => {
  const accepted = acceptedSampling(wire, thinking, { unset: "does not reason" })
  const temperature = temperatureUpToOne(accepted)
  return { temperature, sampling: { ...accepted, temperature, ...noPenalties } }
}

/** The smallest output limit that OpenAI's Responses API accepts. */
const responsesMinOutputTokens = 16

const limitAdjustments = (
  { endpoint, request }: AdjustedCall,
  wire: WireCall,
  thinking: Thinking
): ReadonlyArray<Adjustment> => {
  const limit = request.maxOutputTokens
  if (limit === undefined) return []
  if (endpoint.protocol === "bedrock-converse" && !modelFamilyOf(wire).acceptsLimits(thinking))
    return ["max_completion_tokens=omitted"]
  const least = endpoint.protocol === "openai-responses" ? responsesMinOutputTokens : 1
  const sent = Math.max(least, Math.min(limit, endpoint.maxOutputTokens))
  return sent === limit ? [] : [`max_completion_tokens=${sent}`]
}

const thinkingAdjustments = (call: AdjustedCall, thinking: Thinking): ReadonlyArray<Adjustment> => {
  const { reasoning } = call.request
  if (reasoning === undefined) return []
  const { effort, maxTokens } = reasoning
  const sent = sentThinking(call, thinking)
  if (isOptOut(reasoning)) return sent === "reasoning.effort=none" || !canReason(call.model) ? [] : [sent]
  if (maxTokens !== undefined && maxTokens > 0 && sent === `reasoning.max_tokens=${maxTokens}`) return []
  if (effort === undefined && (maxTokens === undefined || maxTokens <= 0)) return []
  return maxTokens === undefined && sent === `reasoning.effort=${effort}` ? [] : [sent]
}

/** The thinking that the endpoint is asked for, as the parameter that a client would write for it. */
const sentThinking = ({ dialect: name, endpoint, request }: AdjustedCall, thinking: Thinking): Adjustment => {
  const dialect = dialects[name]
  const usesDialect = endpoint.protocol === "openai-chat" || endpoint.protocol === "openai-responses"
  const thinkingSwitch = endpoint.protocol === "openai-chat" ? dialect.thinkingSwitch : "none"
  if (thinkingSwitch === "reasoning object" && thinking.state === "on") {
    const { effort, maxTokens } = request.reasoning ?? {}
    if (effort === undefined && maxTokens !== undefined) return `reasoning.max_tokens=${maxTokens}`
    return `reasoning.effort=${thinking.effort ?? "omitted"}`
  }
  if (thinking.state === "unset") return "reasoning.effort=omitted"
  if (thinking.state === "off") {
    const hasSwitch = !usesDialect || thinkingSwitch !== "none" || dialect.effort === "levels and none"
    return hasSwitch ? "reasoning.effort=none" : "reasoning.effort=omitted"
  }
  if (!usesDialect && thinking.budget !== undefined) return `reasoning.max_tokens=${thinking.budget}`
  return `reasoning.effort=${(usesDialect ? openAiEffort(dialect, thinking) : thinking.effort) ?? "omitted"}`
}
