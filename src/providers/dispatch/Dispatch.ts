/**
 * The only way to the providers. A request that holds credit is sent to its targets in order until one of them answers,
 * and nothing that has already reached the client is ever repeated.
 */
import { Clock, Context, Effect, Exit, Layer, References, Scope } from "effect"

import type { CompletionEvent } from "../../domain/Completion.ts"
import type { ChatRequest } from "../../domain/Conversation.ts"
import type { EmbeddingRequest, Embeddings } from "../../domain/Embedding.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { EndpointId, HeldRequestId } from "../../domain/Ids.ts"
import type { Transcript, TranscriptionRequest } from "../../domain/Transcription.ts"
import * as Usage from "../../domain/Usage.ts"
import { ImageFetch } from "../images/ImageFetch.ts"
import { protocols } from "../protocols/Protocols.ts"
import { HttpTransport } from "../transport/HttpTransport.ts"
import { defaultTimeouts } from "../transport/Timeouts.ts"
import * as ChatTranscription from "./ChatTranscription.ts"
import { CircuitBreakers } from "./CircuitBreakers.ts"
import { healthMetricsLayer, makeDispatchCounts } from "./DispatchMetrics.ts"
import { inOnePiece } from "./EventPackets.ts"
import { failover } from "./Failover.ts"
import { defaultFailoverLimits, type FailoverLimits } from "./FailoverRules.ts"
import { makeFailureLog } from "./FailureLog.ts"
import type { EventPackets, Exhausted, ProviderAnswer } from "./ProviderAnswer.ts"
import { type ChatCallInput, ProviderClient, type ProviderClientOptions } from "./ProviderClient.ts"
import { ProviderHealth } from "./ProviderHealth.ts"
import type { Target } from "./Target.ts"
import type { Spanned } from "./TargetCall.ts"

export interface ChatDispatch {
  /** Proves that credit is held for the request: only the ledger makes such an id. */
  readonly held: HeldRequestId
  readonly request: ChatRequest
  /** In order of preference, with the endpoints of one model next to each other. */
  readonly targets: readonly [Target, ...Array<Target>]
  /** An opaque key for the provider's cache affinity, bound to the organization. Never the client's own session id. */
  readonly affinity?: string
  /** Smaller output limits than that of the request, for endpoints at which the hold pays for no more. */
  readonly outputLimits?: ReadonlyMap<EndpointId, number>
}

export interface TranscriptionDispatch {
  /** Proves that credit is held for the request. */
  readonly held: HeldRequestId
  readonly request: TranscriptionRequest
  /** In order of preference. A chat model that takes audio is asked for a transcript. */
  readonly targets: readonly [Target, ...Array<Target>]
}

export interface EmbeddingDispatch {
  /** Proves that credit is held for the request. */
  readonly held: HeldRequestId
  readonly request: EmbeddingRequest
  /** In order of preference, all of one model: the vectors of two models have nothing in common. */
  readonly targets: readonly [Target, ...Array<Target>]
}

export class Dispatch extends Context.Service<
  Dispatch,
  {
    /** A plain answer as a list of events. One of them is its `finish`. */
    readonly complete: (call: ChatDispatch) => Effect.Effect<ProviderAnswer<ReadonlyArray<CompletionEvent>>, Exhausted>
    /**
     * A streamed answer, once its first output has arrived; until then, failures fail over. The stream begins with that
     * output and ends after `finish`. If it breaks, it fails with the target's failure. The connection lives in the
     * scope.
     */
    readonly open: (call: ChatDispatch) => Effect.Effect<ProviderAnswer<EventPackets>, Exhausted, Scope.Scope>
    /** The text of a recording. It is empty when nobody speaks. */
    readonly transcribe: (call: TranscriptionDispatch) => Effect.Effect<ProviderAnswer<Transcript>, Exhausted>
    /** One vector for each input. */
    readonly embed: (call: EmbeddingDispatch) => Effect.Effect<ProviderAnswer<Embeddings>, Exhausted>
  }
