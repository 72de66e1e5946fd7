/**
 * Why one attempt at a target failed, as a closed type. It alone decides whether the same target is tried again,
 * whether another target is tried, and whether the failure counts against the circuit breaker of the endpoint.
 */
import { Data, type Duration } from "effect"

/** Why an attempt failed, by what may help against it. */
export type FailureReason =
  /**
   * Overload, a timeout, the network, a 5xx, a broken stream, an error inside a 200: another target may well answer.
   */
  | {
      readonly _tag: "Transient"
      readonly kind: "rate_limited" | "overloaded" | "timeout" | "network" | "server" | "broken"
      /** How long the provider asked us to wait. */
      readonly retryAfter?: Duration.Duration
      /** No connection was made, so that nothing of the request has arrived. */
      readonly unreachable?: true
    }
  /** Our account at the provider is at fault: a bad key, no quota, a spend limit. The client is never blamed for it. */
  | { readonly _tag: "Credentials" }
  /** The request is invalid for every provider. The message is the provider's and goes to the client. */
  | { readonly _tag: "Invalid" }
  /** The prompt is too long for this model. */
  | { readonly _tag: "ContextTooLong" }
  /** This model or endpoint cannot do what was asked: it does not know the model, or does not support a parameter. */
  | {
      readonly _tag: "Unsupported"
      /** The provider does not have the model. The catalog says that it does, so the client is not to blame. */
      readonly isModelMissing?: true
    }
  /** The answer is not the JSON that the request guarantees its client. */
  | { readonly _tag: "Nonconforming" }
  /** The provider refused the content. */
  | { readonly _tag: "Refused" }

/** One failed attempt. `message` may be shown to the client: it never contains a key. */
export class Failure extends Data.TaggedError("Failure")<{
  readonly reason: FailureReason
  readonly message: string
  /** The provider's HTTP status, if it answered. */
  readonly status?: number
  /** The member of the request that the provider blames, such as `reasoning.summary`. */
  readonly parameter?: string
}> {}

/** What may follow a failure. */
export interface FailurePolicy {
  /** The same target may answer if asked again. */
  readonly retrySame: boolean
  /** Another target may answer. */
  readonly failOver: boolean
  /** It counts against the circuit breaker of the endpoint. */
  readonly providerFault: boolean
}

const policies = {
  Transient: { retrySame: true, failOver: true, providerFault: true },
  Credentials: { retrySame: false, failOver: true, providerFault: true },
  Invalid: { retrySame: false, failOver: false, providerFault: false },
  ContextTooLong: { retrySame: false, failOver: true, providerFault: false },
  Unsupported: { retrySame: false, failOver: true, providerFault: false },
  Nonconforming: { retrySame: true, failOver: true, providerFault: false },
  Refused: { retrySame: false, failOver: false, providerFault: false }
} as const satisfies Record<FailureReason["_tag"], FailurePolicy>

/** What may follow this failure. It depends on the reason alone. */
export const policyOf = (failure: Failure): FailurePolicy => policies[failure.reason._tag]

/** What reports call a failure: the kind of a transient one, and the reason of any other. */
export const failureClass = ({ reason }: Failure): string => (reason._tag === "Transient" ? reason.kind : reason._tag)

/** True when the provider limits our rate, whatever words it has for that. */
export const isRateLimit = ({ reason, status }: Failure): boolean =>
  reason._tag === "Transient" && (reason.kind === "rate_limited" || status === 429)

/** True when no connection to the provider was made. */
export const isUnreachable = ({ reason }: Failure): boolean =>
  reason._tag === "Transient" && reason.unreachable === true

/** True when the client is told of the failure, because it can do something about it. */
export const isBlamedOnClient = ({ reason, status }: Failure): boolean => {
  switch (reason._tag) {
    case "Invalid":
    case "ContextTooLong":
    case "Refused":
      return true
    case "Unsupported":
      // A model that the catalog says the provider has is not the client's fault.
      return status !== 404 && reason.isModelMissing !== true
    case "Transient":
    case "Credentials":
    case "Nonconforming":
      return false
  }
}

/** A failure after which another attempt may succeed. */
export const transient = (
  kind: Extract<FailureReason, { _tag: "Transient" }>["kind"],
  message: string,
  detail: { readonly status?: number; readonly retryAfter?: Duration.Duration; readonly unreachable?: true } = {}
): Failure =>
  new Failure({
    reason: {
      _tag: "Transient",
      kind,
      ...(detail.retryAfter && { retryAfter: detail.retryAfter }),
      ...(detail.unreachable && { unreachable: true })
    },
    message,
    ...(detail.status !== undefined && { status: detail.status })
  })

/** The failure of an answer that its protocol does not allow: malformed, incomplete or too large. */
export const broken = (message: string): Failure => transient("broken", message)
