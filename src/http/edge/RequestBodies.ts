/**
 * Reads the bodies of requests as they arrive, and gives up those that do not: a client that sends nothing, or a byte
 * now and then, must not hold for long what others wait for.
 *
 * One task watches all bodies that are being read, so that a body needs no timer and no fiber of its own. It counts its
 * own rounds in place of the time, because a gateway that is too busy to read must not take its clients to be slow.
 */
import type { Readable } from "node:stream"

import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Duration, Effect, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"

import { InvalidRequest, RequestTimeout, RequestTooLarge } from "../../api/Errors.ts"
import { repeatInBackground } from "../../observability/BackgroundTask.ts"
import { addHeaders } from "./ResponseHeaders.ts"

/** The body did not arrive in time, or not to its end. */
export type UnreadBody = RequestTimeout | InvalidRequest

type Request = HttpServerRequest.HttpServerRequest

export class RequestBodies extends Context.Service<
  RequestBodies,
  {
    /** Waits until the first bytes of the body have arrived, and leaves them to `rest`. */
    readonly begin: (request: Request) => Effect.Effect<void, UnreadBody, Request>
    /**
     * Passes the body to `take`, piece by piece, after `begin`. It need not be read to its end: when `take` returns
     * false, the connection closes after the answer.
     */
    readonly rest: (request: Request, take: (bytes: Uint8Array) => boolean) => Effect.Effect<void, UnreadBody, Request>
    /** The whole body, in place of `begin` and `rest`. */
    readonly whole: (
      request: Request,
      maxBytes: number
    ) => Effect.Effect<Uint8Array, UnreadBody | RequestTooLarge, Request>
  }
>()("tollgate/http/edge/RequestBodies") {
  static readonly layer = Layer.effect(
    RequestBodies,
    Effect.gen(function* () {
      const pending = new Set<PendingBody>()
      yield* repeatInBackground({
        run: Effect.sync(() => pending.forEach((body) => body.check())),
        every: checkInterval,
        failureMessage: "Slow request bodies could not be looked for"
      })
      return RequestBodies.of({
        begin: (request) => Effect.suspend(() => begin(pending, accepted(request))),
        rest: (request, take) =>
          Effect.suspend(() => read(pending, NodeHttpServerRequest.toIncomingMessage(request), take)),
        whole: (request, maxBytes) => Effect.suspend(() => readWhole(pending, request, maxBytes))
      })
    })
  )
}

const checkInterval = Duration.millis(500)
/** How long a client may send nothing. A lost packet is sent again within one or two seconds, four times at most. */
const maxSilence = Duration.seconds(5)
/** Bytes per second that a body must have on average: 128 kbit/s, which is a quarter of a poor mobile connection. */
const minRate = 16 * 1024
/** How far a body may fall behind that rate. This is also the time that a small body has in any case. */
const maxDelay = Duration.seconds(10)

const stalledMessage = `Nothing of the request body arrived for ${Duration.toSeconds(maxSilence)} seconds`
const slowMessage =
  `The request body fell more than ${Duration.toSeconds(maxDelay)} seconds behind a rate of ` +
  `${minRate / 1024} KiB per second`

/** A body that is being received. */
class PendingBody {
  private readonly giveUp: (message: string) => void
  /** Received since the last check. */
  private bytes = 0
  private silentChecks = 0
  private creditMillis = Duration.toMillis(maxDelay)

  constructor(giveUp: (message: string) => void) {
    this.giveUp = giveUp
  }

  add(bytes: number): void {
    this.bytes += bytes
  }

  /** Is called at every interval. The first interval is not a whole one, so one more is granted. */
  check(): void {
    const interval = Duration.toMillis(checkInterval)
    const gainedMillis = (this.bytes / minRate) * 1_000
    this.silentChecks = this.bytes === 0 ? this.silentChecks + 1 : 0
    this.creditMillis = Math.min(this.creditMillis - interval + gainedMillis, Duration.toMillis(maxDelay))
    this.bytes = 0
    if (this.silentChecks * interval > Duration.toMillis(maxSilence)) this.giveUp(stalledMessage)
    else if (this.creditMillis < 0) this.giveUp(slowMessage)
  }
}

/** The message behind a request whose body is to be read, which a client with `expect: 100-continue` waits to hear. */
const accepted = (request: Request) => {
  const message = NodeHttpServerRequest.toIncomingMessage(request)
  const response = NodeHttpServerRequest.toServerResponse(request)
  // Node has refused every other expectation. In HTTP/1.0 there is none.
  if (message.headers.expect !== undefined && message.httpVersionMinor === 1) response.writeContinue()
  return message
}

