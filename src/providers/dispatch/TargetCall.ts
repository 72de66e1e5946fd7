/**
 * Calls one target for a request that may fail over, and again on its retry schedule while that is worth it. The first
 * call of a request is the hot path; whatever only a failure needs is made after it.
 */
import { type Clock, Duration, Effect, type Tracer } from "effect"

import type { Attempt } from "../../domain/Attempt.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { CircuitBreakers } from "./CircuitBreakers.ts"
import type { DispatchCounts } from "./DispatchMetrics.ts"
import * as FailoverRules from "./FailoverRules.ts"
import type { DispatchedRequest, FailureLog } from "./FailureLog.ts"
import type { ProviderAnswer } from "./ProviderAnswer.ts"
import type { Target } from "./Target.ts"

export interface FailoverOptions<A> {
  /** In order of preference. */
  readonly targets: readonly [Target, ...Array<Target>]
  readonly limits: FailoverRules.FailoverLimits
  /** How long a call may take by its own limits. Unless that is beyond the deadline, the first call needs no other. */
  readonly longestCall: Duration.Duration
  readonly clock: Clock.Clock
  readonly breakers: CircuitBreakers["Service"]
  readonly attempt: (target: Target) => Effect.Effect<A, Failure>
  readonly spanned: Spanned
  readonly log: FailureLog
  readonly counts: DispatchCounts
  /** For the log. */
  readonly dispatched: DispatchedRequest
  /** The answer when a provider refuses the content. Without it, a refusal is a failure. */
  readonly refusal?: A
}

/** Gives an effect its span, where spans are collected. */
export type Spanned = <A, E>(
  name: string,
  effect: Effect.Effect<A, E>,
  options?: () => Tracer.SpanOptions
) => Effect.Effect<A, E>

/** What has happened so far to one request. */
export interface Progress {
  /** On the monotonic clock. */
  readonly startedAtNanos: bigint
  readonly attempts: Array<Attempt>
  /** The last failure of each target that was called. */
  readonly failures: Array<FailoverRules.TargetFailure>
  /** Targets that were not called because of their breakers, with the time until those let a call through again. */
  readonly skipped: Array<{
    readonly target: Target
    readonly retryAfter: Duration.Duration
    readonly isRateLimit: boolean
  }>
  tries: number
}

/** Limits an effect by the deadline of the whole. */
export const within = <A, B, E>(
  { clock, limits }: FailoverOptions<A>,
  { startedAtNanos }: Progress,
  effect: Effect.Effect<B, E>
): Effect.Effect<B, E | FailoverRules.OutOfTime> => {
  const spent = Duration.nanos(clock.monotonicTimeNanosUnsafe() - startedAtNanos)
  return Effect.timeoutOrElse(effect, {
    duration: Duration.subtract(limits.deadline, spent),
    orElse: () => Effect.fail(new FailoverRules.OutOfTime())
  })
}

/** Calls one target, and again on its retry schedule while that is worth it. */
export const callTarget = <A>(
  options: FailoverOptions<A>,
  progress: Progress,
  target: Target,
  hasFallback: () => boolean,
  /** Everything after the first call of a request is limited by the deadline of the whole already. */
  isFirst: boolean
): Effect.Effect<ProviderAnswer<A>, Failure | FailoverRules.OutOfTime> => {
  const { limits, longestCall } = options
  const mayRetry = (failure: Failure) =>
    progress.tries < limits.tries && FailoverRules.mayRetry(failure, hasFallback(), limits)
  const call = callOnce(options, progress, target, Effect.fail)
  const again = (failure: Failure) => {
    let isFirstRun = true
    // The first run fails as the call did, so that the schedule waits before the second.
    const next = Effect.suspend(() => {
      if (!isFirstRun) return call
      isFirstRun = false
      return Effect.fail(failure)
    })
    const retries = Effect.retry(next, {
      schedule: FailoverRules.retrySchedule(limits),
      times: limits.triesPerTarget - 1,
      while: mayRetry
    })
    return isFirst ? within(options, progress, retries) : retries
  }
  const orAgain = (failure: Failure) =>
    limits.triesPerTarget > 1 && mayRetry(failure) ? again(failure) : Effect.fail(failure)
  const needsDeadline = isFirst && Duration.isGreaterThan(longestCall, limits.deadline)
  return needsDeadline
    ? Effect.catchTag(within(options, progress, call), "Failure", orAgain)
    : callOnce(options, progress, target, orAgain)
}

/** `whenFailed` goes on after a failure that was noted and is no answer. */
const callOnce = <A, E>(
  { attempt, clock, counts, refusal, spanned }: FailoverOptions<A>,
  progress: Progress,
  target: Target,
  whenFailed: (failure: Failure) => Effect.Effect<ProviderAnswer<A>, E>
): Effect.Effect<ProviderAnswer<A>, E> =>
  Effect.suspend(() => {
    progress.tries++
    const startedAtNanos = clock.monotonicTimeNanosUnsafe()
    const note = (failure: Failure | undefined) => {
      const latency = Duration.nanos(clock.monotonicTimeNanosUnsafe() - startedAtNanos)
      progress.attempts.push(attemptOf(target, latency, failure))
      counts.called(target, failure)
    }
    const answer = (value: A) => Effect.succeed<ProviderAnswer<A>>({ target, attempts: progress.attempts, value })
    return Effect.matchEffect(
      spanned("Dispatch.attempt", attempt(target), () => spanOf(target)),
      {
        onSuccess: (value) => {
          note(undefined)
          return answer(value)
        },
        onFailure: (failure) => {
          note(failure)
          return failure.reason._tag === "Refused" && refusal !== undefined ? answer(refusal) : whenFailed(failure)
        }
      }
    )
  })

const spanOf = ({ endpoint, model }: Target): Tracer.SpanOptions => ({
  kind: "client",
  attributes: { endpoint: endpoint.id, model: model.id }
})

const attemptOf = (target: Target, latency: Duration.Duration, failure: Failure | undefined): Attempt => ({
  model: target.model.id,
  endpoint: target.endpoint.id,
  outcome: failure === undefined ? "answered" : failure.reason._tag,
  ...(failure?.status !== undefined && { status: failure.status }),
  ...(failure !== undefined && { message: failure.message }),
  latencyMillis: Duration.toMillis(latency)
})
