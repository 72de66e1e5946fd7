/**
 * The one HTTP client behind all protocols: sends a wire request as an account, and answers with JSON or with a stream
 * of frames. Every phase has a time limit and every body a size limit, and whatever goes wrong is a classified failure.
 *
 * The connection lives in a scope. Closing it before the end aborts the request at once, which is how a provider learns
 * that nobody waits any more.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Array as Arr, Cause, Context, Duration, Effect, Function, Layer, Pull, Result, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpBody, HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"

import type { ProviderAccount } from "../../catalog/Provider.ts"
import { broken, type Failure, transient } from "../../domain/Failure.ts"
import type { JsonObject } from "../../domain/JsonObject.ts"
import type { ErrorResponse, MultipartForm, ProviderFrame, WireRequest } from "../protocols/Protocol.ts"
import * as Auth from "./Auth.ts"
import { connectionFailure } from "./ConnectionFailure.ts"
import * as FormBody from "./FormBody.ts"
import { framings } from "./Framing.ts"
import type { FrameParser } from "./SseFrames.ts"
import { defaultTimeouts, type Timeouts } from "./Timeouts.ts"
import { monotonicMillis, type Packets, watched } from "./Watchdog.ts"

/** Bytes of a plain answer. */
const maxAnswerBytes = 32 * 1024 * 1024
/** Bytes that are read of an error's body; the rest is not of interest. */
const maxErrorBytes = 64 * 1024
/** How long an error's body may take. */
const errorBodyPatience = Duration.seconds(5)
/** Sockets per provider. One streamed answer holds one socket. */
const maxSockets = 2_048
/** How long an idle socket is kept for the next request, unless the provider says less. */
const idleSocketMillis = 30_000

/** One request to one account. */
export interface Exchange {
  readonly account: ProviderAccount
  readonly wire: WireRequest<JsonObject | MultipartForm>
  /** Makes a failure of an answer without a success status. */
  readonly failure: (response: ErrorResponse) => Failure
}

/** What a provider may answer to a request for a stream: some answer in one piece. */
export type Opened =
  | { readonly _tag: "Frames"; readonly frames: Pull.Pull<Arr.NonEmptyReadonlyArray<ProviderFrame>, Failure> }
  | { readonly _tag: "Json"; readonly body: unknown }

export class HttpTransport extends Context.Service<
  HttpTransport,
  {
    /** A whole JSON answer. */
    readonly json: (exchange: Exchange) => Effect.Effect<unknown, Failure>
    /** A streamed answer, as soon as its headers are there. */
    readonly open: (exchange: Exchange) => Effect.Effect<Opened, Failure, Scope.Scope>
  }
>()("tollgate/providers/transport/HttpTransport") {
  /** Over any HTTP client. `timeouts.connect` is the client's own to keep. */
  static readonly layerNoClient = (timeouts: Timeouts = defaultTimeouts) => Layer.effect(HttpTransport, make(timeouts))

  /** Over a pool of sockets, HTTP/1.1 only: an aborted request closes its socket and disturbs no other. */
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

  const connect = Effect.fnUntraced(function* (exchange: Exchange, accept: string, firstByte: Duration.Duration) {
    const socket = yield* Scope.fork(yield* Effect.scope)
    const startedAtMillis = yield* monotonicMillis
    const request = yield* requestOf(exchange, accept)
    const response = yield* client.execute(request).pipe(
      Scope.provide(socket),
      // A span would carry our headers, and its trace would travel to the provider: the attempt has a span of its own.
      Effect.provideService(HttpClient.TracerDisabledWhen, Function.constTrue),
      Effect.mapError(connectionFailure),
      Effect.timeoutOrElse({
        duration: firstByte,
        orElse: () => Effect.fail(transient("timeout", "The provider did not answer in time."))
      })
    )
    const packets = yield* watched({ response, socket, startedAtMillis, timeouts })
    if (response.status < 200 || response.status > 299) return yield* refused(exchange, response, packets)
    return { media: mediaOf(response), packets }
  })

  return HttpTransport.of({
    json: Effect.fnUntraced(function* (exchange) {
      const { media, packets } = yield* connect(exchange, "application/json", timeouts.firstBytePlain)
      return isJson(media) ? yield* readJson(packets) : yield* unexpected(media)
    }, Effect.scoped),
    open: Effect.fnUntraced(function* (exchange) {
      const framing = framings[exchange.wire.framing ?? "sse"]
      const { media, packets } = yield* connect(exchange, framing.media, timeouts.firstByte)
      if (media === framing.media || media === "") return { _tag: "Frames", frames: framesOf(packets, framing.make()) }
      return isJson(media) ? { _tag: "Json", body: yield* readJson(packets) } : yield* unexpected(media)
    })
  })
})

const requestOf = Effect.fnUntraced(function* ({ account, wire }: Exchange, accept: string) {
  const url = `${account.baseUrl}${wire.path}`
  const { body, text } = yield* bodyOf(wire.body)
  const identity = yield* Auth.authHeaders(account, { url, body: text, contentType: body.contentType })
  return HttpClientRequest.post(url).pipe(
    HttpClientRequest.setBody(body),
    HttpClientRequest.setHeaders({ accept, "accept-encoding": "identity", ...wire.headers, ...identity })
  )
})

/** `text` is what a signature covers; no provider that signs takes a form. */
const bodyOf = (content: JsonObject | MultipartForm) => {
  if (FormBody.isForm(content)) {
    return Effect.map(boundary, (unguessed) => ({ body: FormBody.encodeForm(content, unguessed), text: "" }))
  }
  const text = JSON.stringify(content)
  return Effect.succeed({ body: HttpBody.text(text, "application/json"), text })
}

const boundary = Effect.provide(
  Effect.flatMap(SecureRandom.SecureRandom, (random) => random.uuidV4()),
  SecureRandom.layerWebCrypto
)

const mediaOf = (response: HttpClientResponse.HttpClientResponse): string =>
  (response.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

const isJson = (media: string): boolean => media === "" || media === "application/json" || media.endsWith("+json")

const unexpected = (media: string) => Effect.fail(broken(`The provider answered with content of type ${media}.`))

/** The body up to `limit` bytes, and whether that was all of it. */
const readBody = Effect.fnUntraced(function* (packets: Packets, limit: number, into: Array<Uint8Array>) {
  let size = 0
  const more = Effect.map(packets, (chunk) => {
    for (const packet of chunk) {
      into.push(packet.subarray(0, limit - size))
      size += packet.length
      if (size > limit) return false
    }
    return true
  })
  while (true) {
    const goesOn = yield* Pull.catchDone(more, () => Effect.succeed(undefined))
    if (goesOn === undefined) return true
    if (!goesOn) return false
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

/** The failure of an error answer, from as much of its body as came in time. */
const refused = Effect.fnUntraced(function* (
  exchange: Exchange,
  response: HttpClientResponse.HttpClientResponse,
  packets: Packets
) {
  const body: Array<Uint8Array> = []
  yield* readBody(packets, maxErrorBytes, body).pipe(Effect.timeoutOption(errorBodyPatience), Effect.ignore)
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
