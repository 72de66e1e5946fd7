/**
 * The HTTP client behind all protocols. It sends a request on behalf of an account and returns JSON or a stream of
 * frames. Every phase has a time limit and every body a size limit, and whatever goes wrong becomes a classified
 * failure.
 *
 * A connection lives in a scope. Closing the scope before the answer is complete aborts the request at once, so that
 * the provider stops working on it.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Array as Arr, Cause, Context, Duration, Effect, Function, Layer, Pull, Result, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpBody, HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"

import type { ProviderAccount } from "../../catalog/Provider.ts"
import { broken, type Failure, transient } from "../../domain/Failure.ts"
import type { ErrorResponse, FramingName, ProviderFrame, WireRequest } from "../protocols/Protocol.ts"
import * as Auth from "./Auth.ts"
import { connectionFailure } from "./ConnectionFailure.ts"
import { eventStreamParser } from "./EventStreamFrames.ts"
import * as FormBody from "./FormBody.ts"
import { type FrameParser, sseParser } from "./SseFrames.ts"
import { defaultTimeouts, type Timeouts } from "./Timeouts.ts"
import { monotonicMillis, type Packets, watchedPackets } from "./Watchdog.ts"

/** The largest plain answer. */
const maxAnswerBytes = 32 * 1024 * 1024
/** How much of an error's body is read. */
const maxErrorBytes = 64 * 1024
/** How long we wait for an error's body. */
const errorBodyTimeout = Duration.seconds(5)
/** Sockets per provider. Each request in flight occupies one. */
const maxSockets = 2_048
/** How long an idle socket is kept for the next request, unless the provider asks for less. */
const idleSocketMillis = 30_000

/** The ways in which providers divide a stream into frames, each with its media type and a parser for one stream. */
const framings = {
  sse: { media: "text/event-stream", makeParser: sseParser },
  "aws-event-stream": { media: "application/vnd.amazon.eventstream", makeParser: eventStreamParser }
} as const satisfies Record<FramingName, { readonly media: string; readonly makeParser: () => FrameParser }>

/** One request to one account. */
export interface Exchange {
  readonly account: ProviderAccount
  readonly wire: WireRequest
  /** Classifies an answer whose status is not a success. */
  readonly failure: (response: ErrorResponse) => Failure
}

/** A provider's answer to a request for a stream. Some answer with one JSON body instead. */
export type OpenedAnswer =
  | { readonly _tag: "Frames"; readonly frames: Pull.Pull<Arr.NonEmptyReadonlyArray<ProviderFrame>, Failure> }
  | { readonly _tag: "Json"; readonly body: unknown }

export class HttpTransport extends Context.Service<
  HttpTransport,
  {
    /** The parsed JSON body of a plain answer, once it is complete. */
    readonly json: (exchange: Exchange) => Effect.Effect<unknown, Failure>
    /** A streamed answer, once its headers have arrived. The connection lives in the scope. */
    readonly open: (exchange: Exchange) => Effect.Effect<OpenedAnswer, Failure, Scope.Scope>
  }
>()("tollgate/providers/transport/HttpTransport") {
  /** Over any HTTP client, which has to enforce `timeouts.connect` itself. */
  static readonly layerNoClient = (timeouts: Timeouts = defaultTimeouts) => Layer.effect(HttpTransport, make(timeouts))

  /** Over a pool of HTTP/1.1 sockets, where an aborted request closes its own socket and disturbs no other request. */
  static readonly layer = (timeouts: Timeouts = defaultTimeouts) =>
    this.layerNoClient(timeouts).pipe(
      Layer.provide(NodeHttpClient.layerUndiciNoDispatcher),
      Layer.provide(
        NodeHttpClient.layerDispatcherOptions({
          connections: maxSockets,
          pipelining: 1,
          allowH2: false,
          keepAliveTimeout: idleSocketMillis,
          connect: { timeout: Duration.toMillis(timeouts.connect) }
        })
      )
    )
}

const make = Effect.fnUntraced(function* (timeouts: Timeouts) {
  const client = HttpClient.withScope(yield* HttpClient.HttpClient)
  const random = yield* SecureRandom.SecureRandom

  const send = Effect.fnUntraced(function* (exchange: Exchange, accept: string, firstByte: Duration.Duration) {
    const socket = yield* Scope.fork(yield* Effect.scope)
    const startedAtMillis = yield* monotonicMillis
    const request = yield* requestOf(exchange, accept, random)
    const response = yield* client.execute(request).pipe(
      Scope.provide(socket),
      // A span of the client would contain our headers, and would send its trace id to the provider.
      Effect.provideService(HttpClient.TracerDisabledWhen, Function.constTrue),
      Effect.mapError(connectionFailure),
      Effect.timeoutOrElse({
        duration: firstByte,
        orElse: () => Effect.fail(transient("timeout", "The provider did not answer in time."))
      })
    )
    const packets = yield* watchedPackets({ response, socket, startedAtMillis, timeouts })
    if (response.status < 200 || response.status > 299) return yield* failureIn(exchange, response, packets)
    return { media: mediaOf(response), packets }
  })

  return HttpTransport.of({
    json: Effect.fnUntraced(function* (exchange) {
      const { media, packets } = yield* send(exchange, "application/json", timeouts.firstBytePlain)
      return isJson(media) ? yield* readJson(packets) : yield* unexpectedMedia(media)
    }, Effect.scoped),
    open: Effect.fnUntraced(function* (exchange) {
      const framing = framings[exchange.wire.framing ?? "sse"]
      const { media, packets } = yield* send(exchange, framing.media, timeouts.firstByte)
      if (media === framing.media || media === "")
        return { _tag: "Frames", frames: framesOf(packets, framing.makeParser()) }
      return isJson(media) ? { _tag: "Json", body: yield* readJson(packets) } : yield* unexpectedMedia(media)
    })
  })
})

