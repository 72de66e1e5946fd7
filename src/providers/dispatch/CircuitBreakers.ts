/**
 * Circuit breakers, one per endpoint. A closed breaker lets calls through, an open one rejects them, and a half-open
 * one lets a single probe through, which closes or reopens it. What the client did (left, sent an invalid request) is
 * never counted.
 *
 * One policy decides when a breaker opens: when half of the last calls failed, or at once when a failure says how long
 * it will last (a 429 with `retry-after`, a refused account). Effect's `CircuitBreaker` cannot do both. It takes one
 * trip policy, either a rate or a number of failures in a row, and neither looks at `retryAfter`: the hint never opens
 * a circuit. It can only lengthen an opening, while a rate limit often ends sooner than `openDuration`. So this service
 * applies its policy to Effect's `CircuitBreakerStore`, which keeps the state of each circuit. That is also cheaper:
 * `CircuitBreaker` replays the schedule of `openDuration` after every success.
 *
 * The wait that a rate limit asks for is kept beside the breaker, because a breaker forgets why it opened, and ignores
 * calls that end after it has: until the wait is over nobody calls the endpoint, not even when nothing else is left.
 */
import { Clock, Context, Data, Duration, Effect, Exit, Layer, Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"

import { type Failure, isRateLimit, policyOf } from "../../domain/Failure.ts"
import type { EndpointId } from "../../domain/Ids.ts"
import { type CallExit, type EndpointHealth, EndpointHistory, failureIn } from "./EndpointHealth.ts"
import type { OutOfTime } from "./FailoverRules.ts"

/** The endpoint was not called because its breaker is open, or half-open with its probe still running. */
export class CircuitOpen extends Data.TaggedError("CircuitOpen")<{
  /** Until the next call is let through; zero while a probe is running. */
  readonly retryAfter: Duration.Duration
  /** The provider limits our rate until then: a call would only be refused. */
  readonly isRateLimit: boolean
}> {}

/** Opens a breaker when at least half of the last 10 calls failed, and no fewer than 5 were made. */
const countedCalls = 10
const failureRate = CircuitBreaker.rate({ threshold: 0.5, minimumCalls: 5, size: countedCalls })
/** The first opening. Each probe that fails doubles it, up to the longest. */
const firstOpening = Duration.seconds(5)
const longestOpening = Duration.minutes(1)

/** Opens a breaker that is closed at once. */
const singleFailure = CircuitBreaker.consecutive(1)
/** Limits for the opening that a provider requests with `retry-after`. */
const shortestRequestedOpening = Duration.seconds(1)
const longestRequestedOpening = Duration.minutes(15)
/** The opening after our account was refused: a person has to replace a key or pay a bill. */
const refusedAccountOpening = Duration.minutes(5)

export class CircuitBreakers extends Context.Service<
  CircuitBreakers,
  {
    /** Runs a call and counts its outcome. A call that the breaker rejects is not run and fails with `CircuitOpen`. */
    readonly guard: <A, R>(
      endpoint: EndpointId,
      call: Effect.Effect<A, Failure | OutOfTime, R>
    ) => Effect.Effect<A, Failure | OutOfTime | CircuitOpen, R>
    /** Counts a failure that came after its call had succeeded, such as a stream that broke. */
    readonly countFailure: (endpoint: EndpointId, failure: Failure) => Effect.Effect<void>
    /** What this process knows of an endpoint at this moment. */
    readonly health: (endpoint: EndpointId) => EndpointHealth
  }
>()("tollgate/providers/dispatch/CircuitBreakers") {
  /** The breakers of this process. Each replica notices a fault for itself, within a few calls. */
  static readonly layer = Layer.effect(
    CircuitBreakers,
    Effect.gen(function* () {
      const store = yield* CircuitBreaker.CircuitBreakerStore
      const clock = yield* Clock.Clock
      const scope = yield* Effect.scope
      const history = new EndpointHistory()
      const streaks = new SuccessStreaks()
      const runSync = Effect.runSyncWith(yield* Effect.context<never>())
      /** Until when an endpoint limits our rate, in milliseconds since 1970. The catalog bounds the endpoints. */
      const limitedUntil = new Map<EndpointId, number>()

      const checkLimit = (endpoint: EndpointId) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const waitMillis = (limitedUntil.get(endpoint) ?? now) - now
          if (waitMillis > 0)
            return Effect.fail(new CircuitOpen({ retryAfter: Duration.millis(waitMillis), isRateLimit: true }))
          limitedUntil.delete(endpoint)
          return Effect.void
        })

      const noteLimit = (endpoint: EndpointId, wait: Duration.Duration) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const until = now + Duration.toMillis(wait)
          limitedUntil.set(endpoint, Math.max(limitedUntil.get(endpoint) ?? 0, until))
        })

      const admit = (endpoint: EndpointId) => {
        // A store in memory acquires nothing. Another one would need a scope for each call.
        const admission = Effect.catch(Scope.provide(store.admit(endpoint), scope), rejected)
        return limitedUntil.has(endpoint) ? Effect.andThen(checkLimit(endpoint), admission) : admission
      }

      const record = (endpoint: EndpointId, admission: CircuitBreaker.Admission, exit: CallExit) => {
        const failure = failureIn(exit)
        history.note(endpoint, exit, clock.currentTimeMillisUnsafe())
        if (streaks.changesNothing(endpoint, admission, exit)) return Effect.void
        const requested = failure && requestedOpening(failure)
        const outcome = store.record({
          key: endpoint,
          generation: admission.generation,
          outcome: outcomeOf(exit, failure),
          tripPolicy: requested === undefined ? failureRate : singleFailure,
          openFor: openingOf(admission, failure, requested)
        })
        const recorded = Effect.matchEffect(outcome, {
          onFailure: Effect.die,
          onSuccess: (transition) => (transition === undefined ? Effect.void : logTransition(transition))
        })
        return requested !== undefined && failure !== undefined && isRateLimit(failure)
          ? Effect.andThen(noteLimit(endpoint, requested), recorded)
          : recorded
      }

      const guard = <A, R>(endpoint: EndpointId, call: Effect.Effect<A, Failure | OutOfTime, R>) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(admit(endpoint), (admission) =>
            Effect.onExit(restore(call), (exit) => record(endpoint, admission, exit))
          )
        )

      const countFailure = (endpoint: EndpointId, failure: Failure) =>
        Effect.ignore(guard(endpoint, Effect.fail(failure)))

      const health = (endpoint: EndpointId): EndpointHealth => {
        const limited = (limitedUntil.get(endpoint) ?? 0) - clock.currentTimeMillisUnsafe()
        const state = runSync(Effect.orDie(store.state(endpoint)))
        return { ...breakerOf(state, Math.max(0, limited)), ...history.of(endpoint) }
      }

      return CircuitBreakers.of({ guard, countFailure, health })
    })
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

