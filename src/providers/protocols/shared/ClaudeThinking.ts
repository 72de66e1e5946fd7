/**
 * How Claude is asked to think, whoever serves it: by a budget or by an effort, as the model is steered, never beside a
 * forced tool, and not in a tool loop whose start it did not sign.
 */
import { forcesTool } from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall } from "../Protocol.ts"
import { detailsFrom } from "./ReasoningDetails.ts"
import { type EffortLevel, type Thinking, thinkingOf } from "./Thinking.ts"

/** The beta that knows `block_binding`. */
export const thinkingBindingBeta = "thinking-binding-controls-2026-08-01"

/** Thinking as this call can have it. */
export const claudeThinking = (call: WireCall): Thinking => {
  const thinking = thinkingOf(call)
  if (thinking.state !== "on") return thinking
  const unsigned = thinking.budget !== undefined && inUnsignedLoop(call)
  return forcesTool(call.request) || unsigned ? { state: "off" } : thinking
}

/** True when the conversation stands between a call and its answer and this model did not think before the call. */
const inUnsignedLoop = ({ origin, request }: WireCall): boolean => {
  const last = request.messages.findLast((message) => message.role !== "tool" && message.role !== "system")
  return last?.role === "assistant" && last.toolCalls.length > 0 && detailsFrom(origin, last).length === 0
}

/** Models from 4.7 on, which are those that know `xhigh`, can be told to drop blocks whose prefix has changed. */
export const controlsThinkingBinding = ({ model }: WireCall, thinking: Thinking): boolean =>
  thinking.state === "on" && thinking.budget === undefined && model.reasoning.efforts.includes("xhigh")

/** The `thinking` member, if there is one. */
export const claudeThinkingFields = (
  { model, request }: WireCall,
  thinking: Thinking,
  binding: boolean
): JsonObject => {
  const { budgetTokens, support } = model.reasoning
  if (thinking.state === "off") return support === "optional" ? { thinking: { type: "disabled" } } : {}
  if (thinking.state === "unset" || (budgetTokens !== undefined && thinking.budget === undefined)) return {}
  const display = request.reasoning?.exclude === true ? "omitted" : "summarized"
  const style =
    thinking.budget === undefined
      ? { type: "adaptive", display }
      : { type: "enabled", budget_tokens: thinking.budget, display }
  return { thinking: { ...style, ...(binding && { block_binding: { prefix_mismatch_behavior: "drop_block" } }) } }
}

/** The effort that steers a model without a budget. */
export const claudeEffort = (thinking: Thinking): EffortLevel | undefined =>
  thinking.state === "on" && thinking.budget === undefined ? thinking.effort : undefined
