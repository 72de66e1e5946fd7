/**
 * What a model must be able to do before it is compared with others. These are hard rules: a model that breaks one is
 * never called, however good or cheap it is.
 */
import { type Endpoint, type Model, servesTier } from "../catalog/Model.ts"
import { type ChatRequest, forcesTool, modalitiesOf } from "../domain/Conversation.ts"
import { type Tier, tierOf } from "../domain/Reasoning.ts"
import type { Ask, Exclusion } from "./Router.ts"

/** Room kept for an answer whose length the client left open, in tokens. */
const answerReserve = { none: 1_024, low: 2_048, high: 8_192 } as const satisfies Record<Tier, number>

/** What all models are measured against; worked out once per request, since conversations are long. */
export interface Requirements {
  readonly image: boolean
  readonly audio: boolean
  readonly tools: boolean
  readonly forcedTool: boolean
  readonly structuredOutput: boolean
  readonly tier: Tier | undefined
  readonly promptTokens: number
  readonly outputTokens: number
  readonly allowed: Ask["allowed"]
}

export const requirementsOf = ({ allowed, promptTokens, request }: Ask): Requirements => {
  const tier = tierOf(request.reasoning)
  return {
    ...modalitiesOf(request),
    tools: request.tools.length > 0 || hasToolHistory(request),
    forcedTool: forcesTool(request),
    structuredOutput: request.responseFormat.type === "json_schema",
    tier,
    promptTokens,
    outputTokens: request.maxOutputTokens ?? answerReserve[tier ?? "low"],
    allowed
  }
}

/**
 * The first rule that `model` breaks; `undefined` when it is a candidate. The tier comes last, so that
 * `reasoning_tier` means that everything else fits. An open tier restricts nothing.
 */
export const exclusionOf = (model: Model, needs: Requirements): Exclusion | undefined => {
  if (needs.allowed !== undefined && !needs.allowed.has(model.id)) return "not_allowed"
  if (needs.image && !model.modalities.image) return "image_input"
  if (needs.audio && !model.modalities.audio) return "audio_input"
  if (needs.tools && !model.tools) return "tools"
  if (needs.forcedTool && !model.forcedToolChoice) return "forced_tool_choice"
  if (needs.structuredOutput && !model.structuredOutput) return "structured_output"
  if (!model.endpoints.some((endpoint) => fits(endpoint, needs))) return "context_window"
  if (needs.tier !== undefined && !servesTier(model, needs.tier)) return "reasoning_tier"
  return undefined
}

/** A limit above what an endpoint can write asks for no more than it can. */
export const fits = (endpoint: Endpoint, needs: Requirements): boolean =>
  needs.promptTokens + Math.min(needs.outputTokens, endpoint.maxOutputTokens) <= endpoint.contextWindow

/** Earlier calls and their results go to the model as well, also when this turn offers no tools. */
const hasToolHistory = (request: ChatRequest): boolean =>
  request.messages.some(
    (message) => message.role === "tool" || (message.role === "assistant" && message.toolCalls.length > 0)
  )
