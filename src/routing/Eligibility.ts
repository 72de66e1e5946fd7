/**
 * Hard rules that a model must pass before it is ranked. A model that breaks one of them is never called, however good
 * or cheap it is.
 */
import { type Endpoint, type Model, servesTier } from "../catalog/Model.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"
import type { Requirements, RoutingRequest } from "./RoutingRequest.ts"

/** Why a model cannot serve a request. */
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
  if (!model.endpoints.some((endpoint) => fitsContextWindow(model, endpoint, needs))) return "context_window"
  if (needs.tier !== undefined && !servesTier(model, needs.tier)) return "reasoning_tier"
  return undefined
}

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
 * The tier at which `model` would serve the request: the requested one, or the cheapest that the model serves when the
 * request leaves it open or the model does not serve it.
 */
export const effectiveTier = (model: Model, tier: ReasoningTier | undefined): ReasoningTier =>
  tier !== undefined && servesTier(model, tier) ? tier : servesTier(model, "none") ? "none" : "low"

/**
 * Whether the tier may be ignored when it leaves no candidate: no model of the catalog serves it at all, or the request
 * has image or audio input. Two cases never relax it: reasoning that the client switched off, since it must not be
 * billed, and a tier that only the key's allowlist leaves without models.
 */
export const mayRelaxTier = (models: ReadonlyArray<Model>, needs: Requirements): boolean => {
  const { tier } = needs
  if (tier === undefined || tier === "none") return false
  if (needs.image || needs.audio) return true
  return !models.some((model) => servesTier(model, tier))
}