>()("tollgate/providers/dispatch/Dispatch") {
  /** Over any transport, circuit breakers and image downloads. */
  static readonly layerWith = (options: ProviderClientOptions & { readonly limits: FailoverLimits }) =>
    Layer.effect(
      Dispatch,
      Effect.suspend(() => make(options))
    ).pipe(Layer.provide(ProviderClient.layer(options)))

  /** With the health of the providers that it calls. */
  static readonly layer = this.layerWith({
    protocols,
    timeouts: defaultTimeouts,
    limits: defaultFailoverLimits
  }).pipe(
    Layer.merge(healthMetricsLayer),
    Layer.provideMerge(ProviderHealth.layer),
    Layer.provide([HttpTransport.layer(), CircuitBreakers.layer, ImageFetch.layer()])
  )
}

const make = Effect.fnUntraced(function* ({
  limits,
  timeouts
}: Pick<ProviderClientOptions, "timeouts"> & { readonly limits: FailoverLimits }) {
  const breakers = yield* CircuitBreakers
  const client = yield* ProviderClient
  const images = yield* ImageFetch
  const log = makeFailureLog()
  const counts = yield* makeDispatchCounts
  const clock = yield* Clock.Clock
  const spanned = yield* makeSpanned
  const common = { limits, longestCall: timeouts.call, clock, breakers, log, counts, spanned }

  const inputOf = (call: ChatDispatch): ChatCallInput => ({
    ...call,
    inlined: onceNeeded(() => images.inlined(call.request))
  })

  return Dispatch.of({
    complete: (call) => {
      const input = inputOf(call)
      const attempt = (target: Target) => client.complete(target, input)
      const answer = failover({ ...common, targets: call.targets, dispatched: call, attempt, refusal: refused })
      return spanned("Dispatch.complete", answer)
    },
    open: Effect.fnUntraced(function* (call) {
      const scope = yield* Effect.scope
      const input = inputOf(call)
      const attempt = (target: Target) =>
        Effect.map(keptIn(scope, client.open(target, input)), (events): EventPackets => {
          const whenBroken = (failure: Failure) =>
            Effect.andThen(log.streamBroke(call, target, failure), breakers.countFailure(target.endpoint.id, failure))
          return { ...events, end: () => Effect.tapError(events.end(), whenBroken) }
        })
      const refusal = inOnePiece(refused)
      const answer = failover({ ...common, targets: call.targets, dispatched: call, attempt, refusal })
      return yield* spanned("Dispatch.open", answer)
    }),
    transcribe: (call) => {
      const { request, targets } = call
      const chatRequest = onceNeeded(() => Effect.sync(() => ChatTranscription.transcriptionChat(request)))
      const attempt = (target: Target) => client.transcribe(target, { request, chatRequest })
      return spanned("Dispatch.transcribe", failover({ ...common, targets, dispatched: call, attempt }))
    },
    embed: (call) => {
      const attempt = (target: Target) => client.embed(target, call.request)
      return spanned("Dispatch.embed", failover({ ...common, targets: call.targets, dispatched: call, attempt }))
    }
  })
})

/** Without a collector nobody would see a span, so none is made. */
const makeSpanned = Effect.map(
  References.TracerEnabled,
  (isTraced): Spanned =>
    (name, effect, options) =>
      isTraced ? Effect.withSpan(effect, name, options?.()) : effect
)

/** What `make` gives is computed at most once, and not at all if no target needs it. */
const onceNeeded = <A, E>(make: () => Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let cached: Effect.Effect<A, E> | undefined
  return Effect.suspend(
    () =>
      cached ??
      Effect.flatMap(Effect.cached(make()), (effect) => {
        cached = effect
        return effect
      })
  )
}

/** A provider that refuses the content charges nothing and writes nothing. That is an answer, not a failure. */
const refused: ReadonlyArray<CompletionEvent> = [
  { type: "usage", usage: Usage.none },
  { type: "finish", reason: "content_filter" }
]

/** Keeps what `open` acquires for as long as `scope` lives, but releases it at once if `open` fails. */
const keptIn = <A, E>(scope: Scope.Scope, open: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Scope.fork(scope), (child) =>
      restore(Scope.provide(open, child)).pipe(Effect.onError((cause) => Scope.close(child, Exit.failCause(cause))))
    )
  )
