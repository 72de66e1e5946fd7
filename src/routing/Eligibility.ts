/**
 * Hard rules that a model must pass before it is ranked. A model that breaks one of them is never called, however good
 * or cheap it is.
 */
import {
  budgetWithin,
  canStream,
  type Endpoint,
  excludesTogether,
  type Model,
  servesTier,
  type UsedFeatures
} from "../catalog/Model.ts"
import { levelsApart, nearestEffort, type ReasoningTier } from "../domain/Reasoning.ts"
import type { Requirements, RoutingRequest } from "./RoutingRequest.ts"

/** Why a model cannot serve a request. */
export const exclusions = [
  "not_allowed",
  "image_input",
  "audio_input",
  "tools",
  "forced_tool_choice",
  "structured_output",
  "combination",
  "reasoning_tier",
  "context_window"
] as const

/** `parameters`: the client insists on parameters that the model would not get as they are. */
export type Exclusion = (typeof exclusions)[number] | "parameters"

/**
 * The first rule that `model` breaks; `undefined` when it is eligible. The reasoning tier is checked last, so
 * `reasoning_tier` means that the model passes every other rule. A request that leaves its tier open excludes no model
 * by it.
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
  const reasons = model.endpoints.map((endpoint) => endpointExclusionOf(endpoint, needs))
  if (!reasons.includes(undefined)) return reasons[0]
  const serving = model.endpoints.filter((_, index) => reasons[index] === undefined)
  if (!serving.some((endpoint) => fitsContextWindow(model, endpoint, needs))) return "context_window"
  if (needs.tier !== undefined && !servesTier(model, needs.tier, needs.outputLimit)) return "reasoning_tier"
  return undefined
}

/** Why an endpoint of an eligible model cannot serve the request; `undefined` when it can. */
export const endpointExclusionOf = (endpoint: Endpoint, needs: Requirements): Exclusion | undefined => {
  if (needs.structuredOutput && !endpoint.structuredOutput) return "structured_output"
  return excludesTogether(endpoint, usedFeatures(needs)) ? "combination" : undefined
}

/**
 * True when the endpoint guarantees the answer as the client wants to have it. Otherwise its whole answer has to be
 * checked first, and a client that asked for a stream gets it in one piece.
 */
export const answersNatively = (endpoint: Endpoint, needs: Requirements): boolean =>
  needs.stream === true ? canStream(endpoint, usedFeatures(needs)) : endpoint.jsonMode || needs.jsonObject !== true

const usedFeatures = ({ jsonObject = false, structuredOutput, tools }: Requirements): UsedFeatures => ({
  json_object: jsonObject,
  json_schema: structuredOutput,
  tools
})

/** Tokens of the context window that are reserved for the answer when the client sets no output limit. */
const outputReserve = { none: 1_024, low: 2_048, high: 8_192 } as const satisfies Record<ReasoningTier, number>

/** The reserve never takes more than this share of a context window, so that small windows still accept prompts. */
const maxReserveShare = 0.5

/** An output limit above the endpoint's own counts as the endpoint's own. */
const fitsContextWindow = (
  model: Model,
  endpoint: Endpoint,
  { outputLimit, promptTokens, tier }: Requirements
): boolean => {
  const reserve = outputReserve[tier === undefined ? "low" : effectiveTier(model, tier)]
  const output = outputLimit ?? Math.min(reserve, endpoint.contextWindow * maxReserveShare)
  return promptTokens + Math.min(output, endpoint.maxOutputTokens) <= endpoint.contextWindow
}

/**
 * The tier at which `model` would serve the request: the requested one if it serves that, else that of the level which
 * stands in. When the request leaves the tier open, it is the cheapest that the model serves.
 */
export const effectiveTier = (model: Model, tier: ReasoningTier | undefined): ReasoningTier => {
  if (tier === undefined || tier === "none") return servesTier(model, "none") ? "none" : "low"
  if (servesTier(model, tier)) return tier
  if (model.reasoning.support === "none") return "none"
  const other = tier === "low" ? "high" : "low"
  return servesTier(model, other) ? other : tier
}

/**
 * The models that stand in when none is eligible, of those that break no rule but the reasoning tier: the ones that can
 * reason at all, or else every one, if the catalog has no model of that tier or the request has image or audio input.
 * Reasoning that the client switched off is never relaxed, since it must not be billed.
 */
export const standIns = (
  models: ReadonlyArray<Model>,
  offTier: ReadonlyArray<Model>,
  needs: Requirements
): ReadonlyArray<Model> => {
  const { tier } = needs
  if (tier === undefined || tier === "none") return []
  const reasoning = offTier.filter((model) => model.reasoning.support !== "none")
  if (reasoning.length > 0) return reasoning
  return needs.image || needs.audio || !models.some((model) => servesTier(model, tier)) ? offTier : []
}

/**
 * How far the thinking that `model` would do is from what was asked for: 0 when the asked level or budget is forwarded
 * unchanged, 1 when it becomes a budget or a neighbouring level, more the farther away the level is.
 */
export const thinkingDeviation = (
  { reasoning }: Model,
  { effort, outputLimit, thinkingBudget }: Requirements
): number => {
  if (reasoning.support === "none") return effort === undefined && thinkingBudget === undefined ? 0 : noThinking
  const budget = budgetWithin(reasoning, outputLimit)
  if (thinkingBudget !== undefined) {
    const takesIt = budget !== undefined && thinkingBudget >= budget.min && thinkingBudget <= budget.max
    return takesIt ? 0 : budget !== undefined || reasoning.efforts.length > 0 ? 1 : noLevel
  }
  if (effort === undefined) return 0
  const nearest = nearestEffort(effort, reasoning.efforts)
  if (nearest !== undefined) return levelsApart(effort, nearest)
  return budget === undefined ? noLevel : 1
}

/** Deviations beyond that of any level: a model that reasons as it likes, and one that cannot reason. */
const noLevel = 10
const noThinking = 20
