/**
 * The one way to the providers: a request that holds credit goes to the first of its targets that answers, and nothing
 * that already reached the client is ever repeated.
 */
import { Context, Effect, Exit, Layer, Scope, Stream } from "effect"

import type { ChatProtocolName } from "../../catalog/Model.ts"
import type { CompletionEvent } from "../../domain/Completion.ts"
import type { ChatRequest } from "../../domain/Conversation.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { HeldRequestId } from "../../domain/Ids.ts"
import type { Transcript, TranscriptionRequest } from "../../domain/Transcription.ts"
import * as Usage from "../../domain/Usage.ts"
import { ImageFetch } from "../images/ImageFetch.ts"
import type { Protocol } from "../protocols/Protocol.ts"
import { protocols } from "../protocols/Protocols.ts"
import { HttpTransport } from "../transport/HttpTransport.ts"
import * as Timeouts from "../transport/Timeouts.ts"
import * as ChatTranscription from "./ChatTranscription.ts"
import { CircuitBreakers } from "./CircuitBreakers.ts"
import { failover } from "./Failover.ts"
import * as Failover from "./FailoverRules.ts"
import type { Exhausted, ProviderAnswer } from "./ProviderAnswer.ts"
import * as Upstream from "./ProviderCalls.ts"
import type { Target } from "./Target.ts"

export interface ChatDispatch {
  /** Nobody can ask a provider without a hold: nothing else has this. */
  readonly held: HeldRequestId
  readonly request: ChatRequest
  /** In order of preference, endpoints of one model beside each other. */
  readonly targets: readonly [Target, ...Array<Target>]
  /** An opaque, organization-bound key for the provider's cache affinity; never the client's own session id. */
  readonly affinity?: string
}

export interface TranscriptionDispatch {
  readonly held: HeldRequestId
  readonly request: TranscriptionRequest
  /** In order of preference. A model that converses transcribes when it is asked to. */
  readonly targets: readonly [Target, ...Array<Target>]
}

export class Dispatch extends Context.Service<
  Dispatch,
  {
    /** A plain answer, as the events it folds from; one of them is its `finish`. */
    readonly complete: (call: ChatDispatch) => Effect.Effect<ProviderAnswer<ReadonlyArray<CompletionEvent>>, Exhausted>
    /**
     * A streamed answer, after its first output has arrived: until then failures fail over. The stream begins with that
     * output, ends after `finish`, and fails with the target's failure if it breaks. The connection lives in the scope.
     */
    readonly open: (
      call: ChatDispatch
    ) => Effect.Effect<ProviderAnswer<Stream.Stream<CompletionEvent, Failure>>, Exhausted, Scope.Scope>
    /** The text of a recording; empty when nobody speaks. */
    readonly transcribe: (call: TranscriptionDispatch) => Effect.Effect<ProviderAnswer<Transcript>, Exhausted>
  }
>()("tollgate/providers/dispatch/Dispatch") {
  /** Over any transport and breakers. */
  static readonly layerWith = (options: {
    readonly protocols: Record<ChatProtocolName, Protocol>
    readonly timeouts: Timeouts.Timeouts
    readonly limits: Failover.FailoverLimits
  }) =>
    Layer.effect(
      Dispatch,
      Effect.suspend(() => make(options))
    )

  static readonly layer = this.layerWith({
    protocols,
    timeouts: Timeouts.defaultTimeouts,
    limits: Failover.defaultFailoverLimits
  }).pipe(Layer.provide([HttpTransport.layer(), CircuitBreakers.layer, ImageFetch.layer()]))
}

const make = Effect.fnUntraced(function* (options: Parameters<typeof Dispatch.layerWith>[0]) {
  const breakers = yield* CircuitBreakers
  const upstream = yield* Upstream.makeProviderCalls(options.protocols, options.timeouts)
  const images = yield* ImageFetch
  const { limits } = options
  const questionOf = (call: ChatDispatch): Effect.Effect<Upstream.ChatCallInput> =>
    Effect.map(Effect.cached(images.inlined(call.request)), (inlined) => ({ ...call, inlined }))
  return Dispatch.of({
    complete: Effect.fn("Dispatch.complete")(function* (call) {
      const question = yield* questionOf(call)
      const attempt = (target: Target) => upstream.complete(target, question)
      return yield* failover({ targets: call.targets, limits, breakers, attempt, refusal: refused })
    }),
    open: Effect.fn("Dispatch.open")(function* (call) {
      const scope = yield* Effect.scope
      const question = yield* questionOf(call)
      const attempt = (target: Target) =>
        Effect.map(keptIn(scope, upstream.open(target, question)), (events) =>
          Stream.fromPull(Effect.succeed(events)).pipe(
            Stream.tapError((failure) => breakers.countFailure(target.endpoint.id, failure))
          )
        )
      return yield* failover({
        targets: call.targets,
        limits,
        breakers,
        attempt,
        refusal: Stream.fromIterable(refused)
      })
    }),
    transcribe: Effect.fn("Dispatch.transcribe")(function* ({ request, targets }) {
      const question = yield* Effect.cached(Effect.sync(() => ChatTranscription.questionOf(request)))
      const attempt = (target: Target) => upstream.transcribe(target, { request, question })
      return yield* failover({ targets, limits, breakers, attempt })
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
