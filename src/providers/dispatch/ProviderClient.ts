/**
 * One call to one target: the target's protocol encodes the request, the transport sends it, and the protocol decodes
 * the answer. A call either succeeds or fails with a classified failure. What follows from a failure is decided
 * elsewhere, with one exception: what the account may not use is left out, and the call is made again at once.
 */
import { Array as Arr, Context, Effect, Layer, Result, type Scope } from "effect"

import { Catalog } from "../../catalog/Catalog.ts"
import {
  canStream,
  type ChatProtocolName,
  isChat,
  isEmbedding,
  isTranscription,
  type UsedFeatures
} from "../../catalog/Model.ts"
import type { ProviderAccount } from "../../catalog/Provider.ts"
import type { CompletionEvent } from "../../domain/Completion.ts"
import type { ChatRequest } from "../../domain/Conversation.ts"
import type { EmbeddingRequest, Embeddings } from "../../domain/Embedding.ts"
import { Failure, transient } from "../../domain/Failure.ts"
import type { EndpointId } from "../../domain/Ids.ts"
import type { Transcript, TranscriptionRequest } from "../../domain/Transcription.ts"
import type { Protocol, WireCall } from "../protocols/Protocol.ts"
import { embeddingProtocols, transcriptionProtocols } from "../protocols/Protocols.ts"
import { type OptionalExtra, refusedExtra, withoutExtras } from "../protocols/shared/request/OptionalExtras.ts"
import { type Exchange, HttpTransport } from "../transport/HttpTransport.ts"
import type { Timeouts } from "../transport/Timeouts.ts"
import { type Limitation, makeAccountLimitations, isPathMissing } from "./AccountLimitations.ts"
import * as ChatTranscription from "./ChatTranscription.ts"
import { afterFirstOutput, eventsOf, incomplete, inOnePiece, isFinish } from "./EventPackets.ts"
import { conforming, conformingReader } from "./JsonAnswer.ts"
import { makeNotFoundLog } from "./NotFoundLog.ts"
import type { EventPackets } from "./ProviderAnswer.ts"
import { singleExchange } from "./SingleExchange.ts"
import type { Target } from "./Target.ts"

export interface ChatCallInput {
  readonly request: ChatRequest
  /** The same request with every image as bytes. Only some targets need it; it is computed once for all of them. */
  readonly inlined: Effect.Effect<ChatRequest, Failure>
  /** The opaque key for the provider's cache affinity. */
  readonly affinity?: string
  /** Smaller output limits than that of the request. */
  readonly outputLimits?: ReadonlyMap<EndpointId, number>
}

export interface TranscriptionCallInput {
  readonly request: TranscriptionRequest
  /** The same request for a chat model that takes audio. It is computed once for all targets that need it. */
  readonly chatRequest: Effect.Effect<ChatRequest>
}

export interface ProviderClientOptions {
  readonly protocols: Record<ChatProtocolName, Protocol>
  readonly timeouts: Timeouts
}

export class ProviderClient extends Context.Service<
  ProviderClient,
  {
    /** The events of a plain answer. One of them is its `finish`. */
    readonly complete: (
      target: Target,
      input: ChatCallInput
    ) => Effect.Effect<Arr.NonEmptyReadonlyArray<CompletionEvent>, Failure>
    /**
     * The events of a stream from its beginning, once its first output or its end has arrived. An answer that the
     * endpoint must not stream comes whole.
     */
    readonly open: (target: Target, input: ChatCallInput) => Effect.Effect<EventPackets, Failure, Scope.Scope>
    /** The text of a recording, by a transcription model or by a chat model that takes audio. */
    readonly transcribe: (target: Target, input: TranscriptionCallInput) => Effect.Effect<Transcript, Failure>
    /** The vectors of some inputs, by an embedding model. */
    readonly embed: (target: Target, request: EmbeddingRequest) => Effect.Effect<Embeddings, Failure>
  }
>()("tollgate/providers/dispatch/ProviderClient") {
  static readonly layer = (options: ProviderClientOptions) => Layer.effect(ProviderClient, make(options))
}

