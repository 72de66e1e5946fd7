/**
 * The trail a request leaves over the targets it tried. It goes into the receipt, and the last error message is made
 * from it; so it holds names, statuses and times, never a prompt, a key or a provider's answer.
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
