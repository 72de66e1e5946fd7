/**
 * Ranked failover: the targets are called in order until one of them answers. A target is tried again on a schedule,
 * inside its circuit breaker, so that a breaker counts one outcome per target and request.
 *
 * Nearly every request is answered by its first call, so that one costs as little as it can: the schedule of retries,
 * and the race against the deadline of the whole, begin only when it has failed. A plan of Effect (`ExecutionPlan`)
 * would cost 37 operations before the first call, and the race two fibers.
 *
 * Nothing here depends on what is asked: plain answers, streams and transcriptions fail over alike.
 */
import { Array as Arr, Duration, Effect, Order, Result } from "effect"

import { type Failure, transient } from "../../domain/Failure.ts"
import type { CircuitOpen } from "./CircuitBreakers.ts"
import * as FailoverRules from "./FailoverRules.ts"
import { Exhausted, type ProviderAnswer } from "./ProviderAnswer.ts"
import type { Target } from "./Target.ts"
import { callTarget, type FailoverOptions, type Progress, within } from "./TargetCall.ts"

type StepError = Failure | CircuitOpen | FailoverRules.OutOfTime

/**
 * The answer of the first target that gives one. If every breaker is open, the target that would be called again first
 * is called at once, but never one that limits our rate and has said for how long.
 */
export const failover = <A>(options: FailoverOptions<A>): Effect.Effect<ProviderAnswer<A>, Exhausted> =>
  Effect.suspend(() => {
    const startedAtNanos = options.clock.monotonicTimeNanosUnsafe()
    const progress: Progress = { startedAtNanos, attempts: [], failures: [], skipped: [], tries: 0 }
    return Effect.catch(step(options, progress, 0), (error) =>
      error._tag === "OutOfTime"
        ? outOfTime(options, progress)
        : Effect.catchTag(
            within(options, progress, Effect.andThen(noteError(options, progress, 0, error), rest(options, progress))),
            "OutOfTime",
            () => outOfTime(options, progress)
          )
    )
  })

/** Calls the target of this rank, unless its breaker is open. */
const step = <A>(options: FailoverOptions<A>, progress: Progress, rank: number) => {
  const { breakers, targets } = options
  // A rank is an index of the targets.
  const target = targets[rank] as Target
  const call = callTarget(options, progress, target, () => hasNext(options, progress, rank), rank === 0)
  return breakers.guard(target.endpoint.id, call)
}

const mayAnswer = (target: Target, { failures }: Progress): boolean => FailoverRules.mayAnswer(target, failures)

const hasNext = <A>({ targets }: FailoverOptions<A>, progress: Progress, rank: number): boolean =>
  targets.slice(rank + 1).some((target) => mayAnswer(target, progress))

/** The targets after the first, and then perhaps one whose breaker is open. */
const rest = Effect.fnUntraced(function* <A>(
  options: FailoverOptions<A>,
  progress: Progress
): Effect.fn.Return<ProviderAnswer<A>, Exhausted | FailoverRules.OutOfTime> {
  const { limits, targets } = options
  for (const [rank, target] of targets.entries()) {
    if (rank === 0 || progress.tries >= limits.tries || !mayAnswer(target, progress)) continue
    const called = yield* Effect.result(step(options, progress, rank))
    if (Result.isSuccess(called)) return called.success
    if (called.failure._tag === "OutOfTime") return yield* called.failure
    yield* noteError(options, progress, rank, called.failure)
  }
  return yield* afterAll(options, progress)
})

const noteError = <A>(
  options: FailoverOptions<A>,
  progress: Progress,
  rank: number,
  error: Exclude<StepError, FailoverRules.OutOfTime>
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { counts, limits, targets } = options
    const target = targets[rank] as Target
    recordError(progress, target, error)
    if (error._tag === "CircuitOpen") {
      counts.skipped(target)
      return Effect.void
    }
    const isFollowed = progress.tries < limits.tries && hasNext(options, progress, rank)
    if (isFollowed) counts.failedOver(target, error)
    return logFailure(options, progress, target, error, isFollowed)
  })

const outOfTime = <A>(options: FailoverOptions<A>, progress: Progress) =>
  exhausted(options, progress, transient("timeout", "No provider answered in time."))

/** Calls one target in spite of its breaker, if the breakers have prevented every call. */
const afterAll = <A>(
  options: FailoverOptions<A>,
  progress: Progress
): Effect.Effect<ProviderAnswer<A>, Exhausted | FailoverRules.OutOfTime> => {
  const callable = progress.skipped.filter(({ isRateLimit }) => !isRateLimit)
  const soonest = Arr.sort(callable, byRetryAfter)[0]
  if (progress.failures.length > 0 || soonest === undefined) return exhausted(options, progress)
  const { target } = soonest
  return Effect.catch(
    callTarget(options, progress, target, () => false, false),
    (failure): Effect.Effect<never, Exhausted | FailoverRules.OutOfTime> =>
      failure._tag === "OutOfTime"
        ? Effect.fail(failure)
        : Effect.andThen(
            logFailure(options, progress, target, failure, false),
            Effect.suspend(() => exhausted(options, progress, failure))
          )
  )
}

const byRetryAfter = Order.mapInput(Duration.Order, (skipped: Progress["skipped"][number]) => skipped.retryAfter)

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
