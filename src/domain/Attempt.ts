/**
 * The trail a request leaves over the targets it tried: names, statuses and times. It goes into the receipt, but for
 * `message`, which is the provider's own text and may quote the request.
 */
import type { FailureReason } from "./Failure.ts"
import type { EndpointId, ModelId } from "./Ids.ts"

export interface Attempt {
  readonly model: ModelId
  readonly endpoint: EndpointId
  readonly outcome: "answered" | "skipped" | FailureReason["_tag"]
  readonly status?: number
  readonly message?: string
  /** From the start of the attempt to its first output or its failure. */
  readonly latencyMillis: number
}
