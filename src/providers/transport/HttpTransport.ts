/**
 * The HTTP client behind all protocols. It sends a request on behalf of an account and returns JSON or a stream of
 * frames. Every phase has a time limit and every body a size limit, and whatever goes wrong becomes a classified
 * failure. A call that is interrupted, and a stream whose scope closes before it is complete, is aborted at once, so
 * that the provider stops working on it.
 *
 * This is the hot path, so it goes around Effect's HTTP client, which costs about 250 operations, five fibers and an
 * abort signal for a plain answer, and a pull, a promise and an async resource for a packet. What is left of Effect is
 * one callback for a call. The packets of a stream are read without any.
 */
import type { Readable } from "node:stream"

import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type { Dispatcher } from "@effect/platform-node/Undici"
import { Context, Duration, Effect, Layer, type Scope, identity } from "effect"
import { SecureRandom } from "effect/crypto"

import type { ProviderAccount } from "../../catalog/Provider.ts"
import type { Failure } from "../../domain/Failure.ts"
import { makeDeadlines } from "../../timing/Deadlines.ts"
import type { ErrorResponse, FramingName, WireRequest } from "../protocols/Protocol.ts"
import * as Auth from "./Auth.ts"
import { eventStreamParser } from "./EventStreamFrames.ts"
import * as FormBody from "./FormBody.ts"
import { ProviderCall, type ProviderCallOptions } from "./ProviderCall.ts"
import type { OpenedAnswer } from "./ReceivedAnswer.ts"
import { type FrameParser, sseParser } from "./SseFrames.ts"
import { defaultTimeouts, type Timeouts } from "./Timeouts.ts"

/** Sockets per provider. Each request in flight occupies one. */
const maxSockets = 2_048
/** The largest plain answer, unless the protocol expects a larger one. */
const maxAnswerBytes = 32 * 1024 * 1024
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

export class HttpTransport extends Context.Service<
  HttpTransport,
  {
    /** The parsed JSON body of a plain answer, once it is complete. */
    readonly json: (exchange: Exchange) => Effect.Effect<unknown, Failure>
    /** A streamed answer, once its headers have arrived. The connection lives in the scope. */
    readonly open: (exchange: Exchange) => Effect.Effect<OpenedAnswer, Failure, Scope.Scope>
  }
>()("tollgate/providers/transport/HttpTransport") {
  /** Over a pool of HTTP/1.1 sockets, where an aborted request closes its own socket and disturbs no other request. */
  static readonly layer = (timeouts: Timeouts = defaultTimeouts) =>
    Layer.effect(HttpTransport, make(timeouts)).pipe(
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
  const dispatcher = yield* NodeHttpClient.Dispatcher
  const random = yield* SecureRandom.SecureRandom
  const deadlines = yield* makeDeadlines

  /** `read` takes what is wanted of the answer. `onCall` gets the call when it begins. */
  const send = <A>(
    exchange: Exchange,
    accept: string,
    options: Pick<ProviderCallOptions, "firstByte" | "framing">,
    read: (answer: OpenedAnswer) => A,
    onCall?: (call: ProviderCall) => void
  ): Effect.Effect<A, Failure> =>
    Effect.flatMapEager(requestOf(exchange, accept, random), (request) =>
      Effect.callback<A, Failure>((answered) => {
        const { failure, wire } = exchange
        const limit = wire.maxAnswerBytes ?? maxAnswerBytes
        const resume = (answer: Effect.Effect<OpenedAnswer, Failure>) => answered(Effect.mapEager(answer, read))
        const call = new ProviderCall({ deadlines, timeouts, failure, maxAnswerBytes: limit, resume, ...options })
        onCall?.(call)
        dispatcher.dispatch(request, call)
        return Effect.sync(() => call.abort())
      })
    )

  return HttpTransport.of({
    json: (exchange) =>
      send(exchange, "application/json", { firstByte: timeouts.firstBytePlain }, (answer) =>
        answer._tag === "Json" ? answer.body : undefined
      ),
    open: Effect.fnUntraced(function* (exchange) {
      const { firstOutput } = timeouts
      const framing = { ...framings[exchange.wire.framing ?? "sse"], firstOutput }
      let opened: ProviderCall | undefined
      yield* Effect.addFinalizer(() => opened?.close ?? Effect.void)
      return yield* send(exchange, framing.media, { firstByte: timeouts.firstByte, framing }, identity, (call) => {
        opened = call
      })
    })
  })
})

/** The time limits are ours, so the client's own are as good as none. */
const withoutTimeouts = { headersTimeout: 60 * 60 * 1000, bodyTimeout: 0 }

const requestOf = ({ account, wire }: Exchange, accept: string, random: SecureRandom.SecureRandom["Service"]) => {
  const url = `${account.baseUrl}${wire.path}`
  return Effect.flatMapEager(bodyOf(wire.body, random), ({ body, contentType, length, text }) =>
    Effect.mapEager(Auth.authHeaders(account, { url, body: text, contentType }), (auth): Dispatcher.DispatchOptions => {
      const { origin, pathname, search } = new URL(url)
      const headers: Record<string, string> = {
        accept,
        "accept-encoding": "identity",
        "content-type": contentType,
        ...wire.headers,
        ...auth
      }
      if (length !== undefined) headers["content-length"] = String(length)
      return { ...withoutTimeouts, method: "POST", origin, path: pathname + search, headers, body }
    })
  )
}

interface RequestBody {
  readonly body: string | Readable
  readonly contentType: string
  /** In bytes, where the client cannot know it from the body. */
  readonly length?: number
  /** The text that a signature covers. Requests with a form are never signed. */
  readonly text: string
}

const bodyOf = (content: object, random: SecureRandom.SecureRandom["Service"]): Effect.Effect<RequestBody> => {
  if (FormBody.isForm(content)) {
    return Effect.map(random.uuidV4(), (boundary) => ({ ...FormBody.encodeForm(content, boundary), text: "" }))
  }
  const text = JSON.stringify(content)
  return Effect.succeed({ body: text, contentType: "application/json", text })
}
