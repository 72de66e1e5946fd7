/** What a failure leaves to try: the rules of failover as pure functions, with the limits they work within. */
import { Duration, Effect, Schedule } from "effect"

import { type Failure, policyOf } from "../../domain/Failure.ts"
import type { Target } from "./Target.ts"

export interface FailoverLimits {
  /** Calls to providers per request, over all targets. */
  readonly tries: number
  /** Calls in a row to one target. */
  readonly triesPerTarget: number
  /** The longest wait before the same target is tried again; a provider that asks for more is left. */
  readonly longestWait: Duration.Duration
  /** The first wait, doubled each time and jittered. */
  readonly backoff: Duration.Duration
  /** From the first call until some target answers. */
  readonly deadline: Duration.Duration
}

export const defaultFailoverLimits: FailoverLimits = {
  tries: 8,
  triesPerTarget: 2,
  longestWait: Duration.seconds(2),
  backoff: Duration.millis(200),
  deadline: Duration.minutes(15)
}

/** The targets that may still answer after `failed` did not, in their order. */
export const remaining = (failed: Target, others: ReadonlyArray<Target>, failure: Failure): ReadonlyArray<Target> => {
  if (!policyOf(failure).failOver) return []
  return failure.reason._tag === "ContextTooLong"
    ? others.filter(({ endpoint }) => endpoint.contextWindow > failed.endpoint.contextWindow)
    : others
}

/**
 * True when the same target is worth another try. A rate limit or a timeout moves on at once where another target
 * exists, and so does a wait that is longer than our patience.
 */
export const mayRetryTarget = (failure: Failure, hasOthers: boolean, patience: Duration.Duration): boolean => {
  if (!policyOf(failure).retrySame || failure.reason._tag !== "Transient") return false
  const { kind, retryAfter } = failure.reason
  if (hasOthers && (kind === "rate_limited" || kind === "timeout")) return false
  return retryAfter === undefined || Duration.isLessThanOrEqualTo(retryAfter, patience)
}

/** Exponential waits with jitter, never shorter than the provider asked for. */
export const backoffFrom = (first: Duration.Duration) =>
  Schedule.exponential(first).pipe(
    Schedule.jittered,
    Schedule.setInputType<Failure>(),
    Schedule.modifyDelay(({ input, duration }) =>
      Effect.succeed(Duration.max(duration, retryAfterOf(input) ?? Duration.zero))
    )
  )

/** How long a rate-limited client waits when no provider said. */
const unknownWait = Duration.seconds(1)

const retryAfterOf = ({ reason }: Failure): Duration.Duration | undefined =>
  reason._tag === "Transient" ? reason.retryAfter : undefined

/** The shortest wait, when a rate limit is all that any target answered. */
export const rateLimitOf = (
  verdicts: ReadonlyArray<Failure>
): { readonly retryAfter: Duration.Duration } | undefined =>
  verdicts.length > 0 && verdicts.every(({ reason }) => reason._tag === "Transient" && reason.kind === "rate_limited")
    ? { retryAfter: verdicts.map((verdict) => retryAfterOf(verdict) ?? unknownWait).reduce(Duration.min) }
    : undefined
