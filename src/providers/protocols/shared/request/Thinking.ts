/**
 * How much one call should think, in the terms of the model that is called. What the client requested never fails here:
 * it becomes the nearest setting the model has, because routing has already kept to models of the requested tier.
 */
import type { ReasoningAbility } from "../../../../catalog/Model.ts"
import { answerTokens, type Effort, effortOfBudget, isOptOut, nearestEffort } from "../../../../domain/Reasoning.ts"
import type { WireCall } from "../../Protocol.ts"
import type { Dialect } from "../Dialects.ts"
import { outputLimit } from "./OutputLimits.ts"

/** A level that some model accepts; which ones a model accepts is in the catalog. */
export type EffortLevel = ReasoningAbility["efforts"][number]

/** What a call asks of its model. */
export type Thinking =
  /** The model cannot think, or the request leaves it to the model. */
  | { readonly state: "unset" }
  | { readonly state: "off" }
  | {
      readonly state: "on"
      /** Absent when the model knows no levels, or the request named none. */
      readonly effort?: EffortLevel
      /** Tokens, for models that are steered by a budget. */
      readonly budget?: number
    }

/** Budgets in tokens for models that know no levels. These are our convention and no vendor's fact. */
const budgetOfEffort = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768
} as const satisfies Record<Effort, number>

/** The setting of this model that is nearest to what the client requested. */
export const thinkingOf = (call: WireCall): Thinking => {
  const { support } = call.model.reasoning
  if (support === "none") return { state: "unset" }
  const requested = requestedThinking(call)
  if (requested === undefined) return support === "always" ? thinkingOn(call, undefined) : { state: "unset" }
  if (requested.effort === "none") return support === "always" ? thinkingOn(call, requested) : { state: "off" }
  return thinkingOn(call, requested)
}

interface RequestedThinking {
  readonly effort: Effort
  /** A budget in tokens, if the client gave one. */
  readonly tokens?: number
}

const requestedThinking = (call: WireCall): RequestedThinking | undefined => {
  const { reasoning } = call.request
  if (reasoning === undefined) return undefined
  const { effort, enabled, maxTokens } = reasoning
  if (isOptOut(reasoning)) return { effort: "none" }
  if (maxTokens !== undefined)
    return { effort: effort ?? effortOfBudget(maxTokens, outputLimit(call)), tokens: maxTokens }
  if (effort !== undefined) return { effort }
  return enabled === true ? { effort: "medium" } : undefined
}

const thinkingOn = (call: WireCall, requested: RequestedThinking | undefined): Thinking => {
  const { budgetTokens, efforts, support } = call.model.reasoning
  const effort = requested && nearestEffort(requested.effort, efforts)
  if (budgetTokens === undefined || requested === undefined) return { state: "on", ...(effort && { effort }) }
  const most = Math.min(budgetTokens.max, outputLimit(call) - answerTokens)
  if (most < budgetTokens.min) return support === "always" ? { state: "on" } : { state: "off" }
  const wanted = requested.tokens ?? budgetOfEffort[requested.effort]
  return { state: "on", budget: Math.max(budgetTokens.min, Math.min(wanted, most)), ...(effort && { effort }) }
}

/** The effort of OpenAI's protocols, as far as the server knows the parameter: `none` switches thinking off. */
export const openAiEffort = (dialect: Dialect, thinking: Thinking): EffortLevel | "none" | undefined => {
  if (thinking.state === "off") return dialect.effort === "levels and none" ? "none" : undefined
  return thinking.state === "on" && dialect.effort !== "none" ? thinking.effort : undefined
}
