/**
 * What a model must be able to do before it is compared with others. These are hard rules: a model that breaks one is
 * never called, however good or cheap it is.
 */
import { type Endpoint, type Model, servesTier } from "../catalog/Model.ts"
import { type ChatRequest, forcesTool, modalitiesOf } from "../domain/Conversation.ts"
import { type ReasoningTier, reasoningTierOf } from "../domain/Reasoning.ts"
import { audioTokens } from "../domain/TokenCount.ts"
import type { RoutingRequest } from "./RoutingRequest.ts"

/** Room kept for an answer whose length the client left open, in tokens. */
const answerReserve = { none: 1_024, low: 2_048, high: 8_192 } as const satisfies Record<ReasoningTier, number>

/** A window that is not much larger than an answer may be still takes prompts of this share of it. */
const promptShare = 0.5

/** What all models are measured against; worked out once per request, since conversations are long. */
export interface Requirements {
  readonly image: boolean
  readonly audio: boolean
  readonly tools: boolean
  readonly forcedTool: boolean
  readonly structuredOutput: boolean
  /** `undefined` leaves the choice open. */
  readonly tier: ReasoningTier | undefined
  /** Estimated size of the prompt, of which `audioTokens` are audio. */
  readonly promptTokens: number
  readonly audioTokens: number
  /** The client's bound on what is written; `undefined` when it set none. */
  readonly outputLimit: number | undefined
}

export const requirementsOf = ({ promptTokens, request }: RoutingRequest): Requirements => ({
  ...modalitiesOf(request),
  tools: request.tools.length > 0 || hasToolHistory(request),
  forcedTool: forcesTool(request),
  structuredOutput: request.responseFormat.type === "json_schema",
  tier: reasoningTierOf(request.reasoning),
  promptTokens,
  audioTokens: audioTokens(request),
  outputLimit: request.maxOutputTokens
})

/**
 * The first rule that `model` breaks; `undefined` when it is a candidate. The tier comes last, so that
 * `reasoning_tier` means that everything else fits. An open tier restricts nothing.
 */
export const exclusionOf = (
  model: Model,
  needs: Requirements,
  allowed: RoutingRequest["allowed"]
): Exclusion | undefined => {
  if (allowed?.has(model.id) === false) return "not_allowed"
  if (needs.image && !model.modalities.image) return "image_input"
  if (needs.audio && !model.modalities.audio) return "audio_input"
  if (needs.tools && !model.tools) return "tools"
  if (needs.forcedTool && !model.forcedToolChoice) return "forced_tool_choice"
  if (needs.structuredOutput && !model.structuredOutput) return "structured_output"
  if (!model.endpoints.some((endpoint) => fits(model, endpoint, needs))) return "context_window"
  if (needs.tier !== undefined && !servesTier(model, needs.tier)) return "reasoning_tier"
  return undefined
}

/** A limit above what an endpoint can write asks for no more than it can. */
const fits = (model: Model, endpoint: Endpoint, { outputLimit, promptTokens, tier }: Requirements): boolean => {
  const reserve = answerReserve[tier === undefined ? "low" : tierInForce(model, tier)]
  const output = outputLimit ?? Math.min(reserve, endpoint.contextWindow * (1 - promptShare))
  return promptTokens + Math.min(output, endpoint.maxOutputTokens) <= endpoint.contextWindow
}

/** The tier of the request; when that is open, or the model cannot serve it, the cheapest tier the model serves. */
export const tierInForce = (model: Model, tier: ReasoningTier | undefined): ReasoningTier =>
  tier !== undefined && servesTier(model, tier) ? tier : servesTier(model, "none") ? "none" : "low"

/**
 * True when the tier gives way rather than leave the request without an answer: no model of the catalog thinks at all,
 * or none that takes the image or audio does. Thinking that was switched off never gives way, since it must not be
 * billed; nor does a tier that only the caller's allowlist leaves empty.
 */
export const tierMayYield = (models: ReadonlyArray<Model>, needs: Requirements): boolean => {
  const { tier } = needs
  if (tier === undefined || tier === "none") return false
  if (needs.image || needs.audio) return true
  return !models.some((model) => servesTier(model, tier))
}

/** Earlier calls and their results go to the model as well, also when this turn offers no tools. */
const hasToolHistory = (request: ChatRequest): boolean =>
  request.messages.some(
    (message) => message.role === "tool" || (message.role === "assistant" && message.toolCalls.length > 0)
  )

/** Why a model is not a candidate. */
export const exclusions = [
  "not_allowed",
  "image_input",
  "audio_input",
  "tools",
  "forced_tool_choice",
  "structured_output",
  "reasoning_tier",
  "context_window"
] as const

export type Exclusion = (typeof exclusions)[number]
