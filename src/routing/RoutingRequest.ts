/** What the router is asked: a conversation, its size, and the models it may go to. */
import type { ChatRequest } from "../domain/Conversation.ts"
import type { ModelId } from "../domain/Ids.ts"

export interface RoutingRequest {
  readonly request: ChatRequest
  /** Estimated size of the prompt. */
  readonly promptTokens: number
  /** The key's allowlist; `undefined` allows every model. */
  readonly allowed: ReadonlySet<ModelId> | undefined
}
