/** A chat request as it enters the gateway: what was asked, of which model, under which label. */
import type { ChatRequest } from "../domain/Conversation.ts"
import type { ReasoningFields } from "../domain/Reasoning.ts"

export interface ChatInput {
  /** The model of a direct call; `undefined` lets the router choose. */
  readonly model: string | undefined
  /** Without `reasoning`, which depends on whether the request is routed. */
  readonly request: Omit<ChatRequest, "reasoning">
  readonly reasoning: ReasoningFields
  readonly stream: boolean
  readonly callName: string | undefined
}