/** A call that is ready to be sent. */
interface PreparedCall {
  readonly protocol: Protocol
  readonly protocolName: ChatProtocolName
  readonly call: WireCall
  readonly exchange: Exchange
}

/** What has to be known before a call can be sent. Unless images have to be loaded, it is known at once. */
const preparationOf = (catalog: Catalog["Service"], protocols: ProviderClientOptions["protocols"]) => {
  const accountFor = ({ endpoint }: Target): Effect.Effect<ProviderAccount, Failure> => {
    const account = catalog.account(endpoint.provider)
    return account === undefined ? Effect.fail(switchedOff) : Effect.succeed(account)
  }

  const prepare = (
    target: Target,
    input: ChatCallInput,
    stream: boolean,
    known: ReadonlySet<Limitation>
  ): Effect.Effect<PreparedCall, Failure> => {
    const { protocol: declared } = target.endpoint
    if (!isChat(declared)) return Effect.die(`${target.endpoint.id} is not for chats`)
    const protocolName = declared === "openai-responses" && known.has("no Responses API") ? "openai-chat" : declared
    const protocol = protocols[protocolName]
    const prepared = (account: ProviderAccount, request: ChatRequest): Effect.Effect<PreparedCall, Failure> => {
      const limit = input.outputLimits?.get(target.endpoint.id)
      const call: WireCall = {
        request: limit === undefined ? request : { ...request, maxOutputTokens: limit },
        ...(input.affinity !== undefined && { affinity: input.affinity }),
        stream: stream && !known.has("stream"),
        model: target.model,
        upstream: target.endpoint.upstream,
        maxOutputTokens: target.endpoint.maxOutputTokens,
        dialect: account.provider.dialect,
        origin: `${target.endpoint.provider}/${target.endpoint.upstream}`
      }
      return Effect.mapEager(Effect.fromResult(protocol.encode(call)), (encoded) => {
        const wire = known.size === 0 ? encoded : { ...encoded, body: withoutExtras(encoded.body, extrasIn(known)) }
        const exchange: Exchange = { account, wire, failure: protocol.failure }
        return { protocol, protocolName, call, exchange }
      })
    }
    return Effect.flatMapEager(accountFor(target), (account) =>
      Effect.flatMapEager(protocol.takesImageUrls ? Effect.succeed(input.request) : input.inlined, (request) =>
        prepared(account, request)
      )
    )
  }

  return { accountFor, prepare }
}

