/**
 * Ranked failover: the targets are called in order until one of them answers. It is an `ExecutionPlan` with a step per
 * target. A step retries its target on a schedule, inside the target's circuit breaker, so that a breaker counts one
 * outcome per target and request. The retries are therefore not the plan's own, which would run outside the breaker,
 * and whose schedule would also delay the first try of every step but the first.
 *
 * Nothing here depends on what is asked: plain answers, streams and transcriptions fail over alike.
 */
import { Array as Arr, Context, Duration, Effect, ExecutionPlan, Order, Result } from "effect"

import type { Attempt } from "../../domain/Attempt.ts"
import { type Failure, transient } from "../../domain/Failure.ts"
import type { CircuitBreakers, CircuitOpen } from "./CircuitBreakers.ts"
import type { DispatchCounts } from "./DispatchMetrics.ts"
import * as FailoverRules from "./FailoverRules.ts"
import type { DispatchedRequest, FailureLog } from "./FailureLog.ts"
import { Exhausted, type ProviderAnswer } from "./ProviderAnswer.ts"
import type { Target } from "./Target.ts"

export interface FailoverOptions<A> {
  /** In order of preference. */
  readonly targets: readonly [Target, ...Array<Target>]
  readonly limits: FailoverRules.FailoverLimits
  readonly breakers: CircuitBreakers["Service"]
  readonly attempt: (target: Target) => Effect.Effect<A, Failure>
  readonly log: FailureLog
  readonly counts: DispatchCounts
  /** For the log. */
  readonly dispatched: DispatchedRequest
  /** The answer when a provider refuses the content. Without it, a refusal is a failure. */
  readonly refusal?: A
}

