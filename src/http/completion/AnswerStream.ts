/**
 * Sends a streamed answer as server-sent events. Nothing is sent before the first output, so that until then a failure
 * gets its true HTTP status. After ten seconds without output the response begins with a keep-alive event, and
 * failover goes on unseen. Another one follows whenever the stream is silent for as long, so that no load balancer
 * closes it.
 */
import { Cause, Duration, Effect, Exit, type Fiber, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"

import type { ChatError } from "../../api/Errors.ts"
import { onePacket } from "../../domain/PacketSource.ts"
import type { DrainSignal, StreamItems } from "../../gateway/Settlement.ts"
import type { AnswerTexts, RecordableStream } from "../../idempotency/Recording.ts"
import type { Deadlines } from "../../timing/Deadlines.ts"
import { adjustedHeader } from "../edge/ResponseHeaders.ts"
import type { StreamEncoder } from "./ClientProtocol.ts"
import { StreamBody } from "./StreamBody.ts"

export interface StreamOptions {
  readonly serviceName: string
  readonly deadlines: Deadlines
  /** How long a silence may last before the client is sent `keepAlive`. */
  readonly keepAliveEvery: Duration.Duration
  readonly keepAlive: string
  /** Writes the error where no model answered. */
  readonly encoderOfFailure: () => StreamEncoder
  /** Once it comes, no answer begins any more. */
  readonly drainSignal: DrainSignal
}

type Opened = Exit.Exit<RecordableStream, ChatError>

/**
 * The response, as soon as its status is known. `opening` succeeds with the first output. It has a fiber of its own,
 * because it goes on when the response begins without it.
 */
export const respond = Effect.fnUntraced(function* <R>(
  opening: Effect.Effect<RecordableStream, ChatError, R>,
  options: StreamOptions
) {
  const { deadlines } = options
  const scope = yield* Effect.scope
  const keepAliveMillis = Duration.toMillis(options.keepAliveEvery)
  const body = new StreamBody({ deadlines, keepAlive: options.keepAlive, keepAliveMillis, scope })
  let whenOpened = (opened: Opened): void => body.begin(textsIn(opened, options))
  const fiber = yield* Effect.forkIn(opening, scope)
  const early = yield* Effect.callback<RecordableStream | undefined, ChatError>((resume) => {
    const late = whenOpened
    const silence = {
      expiresAtMillis: deadlines.nowMillis() + keepAliveMillis,
      expire: () => {
        whenOpened = late
        resume(Effect.succeed(undefined))
      }
    }
    whenOpened = (opened) => {
      deadlines.forget(silence)
      resume(opened)
    }
    deadlines.watch(silence)
    observe(fiber, options.drainSignal, (opened) => whenOpened(opened))
    return Effect.sync(() => deadlines.forget(silence))
  })
  if (early === undefined) body.comment()
  else body.begin(early.texts)
  return HttpServerResponse.stream(Stream.fromPull(Effect.as(body.start, body.pull)), {
    contentType: "text/event-stream; charset=utf-8",
    headers: {
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      ...adjustedHeader(options.serviceName, early?.adjusted)
    }
  })
})

/** Gives how the opening of an answer ends. When the gateway drains, it ends with that error. */
const observe = (
  fiber: Fiber.Fiber<RecordableStream, ChatError>,
  drainSignal: DrainSignal,
  whenOpened: (opened: Opened) => void
): void => {
  let drained: ChatError | undefined
  const ignoreDrain = drainSignal.listen((error) => {
    drained = error
    fiber.interruptUnsafe()
  })
  fiber.addObserver((exit) => {
    ignoreDrain()
    whenOpened(drained !== undefined && Exit.isFailure(exit) ? Exit.fail(drained) : exit)
  })
}

/** The texts of an answer as they are sent: one per packet from the provider, which saves writes to the socket. */
export const textsOf = (items: StreamItems, encoder: StreamEncoder): AnswerTexts => ({
  read: () => {
    const deltas = items.read()
    return deltas === undefined || deltas === "over" ? deltas : [encoder.deltas(deltas)]
  },
  whenReady: (ready) => items.whenReady(ready),
  end: () => Effect.map(items.end(), (item) => ({ text: encoder.last(item), end: item.type }))
})

/** What is sent of an answer once the response has begun. */
const textsIn = (opened: Opened, { encoderOfFailure }: StreamOptions): AnswerTexts => {
  if (Exit.isSuccess(opened)) return opened.value.texts
  const error = Cause.findErrorOption(opened.cause)
  if (Option.isNone(error)) return onePacket([], () => Effect.failCause(opened.cause as Cause.Cause<never>))
  // The status has already been sent, so the error goes into the stream.
  const text = encoderOfFailure().last({ type: "broken", error: error.value })
  return onePacket([], () => Effect.succeed({ text, end: "broken" }))
}