const make = Effect.fnUntraced(function* ({ protocols, timeouts }: ProviderClientOptions) {
  const catalog = yield* Catalog
  const transport = yield* HttpTransport
  const limitations = makeAccountLimitations()
  const notFound = makeNotFoundLog()
  const { accountFor, prepare } = preparationOf(catalog, protocols)
  const exchange = singleExchange({ accountFor, transport, notFound })

  const completed = (prepared: PreparedCall) =>
    Effect.flatMap(transport.json(prepared.exchange), (body) => wholeAnswer(prepared, body))

  const onFailure = (failure: Failure, { call, exchange }: PreparedCall) =>
    notFound.report({ account: exchange.account, path: exchange.wire.path, upstream: call.upstream }, failure)

  const complete = (target: Target, input: ChatCallInput) => {
    const prepared = (known: ReadonlySet<Limitation>) => prepare(target, input, false, known)
    return limitations.callWithin(target, { prepare: prepared, run: completed, limitationIn, onFailure })
  }

  /** The limit of a stream for an answer that comes whole. A call that is streamed watches it itself. */
  const withFirstOutput = Effect.timeoutOrElse({
    duration: timeouts.firstOutput,
    orElse: () => Effect.fail(transient("timeout", "The provider produced no output in time."))
  })

  const opened = Effect.fnUntraced(function* (prepared: PreparedCall) {
    const { call, exchange, protocol } = prepared
    if (!call.stream) return inOnePiece(yield* withFirstOutput(completed(prepared)))
    const answer = yield* transport.open(exchange)
    if (answer._tag !== "Frames") return inOnePiece(yield* wholeAnswer(prepared, answer.body))
    const { frames } = answer
    const onLast = (events: ReadonlyArray<CompletionEvent>) => logUnknownReason(call, events)
    const reader = conformingReader(protocol.reader(call), call.request)
    const events = yield* afterFirstOutput(eventsOf(frames, reader, onLast))
    frames.outputBegan()
    return events
  })

  const stream = (target: Target, input: ChatCallInput) => {
    const prepared = (known: ReadonlySet<Limitation>) => prepare(target, input, true, known)
    return limitations.callWithin(target, { prepare: prepared, run: opened, limitationIn, onFailure })
  }

  const open = (target: Target, input: ChatCallInput) =>
    canStream(target.endpoint, usedFeatures(input.request))
      ? stream(target, input)
      : Effect.map(withFirstOutput(complete(target, input)), inOnePiece)

  const transcribe = Effect.fnUntraced(function* (target: Target, { chatRequest, request }: TranscriptionCallInput) {
    const { protocol, upstream } = target.endpoint
    if (isTranscription(protocol)) {
      const { decode, encode, failure } = transcriptionProtocols[protocol]
      const body = yield* exchange(target, (dialect) => encode({ request, upstream, dialect }), failure)
      return yield* Effect.fromResult(decode(body))
    }
    const events = yield* complete(target, { request: yield* chatRequest, inlined: chatRequest })
    return yield* Effect.fromResult(ChatTranscription.transcriptOf(events))
  })

  const embed = Effect.fnUntraced(function* (target: Target, request: EmbeddingRequest) {
    const { protocol, upstream } = target.endpoint
    if (!isEmbedding(protocol)) return yield* Effect.die(`${target.endpoint.id} is not for embeddings`)
    const { decode, encode, failure } = embeddingProtocols[protocol]
    const body = yield* exchange(target, (dialect) => encode({ request, upstream, dialect }), failure)
    return yield* Effect.fromResult(decode(body, request))
  })

  return ProviderClient.of({ complete, embed, open, transcribe })
})

/** The events of an answer that came in one piece, whether or not a stream was asked for: complete, and checked. */
const wholeAnswer = (
  { call, protocol }: PreparedCall,
  body: unknown
): Effect.Effect<Arr.NonEmptyReadonlyArray<CompletionEvent>, Failure> => {
  const decoded = protocol.decode(body, call)
  if (Result.isFailure(decoded)) return Effect.fail(decoded.failure)
  const answer = Effect.flatMapEager(
    Effect.fromResult(conforming(decoded.success, call.request.responseFormat)),
    (checked) => (Arr.isReadonlyArrayNonEmpty(checked) && checked.some(isFinish) ? Effect.succeed(checked) : incomplete)
  )
  return Effect.flatMapEager(logUnknownReason(call, decoded.success), () => answer)
}

const usedFeatures = ({ responseFormat, tools }: ChatRequest): UsedFeatures => ({
  json_object: responseFormat.type === "json_object",
  json_schema: responseFormat.type === "json_schema",
  tools: tools.length > 0
})

const switchedOff = new Failure({ reason: { _tag: "Credentials" }, message: "The provider is not switched on." })

/** A new word of a provider is answered as well as can be guessed, and belongs into the table. */
const logUnknownReason = ({ origin }: WireCall, events: ReadonlyArray<CompletionEvent>): Effect.Effect<void> => {
  const finish = events.find((event) => event.type === "finish")
  return finish?.unknownWord === undefined
    ? Effect.void
    : Effect.logWarning("A provider ended its answer with a finish reason that is not known").pipe(
        Effect.annotateLogs({ origin, reported: finish.unknownWord, answered: finish.reason })
      )
}

/** The limitation of the account that a failure shows, if it shows one. */
const limitationIn = (failure: Failure, { exchange, protocolName }: PreparedCall): Limitation | undefined => {
  const { account, wire } = exchange
  // A provider's own server has the path. An operator may have put another server in its place.
  const isOtherServer = account.baseUrl !== account.provider.baseUrl
  if (protocolName === "openai-responses" && isOtherServer && isPathMissing(failure)) return "no Responses API"
  return refusedExtra(failure, wire.body)
}

const extrasIn = (known: ReadonlySet<Limitation>): ReadonlyArray<OptionalExtra> =>
  [...known].filter((limitation) => limitation !== "no Responses API")