/** The unread rest of a body would be taken for the next request on the connection, so the connection has to close. */
const closeConnection = addHeaders({ connection: "close" })

const givenUp = (message: string) => Effect.andThen(closeConnection, Effect.fail(RequestTimeout.of(message)))

const unreadable = Effect.fail(InvalidRequest.of("The request body could not be read to its end"))

/** Watches a body until it ends or `listen` reports a result. `listen` returns what removes its listeners. */
const watched = (
  pending: Set<PendingBody>,
  source: Readable,
  listen: (done: (result: Effect.Effect<void, UnreadBody, Request>) => void, body: PendingBody) => () => void
) =>
  Effect.callback<void, UnreadBody, Request>((resume) => {
    // An empty body ends while its beginning is waited for.
    if (source.readableEnded) return resume(Effect.void)
    if (source.destroyed) return resume(unreadable)
    const done = (result: Effect.Effect<void, UnreadBody, Request>): void => {
      stop()
      resume(result)
    }
    const fail = (): void => done(unreadable)
    const end = (): void => done(Effect.void)
    const body = new PendingBody((message) => done(givenUp(message)))
    const unlisten = listen(done, body)
    const stop = (): void => {
      pending.delete(body)
      unlisten()
      source.off("end", end).off("close", fail)
    }
    source.on("error", ignore).on("end", end).on("close", fail)
    pending.add(body)
    return Effect.sync(stop)
  })

/** A late error comes when nobody waits for the body any more. Without a listener it would end the process. */
const ignore = () => {}

const begin = (pending: Set<PendingBody>, source: Readable): Effect.Effect<void, UnreadBody, Request> =>
  source.readableLength > 0
    ? Effect.void
    : watched(pending, source, (done) => {
        const begun = (): void => done(Effect.void)
        source.on("readable", begun)
        return () => source.off("readable", begun)
      })

const read = (pending: Set<PendingBody>, source: Readable, take: (bytes: Uint8Array) => boolean) =>
  watched(pending, source, (done, body) => {
    const onData = (bytes: Uint8Array): void => {
      body.add(bytes.length)
      // Thrown in a listener, a defect would end the process.
      try {
        if (!take(bytes)) done(closeConnection)
      } catch (defect) {
        done(Effect.die(defect))
      }
    }
    source.on("data", onData)
    // The listener of `begin` has stopped the flow, if there was one.
    source.resume()
    return () => source.off("data", onData)
  })

const readWhole = (pending: Set<PendingBody>, request: Request, maxBytes: number) => {
  const source = accepted(request)
  const body = new GrowingBuffer(Number(source.headers["content-length"] ?? 0), maxBytes)
  return Effect.flatMap(
    read(pending, source, (bytes) => body.add(bytes)),
    () =>
      body.isWhole
        ? Effect.succeed(body.bytes)
        : Effect.fail(RequestTooLarge.of(`The request body must have at most ${maxBytes} bytes`))
  )
}

/**
 * Joins the pieces of a body up to a limit. They are copied into one buffer at once, because a list of them would have
 * one object per byte of a client that sends single bytes.
 */
class GrowingBuffer {
  private readonly expectedBytes: number
  private readonly maxBytes: number
  private buffer: Uint8Array = new Uint8Array()
  private size = 0

  /** `declaredBytes` is the length by the header, which may be anything. */
  constructor(declaredBytes: number, maxBytes: number) {
    this.expectedBytes = declaredBytes <= maxBytes ? declaredBytes : 0
    this.maxBytes = maxBytes
  }

  /** Returns false when the limit is exceeded; nothing is kept then. */
  add(piece: Uint8Array): boolean {
    const start = this.size
    this.size += piece.length
    if (!this.isWhole) this.buffer = new Uint8Array()
    // Most bodies come in one piece, which needs no copy.
    else if (start === 0) this.buffer = piece
    else {
      if (this.size > this.buffer.length) {
        // Unwritten memory is not committed by the system.
        const capacity = Math.max(this.size, this.expectedBytes, Math.min(2 * this.buffer.length, this.maxBytes))
        const larger = Buffer.allocUnsafeSlow(capacity)
        larger.set(this.buffer.subarray(0, start))
        this.buffer = larger
      }
      this.buffer.set(piece, start)
    }
    return this.isWhole
  }

  get isWhole(): boolean {
    return this.size <= this.maxBytes
  }

  get bytes(): Uint8Array {
    return this.buffer.subarray(0, this.size)
  }
}
