/**
 * Why one attempt at a target failed, as a closed type. Dispatch decides from it alone whether to try again, to go to
 * another target, or to tell the client; the breaker decides from it whether the provider was at fault.
 */
import { Data, type Duration } from "effect"

export type FailureReason =
  /** Load, timeouts, network, 5xx, a broken stream, an error inside a 200: the next target may well answer. */
  | {
      readonly _tag: "Transient"
      readonly kind: "rate_limited" | "overloaded" | "timeout" | "network" | "server" | "broken"
      /** How long the provider asked us to wait. */
      readonly retryAfter?: Duration.Duration
    }
  /** Our account with the provider is at fault: bad key, no quota, spend limit. Never shown as the client's fault. */
  | { readonly _tag: "Credentials" }
  /** The request is invalid for every provider; the message is the provider's and goes to the client. */
  | { readonly _tag: "Invalid" }
  /** The prompt is too long for this model. */
  | { readonly _tag: "ContextTooLong" }
  /** This model or endpoint cannot do what was asked (model missing, parameter or input not supported). */
  | { readonly _tag: "Unsupported" }
  /** The provider refused the content. */
  | { readonly _tag: "Refused" }

/** One failed attempt. `message` is safe to show: no key, no prompt. */
export class Failure extends Data.TaggedError("Failure")<{
  readonly reason: FailureReason
  readonly message: string
  /** HTTP status of the provider, when there was one. */
  readonly status?: number
}> {}

/** What may follow a failure. */
export interface Policy {
  /** The same target may answer if asked again. */
  readonly retrySame: boolean
  /** Another target may answer. */
  readonly failOver: boolean
  /** Counts against the endpoint's breaker. */
  readonly providerFault: boolean
}

/** The total table of consequences. */
export const policies = {
  Transient: { retrySame: true, failOver: true, providerFault: true },
  Credentials: { retrySame: false, failOver: true, providerFault: true },
  Invalid: { retrySame: false, failOver: false, providerFault: false },
  ContextTooLong: { retrySame: false, failOver: true, providerFault: false },
  Unsupported: { retrySame: false, failOver: true, providerFault: false },
  Refused: { retrySame: false, failOver: false, providerFault: false }
} as const satisfies Record<FailureReason["_tag"], Policy>

export const policyOf = (failure: Failure): Policy => policies[failure.reason._tag]

export const transient = (
  kind: Extract<FailureReason, { _tag: "Transient" }>["kind"],
  message: string,
  detail: { readonly status?: number; readonly retryAfter?: Duration.Duration } = {}
): Failure =>
  new Failure({
    reason: { _tag: "Transient", kind, ...(detail.retryAfter && { retryAfter: detail.retryAfter }) },
    message,
    ...(detail.status !== undefined && { status: detail.status })
  })

/** A stream or body that ended or read otherwise than its protocol allows. */
export const broken = (message: string): Failure => transient("broken", message)
