/**
 * How Claude is asked to think, by Anthropic's own API and by Bedrock alike: by a budget or by an effort, depending on
 * the model. It never thinks beside a forced tool, nor in a tool loop whose first call this model did not sign.
 */
import { forcesTool } from "../../../../domain/Conversation.ts"
import type { WireCall } from "../../Protocol.ts"
import { claudeThinkingFrom } from "../ReasoningDetails.ts"
import { type EffortLevel, type Thinking, thinkingOf } from "./Thinking.ts"

/** The beta that knows `block_binding`. */
export const thinkingBindingBeta = "thinking-binding-controls-2026-08-01"

/** The `thinking` member. */
export type ClaudeThinkingParameter =
  | { readonly type: "disabled" }
  | {
      /** For models that are steered by an effort. */
      readonly type: "adaptive"
      readonly display: "omitted" | "summarized"
      readonly block_binding: ClaudeBlockBinding | undefined
    }
  | {
      readonly type: "enabled"
      /** At least 1,024, and less than `max_tokens`. */
      readonly budget_tokens: number
      readonly display: "omitted" | "summarized"
      readonly block_binding: ClaudeBlockBinding | undefined
    }

/** What happens to thinking whose conversation has changed since it was signed. */
export interface ClaudeBlockBinding {
  readonly prefix_mismatch_behavior: "drop_block"
}

/** Thinking as this call can have it. */
export const claudeThinking = (call: WireCall): Thinking => {
  const thinking = thinkingOf(call)
  if (thinking.state !== "on") return thinking
  const unsigned = thinking.budget !== undefined && inUnsignedLoop(call)
  return forcesTool(call.request) || unsigned ? { state: "off" } : thinking
}

/** True when a tool result is to be answered, and the call it belongs to came without this model's thinking. */
const inUnsignedLoop = (call: WireCall): boolean => {
  const last = call.request.messages.findLast((message) => message.role !== "tool" && message.role !== "system")
  return last?.role === "assistant" && last.toolCalls.length > 0 && claudeThinkingFrom(call, last).length === 0
}

/** Only models from 4.7 on, which are those that know `xhigh`, accept `block_binding`. */
export const controlsThinkingBinding = ({ model }: WireCall, thinking: Thinking): boolean =>
  thinking.state === "on" && thinking.budget === undefined && model.reasoning.efforts.includes("xhigh")

/** `undefined` where the model's own default is what the request asks for. */
export const claudeThinkingParameter = (call: WireCall, thinking: Thinking): ClaudeThinkingParameter | undefined => {
  const { budgetTokens, support } = call.model.reasoning
  if (thinking.state === "off") return support === "optional" ? { type: "disabled" } : undefined
  if (thinking.state === "unset" || (budgetTokens !== undefined && thinking.budget === undefined)) return undefined
  const display = call.request.reasoning?.exclude === true ? "omitted" : "summarized"
  const block_binding = controlsThinkingBinding(call, thinking)
    ? ({ prefix_mismatch_behavior: "drop_block" } as const)
    : undefined
  return thinking.budget === undefined
    ? { type: "adaptive", display, block_binding }
    : { type: "enabled", budget_tokens: thinking.budget, display, block_binding }
}

/** The effort that steers a model without a budget. */
export const claudeEffort = (thinking: Thinking): EffortLevel | undefined =>
  thinking.state === "on" && thinking.budget === undefined ? thinking.effort : undefined
