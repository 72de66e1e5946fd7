/** What may be tried after a failure: the rules of failover as pure functions, and the limits that they apply. */
import { Data, Duration, Effect, Schedule } from "effect"

import { type Failure, isRateLimit, policyOf } from "../../domain/Failure.ts"
import type { Target } from "./Target.ts"

export interface FailoverLimits {
  /** Calls to providers per request, over all targets. */
  readonly tries: number
  /** Calls in a row to one target. */
  readonly triesPerTarget: number
  /** The longest wait before the same target is tried again. A target that asks for a longer one is not tried again. */
  readonly longestWait: Duration.Duration
  /** The first wait before the same target is tried again. It doubles each time, and is jittered. */
  readonly backoff: Duration.Duration
  /** From the first call until a target has answered. */
  readonly deadline: Duration.Duration
}

export const defaultFailoverLimits: FailoverLimits = {
  tries: 8,
  triesPerTarget: 2,
  longestWait: Duration.seconds(2),
  backoff: Duration.millis(200),
  deadline: Duration.minutes(15)
}

/** The deadline of a failover passed while a target was called, which proves nothing about the target. */
export class OutOfTime extends Data.TaggedError("OutOfTime")<{}> {}

/** The last failure of a target that was called. */
export interface TargetFailure {
  readonly target: Target
  readonly failure: Failure
}

/** True when a target may answer although others have failed. Where a prompt was too long, it needs a larger window. */
export const mayAnswer = ({ endpoint }: Target, failures: ReadonlyArray<TargetFailure>): boolean =>
  failures.every(({ failure, target }) => {
    if (failure.reason._tag === "ContextTooLong") return endpoint.contextWindow > target.endpoint.contextWindow
    return policyOf(failure).failOver
  })

/**
 * True when the same target is worth another try. After a rate limit or a timeout another target is the better choice,
 * if there is one.
 */
export const mayRetry = (failure: Failure, hasFallback: boolean, { longestWait }: FailoverLimits): boolean => {
  if (failure.reason._tag === "Nonconforming") return !hasFallback
  if (!policyOf(failure).retrySame || failure.reason._tag !== "Transient") return false
  const { kind, retryAfter } = failure.reason
  if (hasFallback && (isRateLimit(failure) || kind === "timeout")) return false
  return retryAfter === undefined || Duration.isLessThanOrEqualTo(retryAfter, longestWait)
}

/**
 * The waits between two tries of one target: exponential and jittered, but never shorter than the provider asked for.
 */
export const retrySchedule = ({ backoff }: FailoverLimits) =>
  Schedule.exponential(backoff).pipe(
    Schedule.jittered,
    Schedule.setInputType<Failure>(),
    Schedule.modifyDelay(({ input, duration }) =>
      Effect.succeed(Duration.max(duration, retryAfterOf(input) ?? Duration.zero))
    )
  )

/** How long a rate-limited client is asked to wait when no provider said. */
const defaultRetryAfter = Duration.seconds(1)

const retryAfterOf = ({ reason }: Failure): Duration.Duration | undefined =>
  reason._tag === "Transient" ? reason.retryAfter : undefined

/**
 * The shortest wait, if every target that was called failed with a rate limit. `waits` are those of targets that were
 * not called because they limit our rate.
 */
export const commonRateLimit = (
  failures: ReadonlyArray<Failure>,
  waits: ReadonlyArray<Duration.Duration>
): { readonly retryAfter: Duration.Duration } | undefined => {
  const all = [...failures.map((failure) => retryAfterOf(failure) ?? defaultRetryAfter), ...waits]
  return all.length > 0 && failures.every(isRateLimit) ? { retryAfter: all.reduce(Duration.min) } : undefined
}
