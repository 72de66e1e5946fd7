/**
 * Ranked failover. Walks the targets in order until one answers; a failure that another target may not share moves on,
 * and nothing that already reached the client is ever repeated.
 */
import { Array as Arr, Context, Data, Duration, Effect, Exit, Layer, Order, Result, Scope, Stream } from "effect"

import type { ProtocolName } from "../catalog/Model.ts"
import type { Attempt } from "../domain/Attempt.ts"
import type { CompletionEvent } from "../domain/Completion.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import { type Failure, transient } from "../domain/Failure.ts"
import type { HeldRequestId } from "../domain/Ids.ts"
import * as Usage from "../domain/Usage.ts"
import * as Failover from "./Failover.ts"
import { Health, type Resting } from "./Health.ts"
import { HttpTransport } from "./HttpTransport.ts"
import { ImageFetch } from "./ImageFetch.ts"
import type { Protocol } from "./protocols/Protocol.ts"
import { protocols } from "./protocols/Protocols.ts"
import type { Target } from "./Target.ts"
import * as Timeouts from "./Timeouts.ts"
import * as Upstream from "./Upstream.ts"

/** No target answered. `last` is the failure that ended the walk. */
export class Exhausted extends Data.TaggedError("Exhausted")<{
  readonly last: Failure
  readonly attempts: ReadonlyArray<Attempt>
  /** Set when every target was rate-limited: the shortest wait any of them asked for. */
  readonly rateLimited?: { readonly retryAfter: Duration.Duration }
}> {}

export interface Call {
  /** Nobody can ask a provider without a hold: nothing else has this. */
  readonly held: HeldRequestId
  readonly request: ChatRequest
  /** In order of preference, endpoints of one model beside each other. */
  readonly targets: readonly [Target, ...Array<Target>]
  /** An opaque, organization-bound key for the provider's cache affinity; never the client's own session id. */
  readonly affinity?: string
}

export interface Answer<A> {
  readonly target: Target
  readonly attempts: ReadonlyArray<Attempt>
  readonly value: A
}

export class Dispatch extends Context.Service<
  Dispatch,
  {
    /** A plain answer, as the events it folds from; one of them is its `finish`. */
    readonly complete: (call: Call) => Effect.Effect<Answer<ReadonlyArray<CompletionEvent>>, Exhausted>
    /**
     * A streamed answer, after its first output has arrived: until then failures fail over. The stream begins with that
     * output, ends after `finish`, and fails with the target's failure if it breaks. The connection lives in the scope.
     */
    readonly open: (
      call: Call
    ) => Effect.Effect<Answer<Stream.Stream<CompletionEvent, Failure>>, Exhausted, Scope.Scope>
  }
>()("tollgate/providers/Dispatch") {
  /** Over any transport and breakers. */
  static readonly layerWith = (options: {
    readonly protocols: Record<ProtocolName, Protocol>
    readonly timeouts: Timeouts.Timeouts
    readonly limits: Failover.Limits
  }) =>
    Layer.effect(
      Dispatch,
      Effect.suspend(() => make(options))
    )

  static readonly layer = this.layerWith({ protocols, timeouts: Timeouts.defaults, limits: Failover.defaults }).pipe(
    Layer.provide([HttpTransport.layer(), Health.layer, ImageFetch.layer()])
  )
}

const make = Effect.fnUntraced(function* (options: Parameters<typeof Dispatch.layerWith>[0]) {
  const health = yield* Health
  const upstream = yield* Upstream.make(options.protocols, options.timeouts)
  const images = yield* ImageFetch
  const { limits } = options
  const questionOf = (call: Call): Effect.Effect<Upstream.Question> =>
    Effect.map(Effect.cached(images.inlined(call.request)), (inlined) => ({ ...call, inlined }))
  return Dispatch.of({
    complete: Effect.fn("Dispatch.complete")(function* (call) {
      const question = yield* questionOf(call)
      const attempt = (target: Target) => upstream.complete(target, question)
      return yield* walk({ targets: call.targets, limits, health, attempt, refusal: refused })
    }),
    open: Effect.fn("Dispatch.open")(function* (call) {
      const scope = yield* Effect.scope
      const question = yield* questionOf(call)
      const attempt = (target: Target) =>
        Effect.map(keptIn(scope, upstream.open(target, question)), (events) =>
          Stream.fromPull(Effect.succeed(events)).pipe(
            Stream.tapError((failure) => health.report(target.endpoint.id, failure))
          )
        )
      return yield* walk({ targets: call.targets, limits, health, attempt, refusal: Stream.fromIterable(refused) })
    })
  })
})

/** A provider that refuses the content bills nothing and says nothing: that is an answer, not a failure. */
const refused: ReadonlyArray<CompletionEvent> = [
  { type: "usage", usage: Usage.none },
  { type: "finish", reason: "content_filter" }
]

/** Keeps what `open` acquires for as long as `scope` lives, but releases it at once when `open` fails. */
const keptIn = <A, E>(scope: Scope.Scope, open: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Scope.fork(scope), (own) =>
      restore(Scope.provide(open, own)).pipe(Effect.onError((cause) => Scope.close(own, Exit.failCause(cause))))
    )
  )

interface Walk<A> {
  readonly targets: Call["targets"]
  readonly limits: Failover.Limits
  readonly health: Health["Service"]
  readonly attempt: (target: Target) => Effect.Effect<A, Failure>
  /** The answer when a provider refuses the content. */
  readonly refusal: A
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
const walk = Effect.fnUntraced(function* <A>(options: Walk<A>) {
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
      while: (failure) => journal.tries < limits.tries && Failover.mayRetry(failure, hasOthers, limits.patience)
    }),
    Effect.catchIf(
      ({ reason }) => reason._tag === "Refused",
      () => Effect.succeed(refusal)
    ),
    Effect.tapError((failure) => alarm(target, failure)),
    Effect.map((value): Answer<A> => ({ target, attempts: journal.attempts, value }))
  )

const attemptOf = (target: Target, latency: Duration.Duration, failure: Failure | undefined): Attempt => ({
  model: target.model.id,
  endpoint: target.endpoint.id,
  outcome: failure === undefined ? "answered" : failure.reason._tag,
  ...(failure?.status !== undefined && { status: failure.status }),
  ...(failure !== undefined && { message: failure.message }),
  latencyMillis: Duration.toMillis(latency)
})

const note = (journal: Journal, target: Target, error: Failure | Resting): void => {
  if (error._tag === "Failure") {
    journal.verdicts.push(error)
    return
  }
  journal.resting.push({ target, opensIn: error.opensIn })
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
