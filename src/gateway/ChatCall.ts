/**
 * A chat request on its way through the gateway: its id, who sent it and what it asks for. It is made from a body that
 * was read and checked, so nothing that sees it has to check the body again.
 */
import type { Caller } from "../domain/Caller.ts"
import type { Choices } from "../domain/Choices.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { RequestId } from "../domain/Ids.ts"
import type { ReasoningFields } from "../domain/Reasoning.ts"
import type { Adjustment } from "../providers/protocols/Adjustments.ts"

/** The body of a chat request, translated from its wire form. */
export interface ChatInput {
  /** The model of a direct call; `undefined` lets the router choose. */
  readonly model: string | undefined
  /** The name in the request, where the protocol of the client has `model` stand for it. */
  readonly sentModel?: string
  /** Lacks `reasoning`, because its default depends on whether the request is routed. */
  readonly request: Omit<ChatRequest, "reasoning">
  /** The client's reasoning fields, before they are normalised. */
  readonly reasoning: ReasoningFields
  readonly stream: boolean
  readonly callName: string | undefined
  /** Whom the caller's own service is working for. */
  readonly endUserId?: string | undefined
  /** What no model gets as it was sent, named in the answer beside what the model which answers does not get. */
  readonly ignored?: ReadonlyArray<Adjustment>
  /** No target may get a parameter changed or not at all. */
  readonly strict?: true
  /** What the request asks of the choice of its model and provider. */
  readonly choices?: Choices | undefined
}

/** One chat request of one caller. */
export interface ChatCall {
  /** Also the id of the hold, the charge and the receipt. */
  readonly id: RequestId
  /** Whether an earlier try, with the same Idempotency-Key, may have been charged under this id. */
  readonly mayBeCharged?: boolean
  readonly caller: Caller
  readonly input: ChatInput
}