/** What has happened so far to one request. */
interface Progress {
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

/** What the plan provides to a step. */
class CurrentStep extends Context.Service<
  CurrentStep,
  {
    readonly target: Target
    /** The targets that are ranked after it. */
    readonly fallbacks: ReadonlyArray<Target>
  }
>()("tollgate/providers/dispatch/Failover/CurrentStep") {}

/**
 * The answer of the first target that gives one. If every breaker is open, the target that would be called again first
 * is called at once, but never one that limits our rate and has said for how long.
 */
export const failover = <A>(options: FailoverOptions<A>): Effect.Effect<ProviderAnswer<A>, Exhausted> =>
  Effect.suspend(() => {
    const { breakers, counts, limits, targets } = options
    const progress: Progress = { attempts: [], failures: [], skipped: [], tries: 0 }
    const mayAnswer = (target: Target) => FailoverRules.mayAnswer(target, progress.failures)

    const plan = ExecutionPlan.make(
      ...Arr.map(targets, (target, index) => ({
        provide: Context.make(CurrentStep, { target, fallbacks: targets.slice(index + 1) }),
        attempts: 1,
        // Decides whether this step runs, which the first step always does.
        while: () => progress.tries < limits.tries && mayAnswer(target)
      }))
    )
    const step = Effect.flatMap(CurrentStep, ({ fallbacks, target }) =>
      callTarget(options, progress, target, () => fallbacks.some(mayAnswer)).pipe(
        (call) => breakers.guard(target.endpoint.id, call),
        Effect.tapError((error) => {
          recordError(progress, target, error)
          if (error._tag === "CircuitOpen") {
            counts.skipped(target)
            return Effect.void
          }
          const hasNext = progress.tries < limits.tries && fallbacks.some(mayAnswer)
          if (hasNext) counts.failedOver(target, error)
          return logFailure(options, progress, target, error, hasNext)
        })
      )
    )
    return step.pipe(
      Effect.withExecutionPlan(plan),
      Effect.catch(() => afterPlan(options, progress)),
      Effect.timeoutOrElse({
        duration: limits.deadline,
        orElse: () => exhausted(options, progress, transient("timeout", "No provider answered in time."))
      })
    )
  })

/** Calls one target in spite of its breaker, if the breakers have prevented every call. */
const afterPlan = <A>(options: FailoverOptions<A>, progress: Progress) => {
  const callable = progress.skipped.filter(({ isRateLimit }) => !isRateLimit)
  const soonest = Arr.sort(callable, byRetryAfter)[0]
  if (progress.failures.length > 0 || soonest === undefined) return exhausted(options, progress)
  const { target } = soonest
  return Effect.catch(
    callTarget(options, progress, target, () => false),
    (failure) =>
      Effect.andThen(
        logFailure(options, progress, target, failure, false),
        Effect.suspend(() => exhausted(options, progress, failure))
      )
  )
}

const byRetryAfter = Order.mapInput(Duration.Order, (skipped: Progress["skipped"][number]) => skipped.retryAfter)

/** Calls one target, and again on its retry schedule while that is worth it. */
const callTarget = <A>(
  { attempt, counts, limits, refusal }: FailoverOptions<A>,
  progress: Progress,
  target: Target,
  hasFallback: () => boolean
) =>
  Effect.suspend(() => {
    progress.tries++
    return attempt(target)
  }).pipe(
    Effect.withSpan("Dispatch.attempt", {
      kind: "client",
      attributes: { endpoint: target.endpoint.id, model: target.model.id }
    }),
    Effect.result,
    Effect.timed,
    Effect.flatMap(([latency, result]) => {
      const failure = Result.isFailure(result) ? result.failure : undefined
      progress.attempts.push(attemptOf(target, latency, failure))
      counts.called(target, failure)
      return Effect.fromResult(result)
    }),
    Effect.retry({
      schedule: FailoverRules.retrySchedule(limits),
      times: limits.triesPerTarget - 1,
      while: (failure) => progress.tries < limits.tries && FailoverRules.mayRetry(failure, hasFallback(), limits)
    }),
    Effect.catch((failure) =>
      failure.reason._tag === "Refused" && refusal !== undefined ? Effect.succeed(refusal) : Effect.fail(failure)
    ),
    Effect.map((value): ProviderAnswer<A> => ({ target, attempts: progress.attempts, value }))
  )

const attemptOf = (target: Target, latency: Duration.Duration, failure: Failure | undefined): Attempt => ({
  model: target.model.id,
  endpoint: target.endpoint.id,
  outcome: failure === undefined ? "answered" : failure.reason._tag,
  ...(failure?.status !== undefined && { status: failure.status }),
  ...(failure !== undefined && { message: failure.message }),
  latencyMillis: Duration.toMillis(latency)
})

const recordError = (progress: Progress, target: Target, error: Failure | CircuitOpen): void => {
  if (error._tag === "Failure") {
    progress.failures.push({ target, failure: error })
    return
  }
  progress.skipped.push({ target, retryAfter: error.retryAfter, isRateLimit: error.isRateLimit })
  progress.attempts.push({
    model: target.model.id,
    endpoint: target.endpoint.id,
    outcome: "skipped",
    latencyMillis: 0
  })
}

const logFailure = <A>(
  { dispatched, log }: FailoverOptions<A>,
  { attempts }: Progress,
  target: Target,
  failure: Failure,
  hasNext: boolean
) => {
  const ofTarget = attempts.filter(({ endpoint }) => endpoint === target.endpoint.id)
  const latencyMillis = ofTarget.at(-1)?.latencyMillis ?? 0
  return log.targetFailed(dispatched, { target, failure, tries: ofTarget.length, latencyMillis }, hasNext)
}

/** No target is left. `final` is a failure that comes after those of the plan. */
const exhausted = <A>(
  { dispatched, log }: FailoverOptions<A>,
  { attempts, failures, skipped }: Progress,
  final?: Failure
) => {
  const all = [...failures.map(({ failure }) => failure), ...(final ? [final] : [])]
  const waits = skipped.filter(({ isRateLimit }) => isRateLimit).map(({ retryAfter }) => retryAfter)
  const rateLimited = FailoverRules.commonRateLimit(all, waits)
  const last = all.at(-1) ?? (rateLimited && transient("rate_limited", "The provider limits our rate.", rateLimited))
  if (last === undefined) return Effect.die("A failover ended without an answer and without a failure")
  const end = { last, attempts: attempts.length, isRateLimited: rateLimited !== undefined }
  return Effect.andThen(
    log.exhausted(dispatched, end),
    Effect.fail(new Exhausted({ last, attempts, ...(rateLimited && { rateLimited }) }))
  )
}