const requestOf = Effect.fnUntraced(function* (
  { account, wire }: Exchange,
  accept: string,
  random: SecureRandom.SecureRandom["Service"]
) {
  const url = `${account.baseUrl}${wire.path}`
  const { body, text } = yield* bodyOf(wire.body, random)
  const auth = yield* Auth.authHeaders(account, { url, body: text, contentType: body.contentType })
  return HttpClientRequest.post(url).pipe(
    HttpClientRequest.setBody(body),
    HttpClientRequest.setHeaders({ accept, "accept-encoding": "identity", ...wire.headers, ...auth })
  )
})

/** The body, and the text that a signature covers. Requests with a form are never signed. */
const bodyOf = (content: object, random: SecureRandom.SecureRandom["Service"]) => {
  if (FormBody.isForm(content)) {
    return Effect.map(random.uuidV4(), (boundary) => ({ body: FormBody.encodeForm(content, boundary), text: "" }))
  }
  const text = JSON.stringify(content)
  return Effect.succeed({ body: HttpBody.text(text, "application/json"), text })
}

const mediaOf = (response: HttpClientResponse.HttpClientResponse): string =>
  (response.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

const isJson = (media: string): boolean => media === "" || media === "application/json" || media.endsWith("+json")

const unexpectedMedia = (media: string) => Effect.fail(broken(`The provider answered with content of type ${media}.`))

/** Reads up to `limit` bytes of the body into an array. True when that was the whole body. */
const readBody = Effect.fnUntraced(function* (packets: Packets, limit: number, into: Array<Uint8Array>) {
  let size = 0
  const readMore = Effect.map(packets, (chunk) => {
    for (const packet of chunk) {
      into.push(packet.subarray(0, limit - size))
      size += packet.length
      if (size > limit) return false
    }
    return true
  })
  while (true) {
    const isWithinLimit = yield* Pull.catchDone(readMore, () => Effect.succeed(undefined))
    if (isWithinLimit === undefined) return true
    if (!isWithinLimit) return false
  }
})

const textOf = (body: ReadonlyArray<Uint8Array>): string => new TextDecoder().decode(Buffer.concat(body))

const readJson = Effect.fnUntraced(function* (packets: Packets) {
  const body: Array<Uint8Array> = []
  if (!(yield* readBody(packets, maxAnswerBytes, body))) return yield* broken("The provider's answer is too large.")
  return yield* Effect.fromResult(
    Result.try({
      try: (): unknown => JSON.parse(textOf(body)),
      catch: () => broken("The provider's answer is not JSON.")
    })
  )
})

/** Fails with the classified failure of an error answer, from as much of its body as arrived in time. */
const failureIn = Effect.fnUntraced(function* (
  exchange: Exchange,
  response: HttpClientResponse.HttpClientResponse,
  packets: Packets
) {
  const body: Array<Uint8Array> = []
  yield* readBody(packets, maxErrorBytes, body).pipe(Effect.timeoutOption(errorBodyTimeout), Effect.ignore)
  return yield* exchange.failure({ status: response.status, headers: response.headers, body: textOf(body) })
})

const framesOf = (
  packets: Packets,
  parser: FrameParser
): Pull.Pull<Arr.NonEmptyReadonlyArray<ProviderFrame>, Failure> => {
  let ended = false
  const emit = (read: Result.Result<ReadonlyArray<ProviderFrame>, Failure>) => {
    if (Result.isFailure(read)) return Effect.fail(read.failure)
    return Arr.isReadonlyArrayNonEmpty(read.success) ? Effect.succeed(read.success) : next
  }
  const next: Pull.Pull<Arr.NonEmptyReadonlyArray<ProviderFrame>, Failure> = Effect.suspend(() =>
    ended
      ? Cause.done()
      : Pull.matchEffect(packets, {
          onSuccess: (chunk) => emit(parser.read(chunk)),
          onFailure: Effect.failCause,
          onDone: () => {
            ended = true
            return emit(parser.end())
          }
        })
  )
  return next
}
