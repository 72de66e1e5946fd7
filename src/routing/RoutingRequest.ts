/**
 * What the router is given, and the features that it derives from it. Models are ranked by the features alone. They
 * hold no text of the conversation, so they may be logged, and the request can be ranked again later with another
 * catalog.
 */
import type { Model } from "../catalog/Model.ts"
import { type ChatRequest, forcesTool, modalitiesOf } from "../domain/Conversation.ts"
import type { ModelId } from "../domain/Ids.ts"
import { type Effort, isOptOut, type ReasoningTier, reasoningTierOf } from "../domain/Reasoning.ts"
import { audioTokens } from "../domain/TokenCount.ts"
import type { Demand, DemandModel } from "./Demand.ts"

/** A request to be routed. */
export interface RoutingRequest {
  readonly request: ChatRequest
  /** Estimated size of the prompt in tokens. */
  readonly promptTokens: number
  /** The chat models with the prices that the caller is charged, where these are not the catalog's. */
  readonly models?: ReadonlyArray<Model>
  /** The model allowlist of the API key; `undefined` allows every model. */
  readonly allowed: ReadonlySet<ModelId> | undefined
  /** True for a request whose answer is streamed. */
  readonly stream?: boolean
  /** False for a model that would get some parameter changed or not at all. Models that take all of them come first. */
  readonly takesParameters?: (model: Model) => boolean
  /** True for a model that may not be used, because the client insists on all parameters. By default there is none. */
  readonly refuses?: (model: Model) => boolean
  /** From 0, the cheapest model, to 1, the best. Absent as `balanced`. */
  readonly costQuality?: number
}

/** The trade between cost and quality of a request that does not say. */
export const balanced = 0.5

/** What a model must support to serve a request. Derived once per request, because conversations can be long. */
export interface Requirements {
  readonly image: boolean
  readonly audio: boolean
  readonly tools: boolean
  readonly forcedTool: boolean
  readonly structuredOutput: boolean
  /** The answer must be JSON of any shape. */
  readonly jsonObject?: boolean
  /** The answer is streamed. */
  readonly stream?: boolean
  /** `undefined` when the request leaves the reasoning tier open. */
  readonly tier: ReasoningTier | undefined
  /** The level of effort that was asked for; absent when reasoning is off, open or asked for by a budget. */
  readonly effort?: Effort
  /** The thinking budget in tokens that was asked for without an effort. */
  readonly thinkingBudget?: number
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
  /** Absent as `balanced`. */
  readonly costQuality?: number
}

export const featuresOf = (routingRequest: RoutingRequest, demandModel: DemandModel): RequestFeatures => {
  const needs = requirementsOf(routingRequest)
  const demand = needs.image || needs.audio ? undefined : demandModel.predict(routingRequest.request)
  const { costQuality } = routingRequest
  return { needs, demand, ...(costQuality !== undefined && { costQuality }) }
}

export const requirementsOf = ({ promptTokens, request, stream }: RoutingRequest): Requirements => ({
  ...modalitiesOf(request),
  tools: request.tools.length > 0 || hasToolHistory(request),
  forcedTool: forcesTool(request),
  structuredOutput: request.responseFormat.type === "json_schema",
  ...(request.responseFormat.type === "json_object" && { jsonObject: true }),
  ...(stream === true && { stream }),
  tier: reasoningTierOf(request.reasoning),
  ...askedThinking(request),
  promptTokens,
  audioTokens: audioTokens(request),
  outputLimit: request.maxOutputTokens
})

/** The level or the budget that the request names, unless it switches reasoning off. */
const askedThinking = ({ reasoning }: ChatRequest): Pick<Requirements, "effort" | "thinkingBudget"> => {
  if (reasoning === undefined || isOptOut(reasoning)) return {}
  if (reasoning.effort !== undefined) return { effort: reasoning.effort }
  return reasoning.maxTokens === undefined || reasoning.maxTokens <= 0 ? {} : { thinkingBudget: reasoning.maxTokens }
}

/**
 * Earlier tool calls and their results are sent to the model too, so it must support tools even if this turn has none.
 */
const hasToolHistory = (request: ChatRequest): boolean =>
  request.messages.some(
    (message) => message.role === "tool" || (message.role === "assistant" && message.toolCalls.length > 0)
  )
