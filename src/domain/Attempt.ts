/**
 * One attempt at a target, as the receipt of a request lists them in order. Only `message` stays out of the receipt: it
 * is the provider's own text and may quote the request.
 */
import type { FailureReason } from "./Failure.ts"
import type { EndpointId, ModelId } from "./Ids.ts"

/** An attempt that answered, failed or was skipped. */
export interface Attempt {
  readonly model: ModelId
  readonly endpoint: EndpointId
  /** A target is skipped, and not called, while its circuit breaker is open. */
  readonly outcome: "answered" | "skipped" | FailureReason["_tag"]
  /** The provider's HTTP status, if it answered with an error. */
  readonly status?: number
  readonly message?: string
  /** From the start of the attempt to its first output or its failure. Zero if it was skipped. */
  readonly latencyMillis: number
}
