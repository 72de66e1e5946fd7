/**
 * Ranked failover. Walks the targets in order until one answers; a failure that another target may not share moves on.
 * Retries, breakers and the deadline are the same whatever is asked.
 */
import { Array as Arr, Duration, Effect, Order, Result } from "effect"

import type { Attempt } from "../../domain/Attempt.ts"
import { type Failure, transient } from "../../domain/Failure.ts"
import type { CircuitBreakers, CircuitOpen } from "./CircuitBreakers.ts"
import * as Failover from "./FailoverRules.ts"
import { Exhausted, type ProviderAnswer } from "./ProviderAnswer.ts"
import type { Target } from "./Target.ts"

export interface Walk<A> {
  readonly targets: readonly [Target, ...Array<Target>]
  readonly limits: Failover.FailoverLimits
  readonly health: CircuitBreakers["Service"]
  readonly attempt: (target: Target) => Effect.Effect<A, Failure>
  /** The answer when a provider refuses the content. Left out, the refusal is a failure. */
  readonly refusal?: A
}

/** What a walk has learned so far. */
interface Journal {
  readonly attempts: Array<Attempt>
  /** The last failure of each target that was called. */
  readonly verdicts: Array<Failure>
  /** Targets that were passed by, with the time until their breaker opens. */
  readonly resting: Array<{ readonly target: Target; readonly opensIn: Duration.Duration }>
  tries: number
}

/** The answer of the first target that gives one. When all of them rest, the one that rests least is called anyway. */
export const walk = Effect.fnUntraced(function* <A>(options: Walk<A>) {
  const { limits, health } = options
  const journal: Journal = { attempts: [], verdicts: [], resting: [], tries: 0 }
  const visits = Effect.gen(function* () {
    let ahead: ReadonlyArray<Target> = options.targets
    while (Arr.isReadonlyArrayNonEmpty(ahead) && journal.tries < limits.tries) {
      const target = Arr.headNonEmpty(ahead)
      const others = Arr.tailNonEmpty(ahead)
      const call = visit(options, journal, target, others.length > 0)
      const outcome = yield* Effect.result(health.guard(target.endpoint.id, call))
      if (Result.isSuccess(outcome)) return outcome.success
      ahead = outcome.failure._tag === "Failure" ? Failover.remaining(target, others, outcome.failure) : others
      note(journal, target, outcome.failure)
    }
    const least = Arr.sort(journal.resting, byRest)[0]
    if (journal.verdicts.length > 0 || least === undefined) return yield* exhausted(journal)
    return yield* visit(options, journal, least.target, false).pipe(
      Effect.tapError((failure) => Effect.sync(() => note(journal, least.target, failure))),
      Effect.catch(() => exhausted(journal))
    )
  })
  return yield* Effect.timeoutOrElse(visits, {
    duration: limits.deadline,
    orElse: () => {
      journal.verdicts.push(transient("timeout", "No provider answered in time."))
      return exhausted(journal)
    }
  })
})

const byRest = Order.mapInput(Duration.Order, ({ opensIn }: { readonly opensIn: Duration.Duration }) => opensIn)

/** Calls one target, again if a second try is worth it. */
const visit = <A>({ limits, attempt, refusal }: Walk<A>, journal: Journal, target: Target, hasOthers: boolean) =>
  Effect.suspend(() => {
    journal.tries++
    return attempt(target)
  }).pipe(
    Effect.withSpan("Dispatch.attempt", {
      kind: "client",
      attributes: { endpoint: target.endpoint.id, model: target.model.id }
    }),
    Effect.result,
    Effect.timed,
    Effect.flatMap(([latency, result]) => {
      journal.attempts.push(attemptOf(target, latency, Result.isFailure(result) ? result.failure : undefined))
      return Effect.fromResult(result)
    }),
    Effect.retry({
      schedule: Failover.backoffFrom(limits.backoff),
      times: limits.triesPerTarget - 1,
      while: (failure) =>
        journal.tries < limits.tries && Failover.mayRetryTarget(failure, hasOthers, limits.longestWait)
    }),
    Effect.catch((failure) =>
      failure.reason._tag === "Refused" && refusal !== undefined ? Effect.succeed(refusal) : Effect.fail(failure)
    ),
    Effect.tapError((failure) => alarm(target, failure)),
    Effect.map((value): ProviderAnswer<A> => ({ target, attempts: journal.attempts, value }))
  )

const attemptOf = (target: Target, latency: Duration.Duration, failure: Failure | undefined): Attempt => ({
  model: target.model.id,
  endpoint: target.endpoint.id,
  outcome: failure === undefined ? "answered" : failure.reason._tag,
  ...(failure?.status !== undefined && { status: failure.status }),
  ...(failure !== undefined && { message: failure.message }),
  latencyMillis: Duration.toMillis(latency)
})

const note = (journal: Journal, target: Target, error: Failure | CircuitOpen): void => {
  if (error._tag === "Failure") {
    journal.verdicts.push(error)
    return
  }
  journal.resting.push({ target, opensIn: error.retryAfter })
  journal.attempts.push({
    model: target.model.id,
    endpoint: target.endpoint.id,
    outcome: "skipped",
    latencyMillis: 0
  })
}

/** An account that is refused needs a person: the request went elsewhere, so nobody else would notice. */
const alarm = (target: Target, failure: Failure) =>
  failure.reason._tag === "Credentials"
    ? Effect.logError("A provider refused our account").pipe(
        Effect.annotateLogs({ provider: target.endpoint.provider, status: failure.status })
      )
    : Effect.void

const exhausted = ({ attempts, verdicts }: Journal) => {
  const last = verdicts.at(-1)
  if (last === undefined) return Effect.die("A walk ended without an answer and without a failure")
  const rateLimited = Failover.rateLimitOf(verdicts)
  return Effect.fail(new Exhausted({ last, attempts, ...(rateLimited && { rateLimited }) }))
}
