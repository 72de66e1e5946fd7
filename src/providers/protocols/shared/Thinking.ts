/**
 * How much one call shall think, in the terms of the model that is called. The wish of the request never fails here: it
 * becomes the nearest thing the model can do, because routing has already kept to models of the asked tier.
 */
import type { ReasoningAbility } from "../../../catalog/Model.ts"
import { type Effort, effortOfBudget, isOptOut, nearestEffort } from "../../../domain/Reasoning.ts"
import type { WireCall } from "../Protocol.ts"

export type EffortLevel = ReasoningAbility["efforts"][number]

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

/** Budgets in tokens for models that know no levels; a convention, not a vendor's fact. */
const budgetOfEffort = {
  none: 0,
  minimal: 1_024,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768
} as const satisfies Record<Effort, number>

/** Tokens that stay for the visible answer beside a thinking budget. */
const answerTokens = 1_024

/** The most this call may produce: what the client allows, and never more than the endpoint can. */
export const outputLimit = (call: WireCall): number =>
  Math.min(call.request.maxOutputTokens ?? call.maxOutputTokens, call.maxOutputTokens)

export const thinkingOf = (call: WireCall): Thinking => {
  const { support } = call.model.reasoning
  if (support === "none") return { state: "unset" }
  const wish = wishOf(call)
  if (wish === undefined) return support === "always" ? on(call, undefined) : { state: "unset" }
  if (wish.effort === "none") return support === "always" ? on(call, wish) : { state: "off" }
  return on(call, wish)
}

interface Wish {
  readonly effort: Effort
  readonly tokens?: number
}

const wishOf = (call: WireCall): Wish | undefined => {
  const { reasoning } = call.request
  if (reasoning === undefined) return undefined
  const { effort, enabled, maxTokens } = reasoning
  if (isOptOut(reasoning)) return { effort: "none" }
  if (maxTokens !== undefined)
    return { effort: effort ?? effortOfBudget(maxTokens, outputLimit(call)), tokens: maxTokens }
  if (effort !== undefined) return { effort }
  return enabled === true ? { effort: "medium" } : undefined
}

const on = (call: WireCall, wish: Wish | undefined): Thinking => {
  const { budgetTokens, efforts, support } = call.model.reasoning
  const effort = wish && nearestEffort(wish.effort, efforts)
  if (budgetTokens === undefined || wish === undefined) return { state: "on", ...(effort && { effort }) }
  const most = Math.min(budgetTokens.max, outputLimit(call) - answerTokens)
  if (most < budgetTokens.min) return support === "always" ? { state: "on" } : { state: "off" }
  const budget = Math.max(budgetTokens.min, Math.min(wish.tokens ?? budgetOfEffort[wish.effort], most))
  return { state: "on", budget, ...(effort && { effort }) }
}
