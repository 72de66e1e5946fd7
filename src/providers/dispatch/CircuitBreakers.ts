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
 */
import { Context, Data, Duration, Effect, Exit, Layer, Option, Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"

import { type Failure, policyOf } from "../../domain/Failure.ts"
import type { EndpointId } from "../../domain/Ids.ts"

/** The endpoint was not called because its breaker is open, or half-open with its probe still running. */
export class CircuitOpen extends Data.TaggedError("CircuitOpen")<{
  /** Until the next call is let through; zero while a probe is running. */
  readonly retryAfter: Duration.Duration
}> {}

/** Opens a breaker when at least half of the last 10 calls failed, and no fewer than 5 were made. */
const failureRate = CircuitBreaker.rate({ threshold: 0.5, minimumCalls: 5, size: 10 })
/** The first opening. Each probe that fails doubles it, up to the longest. */
const firstOpening = Duration.seconds(5)
const longestOpening = Duration.minutes(1)

/** Opens a breaker at once. */
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
      call: Effect.Effect<A, Failure, R>
    ) => Effect.Effect<A, Failure | CircuitOpen, R>
    /** Counts a failure that came after its call had succeeded, such as a stream that broke. */
    readonly countFailure: (endpoint: EndpointId, failure: Failure) => Effect.Effect<void>
  }
>()("tollgate/providers/dispatch/CircuitBreakers") {
  /** The breakers of this process. Each replica notices a fault for itself, within a few calls. */
  static readonly layer = Layer.effect(
    CircuitBreakers,
    Effect.gen(function* () {
      const store = yield* CircuitBreaker.CircuitBreakerStore

      const admit = (endpoint: EndpointId) => Effect.catch(store.admit(endpoint), rejected)

      const count = (endpoint: EndpointId, admission: CircuitBreaker.Admission, exit: Exit.Exit<unknown, Failure>) =>
        Effect.orDie(
          store.record({
            key: endpoint,
            generation: admission.generation,
            outcome: outcomeOf(exit),
            tripPolicy: failureRate,
            openFor: openingAfter(admission.consecutiveOpenings)
          })
        )

      /** Opens a breaker that is still closed. One that counting has just opened is not admitted again. */
      const openAtOnce = (endpoint: EndpointId, openFor: Duration.Duration) =>
        admit(endpoint).pipe(
          Effect.flatMap(({ generation }) =>
            store.record({ key: endpoint, generation, outcome: "Failure", tripPolicy: singleFailure, openFor })
          ),
          Effect.scoped,
          Effect.ignore
        )

      const record = (endpoint: EndpointId, admission: CircuitBreaker.Admission, exit: Exit.Exit<unknown, Failure>) => {
        const counted = count(endpoint, admission, exit)
        const openFor = requestedOpening(exit)
        return openFor === undefined ? counted : Effect.andThen(counted, openAtOnce(endpoint, openFor))
      }

      const guard = <A, R>(endpoint: EndpointId, call: Effect.Effect<A, Failure, R>) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.scopedWith((scope) =>
            Effect.flatMap(Scope.provide(admit(endpoint), scope), (admission) =>
              Effect.onExit(restore(call), (exit) => record(endpoint, admission, exit))
            )
          )
        )

      const countFailure = (endpoint: EndpointId, failure: Failure) =>
        Effect.ignore(guard(endpoint, Effect.fail(failure)))

      return CircuitBreakers.of({ guard, countFailure })
    })
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

/** How long a breaker stays open after it has opened `consecutiveOpenings` times before. */
const openingAfter = (consecutiveOpenings: number): Duration.Duration =>
  Duration.min(Duration.times(firstOpening, 2 ** consecutiveOpenings), longestOpening)

const outcomeOf = (exit: Exit.Exit<unknown, Failure>): CircuitBreaker.Outcome["_tag"] => {
  if (Exit.isSuccess(exit)) return "Success"
  const failure = Exit.findErrorOption(exit)
  return Option.isSome(failure) && policyOf(failure.value).providerFault ? "Failure" : "Ignored"
}

/** For how long this outcome opens the breaker at once, if it does. */
const requestedOpening = (exit: Exit.Exit<unknown, Failure>): Duration.Duration | undefined => {
  const reason = Option.getOrUndefined(Exit.findErrorOption(exit))?.reason
  if (reason?._tag === "Credentials") return refusedAccountOpening
  return reason?._tag === "Transient" && reason.retryAfter !== undefined
    ? Duration.clamp(reason.retryAfter, { minimum: shortestRequestedOpening, maximum: longestRequestedOpening })
    : undefined
}

const rejected = ({ reason }: CircuitBreaker.CircuitBreakerError): Effect.Effect<never, CircuitOpen> =>
  reason._tag === "CircuitBreakerStoreError"
    ? Effect.die(reason)
    : Effect.fail(new CircuitOpen({ retryAfter: reason._tag === "CircuitOpen" ? reason.retryAfter : Duration.zero }))