/**
 * The successes in a row that the breakers have counted. A closed breaker whose counted calls have all succeeded is the
 * same after another success, so that one is not recorded: nearly every call of a provider that is well.
 */
class SuccessStreaks {
  /** A breaker has another generation after each change of its state. */
  private readonly streaks = new Map<EndpointId, { readonly generation: number; successes: number }>()

  /** Whether a call that ends is such a success. Otherwise it is to be recorded. */
  changesNothing(endpoint: EndpointId, { generation, probe }: CircuitBreaker.Admission, exit: CallExit): boolean {
    if (probe || !Exit.isSuccess(exit)) {
      this.streaks.delete(endpoint)
      return false
    }
    const streak = this.streaks.get(endpoint)
    if (streak?.generation === generation) return streak.successes++ >= countedCalls
    this.streaks.set(endpoint, { generation, successes: 1 })
    return false
  }
}

/** A breaker that opened stays so for a second at least, which bounds these lines. */
const logTransition = (transition: CircuitBreaker.Transition): Effect.Effect<void> => {
  const endpoint = transition.key
  if (transition.to === "HalfOpen") return Effect.void
  return transition.to === "Closed"
    ? Effect.annotateLogs(Effect.logInfo("A circuit breaker closed"), { endpoint })
    : Effect.logWarning("A circuit breaker opened").pipe(
        Effect.annotateLogs({
          endpoint,
          openMillis: Duration.toMillis(transition.retryAfter),
          openings: transition.consecutiveOpenings
        })
      )
}

/** An open breaker whose time is over lets the next call through as its probe, as a half-open one does. */
const breakerOf = (state: CircuitBreaker.State, limitedMillis: number) => {
  const openMillis = state._tag === "Open" ? Duration.toMillis(state.retryAfter) : 0
  const isHalfOpen = state._tag !== "Closed" && openMillis === 0
  return {
    breaker: openMillis > 0 || limitedMillis > 0 ? "open" : isHalfOpen ? "half_open" : "closed",
    retryAfterMillis: Math.max(openMillis, limitedMillis),
    isRateLimited: limitedMillis > 0
  } as const
}

/** How long a breaker stays open after it has opened `consecutiveOpenings` times before. */
const openingAfter = (consecutiveOpenings: number): Duration.Duration =>
  Duration.min(Duration.times(firstOpening, 2 ** consecutiveOpenings), longestOpening)

const outcomeOf = (exit: CallExit, failure: Failure | undefined): CircuitBreaker.Outcome["_tag"] => {
  if (Exit.isSuccess(exit)) return "Success"
  return failure !== undefined && policyOf(failure).providerFault ? "Failure" : "Ignored"
}

/** For how long this failure opens a closed breaker at once, if it does. */
const requestedOpening = ({ reason }: Failure): Duration.Duration | undefined => {
  if (reason._tag === "Credentials") return refusedAccountOpening
  return reason._tag === "Transient" && reason.retryAfter !== undefined
    ? Duration.clamp(reason.retryAfter, { minimum: shortestRequestedOpening, maximum: longestRequestedOpening })
    : undefined
}

/**
 * How long the breaker stays open if this outcome opens it. A rate limit lasts as long as it says. After any other
 * probe that failed, the wait also grows; a refused account is probed more often, since somebody may have mended it.
 */
const openingOf = (
  { consecutiveOpenings, probe }: CircuitBreaker.Admission,
  failure: Failure | undefined,
  requested: Duration.Duration | undefined
): Duration.Duration => {
  const growing = openingAfter(consecutiveOpenings)
  if (requested === undefined || failure === undefined) return growing
  if (!probe || isRateLimit(failure)) return requested
  return failure.reason._tag === "Credentials" ? growing : Duration.max(requested, growing)
}

const rejected = ({ reason }: CircuitBreaker.CircuitBreakerError): Effect.Effect<never, CircuitOpen> =>
  reason._tag === "CircuitBreakerStoreError"
    ? Effect.die(reason)
    : Effect.fail(
        new CircuitOpen({
          retryAfter: reason._tag === "CircuitOpen" ? reason.retryAfter : Duration.zero,
          isRateLimit: false
        })
      )
