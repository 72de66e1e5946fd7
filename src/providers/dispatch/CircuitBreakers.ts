/**
 * Circuit breakers, one per endpoint. An endpoint that fails on its own account rests for a while; what the client did
 * (left, sent an invalid request) never moves a breaker.
 *
 * Two policies share each circuit. Ordinary faults open it when half of the last calls failed; a fault that says how
 * long it will last (a 429 with `retry-after`, an account out of order) opens it at once and for that long.
 */
import { Context, Data, Duration, Effect, Exit, Layer, Schedule } from "effect"
import { CircuitBreaker } from "effect/persistence"

import { type Failure, policyOf } from "../../domain/Failure.ts"
import type { EndpointId } from "../../domain/Ids.ts"

/** The endpoint was not called because its breaker is open. */
export class CircuitOpen extends Data.TaggedError("Resting")<{
  /** Until a call is let through. Zero while another call probes the endpoint. */
  readonly retryAfter: Duration.Duration
}> {}

/** Opens when 5 or more of the last 10 calls failed. */
const ordinaryFaults = CircuitBreaker.rate({ threshold: 0.5, minimumCalls: 5, size: 10 })
/** The first rest, doubled each time the probe after it fails, up to the longest. */
const firstRest = Duration.seconds(5)
const longestRest = Duration.minutes(1)
/** How long an account that was refused is left alone: somebody has to fix a key or a bill. */
const accountRest = Duration.minutes(5)
/** The longest rest that a provider may ask for. */
const longestAskedRest = Duration.minutes(15)

export class CircuitBreakers extends Context.Service<
  CircuitBreakers,
  {
    /** Runs a call and counts its outcome, unless the endpoint rests. */
    readonly guard: <A, R>(
      endpoint: EndpointId,
      call: Effect.Effect<A, Failure, R>
    ) => Effect.Effect<A, Failure | CircuitOpen, R>
    /** Counts a fault that came after its call had succeeded: a stream that broke. */
    readonly report: (endpoint: EndpointId, failure: Failure) => Effect.Effect<void>
  }
>()("tollgate/providers/dispatch/CircuitBreakers/Health") {
  /** Breakers of this process. Replicas learn of a fault each on their own, within a few calls. */
  static readonly layer = Layer.effect(
    CircuitBreakers,
    Effect.gen(function* () {
      const ordinary = yield* CircuitBreaker.make({ tripPolicy: ordinaryFaults, openDuration: rests })
      const lasting = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(1),
        openDuration: "1 second",
        maxOpenDuration: longestAskedRest
      })

      const restFor = (endpoint: EndpointId, failure: Failure) => {
        const rest = restAskedBy(failure)
        return rest === undefined
          ? Effect.void
          : Effect.fail(failure).pipe(
              lasting.execute({ key: endpoint, classify: () => CircuitBreaker.failure({ retryAfter: rest }) }),
              Effect.ignore
            )
      }
      const guard = <A, R>(endpoint: EndpointId, call: Effect.Effect<A, Failure, R>) =>
        call.pipe(
          ordinary.execute({ key: endpoint, classify }),
          Effect.catchTag("CircuitBreakerError", resting),
          Effect.tapError((error) => (error._tag === "Failure" ? restFor(endpoint, error) : Effect.void))
        )
      const report = (endpoint: EndpointId, failure: Failure) => Effect.ignore(guard(endpoint, Effect.fail(failure)))
      return CircuitBreakers.of({ guard, report })
    })
  ).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
}

const rests = Schedule.min([Schedule.exponential(firstRest), Schedule.spaced(longestRest)])

const classify = <A>(exit: Exit.Exit<A, Failure>): CircuitBreaker.Outcome => {
  if (Exit.isSuccess(exit)) return CircuitBreaker.success
  const failure = Exit.findErrorOption(exit)
  return failure._tag === "Some" && policyOf(failure.value).providerFault
    ? CircuitBreaker.failure()
    : CircuitBreaker.ignored
}

const restAskedBy = (failure: Failure): Duration.Duration | undefined => {
  switch (failure.reason._tag) {
    case "Transient":
      return failure.reason.retryAfter
    case "Credentials":
      return accountRest
    default:
      return undefined
  }
}

const resting = ({ reason }: CircuitBreaker.CircuitBreakerError): Effect.Effect<never, CircuitOpen> =>
  reason._tag === "CircuitBreakerStoreError"
    ? Effect.die(reason)
    : Effect.fail(new CircuitOpen({ retryAfter: reason._tag === "CircuitOpen" ? reason.retryAfter : Duration.zero }))
