/**
 * What the router is given, and the features that it derives from it. Models are ranked by the features alone. They
 * hold no text of the conversation, so they may be logged, and the request can be ranked again later with another
 * catalog.
 */
import { type ChatRequest, forcesTool, modalitiesOf } from "../domain/Conversation.ts"
import type { ModelId } from "../domain/Ids.ts"
import { type ReasoningTier, reasoningTierOf } from "../domain/Reasoning.ts"
import { audioTokens } from "../domain/TokenCount.ts"
import type { Demand, DemandModel } from "./Demand.ts"

/** A request to be routed. */
export interface RoutingRequest {
  readonly request: ChatRequest
  /** Estimated size of the prompt in tokens. */
  readonly promptTokens: number
  /** The model allowlist of the API key; `undefined` allows every model. */
  readonly allowed: ReadonlySet<ModelId> | undefined
}

/** What a model must support to serve a request. Derived once per request, because conversations can be long. */
export interface Requirements {
  readonly image: boolean
  readonly audio: boolean
  readonly tools: boolean
  readonly forcedTool: boolean
  readonly structuredOutput: boolean
  /** `undefined` when the request leaves the reasoning tier open. */
  readonly tier: ReasoningTier | undefined
  /** Estimated size of the prompt in tokens, of which `audioTokens` are audio. */
  readonly promptTokens: number
  readonly audioTokens: number
  /** The client's limit on output tokens; `undefined` when it set none. */
  readonly outputLimit: number | undefined
}

/** Everything that models are ranked by. */
export interface RequestFeatures {
  readonly needs: Requirements
  /** `undefined` for a conversation with images or audio, whose demand is not predicted. */
  readonly demand: Demand | undefined
}

export const featuresOf = (routingRequest: RoutingRequest, demandModel: DemandModel): RequestFeatures => {
  const needs = requirementsOf(routingRequest)
  return { needs, demand: needs.image || needs.audio ? undefined : demandModel.predict(routingRequest.request) }
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
 * Earlier tool calls and their results are sent to the model too, so it must support tools even if this turn has none.
 */
const hasToolHistory = (request: ChatRequest): boolean =>
  request.messages.some(
    (message) => message.role === "tool" || (message.role === "assistant" && message.toolCalls.length > 0)
  )
