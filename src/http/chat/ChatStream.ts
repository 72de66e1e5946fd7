/**
 * Sends a streamed answer as server-sent events. Nothing is sent before the first output, so that until then a failure
 * gets its true HTTP status. After ten seconds without output the response begins with a comment, and failover goes on
 * unseen. A further comment follows whenever the stream is silent for as long, so that no load balancer closes it.
 */
import { Clock, Duration, Effect, Fiber, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"

import type { ChatError } from "../../api/Errors.ts"
import { detailJoiner } from "../../domain/ReasoningBlocks.ts"
import type { StreamedAnswer } from "../../gateway/CompleteChat.ts"
import type { DrainSignal } from "../../gateway/Settlement.ts"
import type { RecordableStream } from "../../idempotency/Recording.ts"
import { adjustedHeader } from "../edge/ResponseHeaders.ts"
import { chunkWriter, doneLine, type Envelope, joinReasoning, keepAliveComment } from "./ChatAnswer.ts"
import { FrameRelay, type StreamFrame } from "./FrameRelay.ts"

export interface StreamOptions {
  readonly envelope: Envelope
  /** How long a silence may last before the client is sent a comment. */
  readonly keepAliveEvery: Duration.Duration
  /** What an error chunk names when no model answered. */
  readonly requested: { readonly model: string; readonly routed: boolean }
  /** Once it fails, no answer begins any more. */
  readonly drainSignal: DrainSignal
}

/** The response, as soon as its status is known. `opening` succeeds with the first output. */
export const respond = Effect.fnUntraced(function* <R>(
  opening: Effect.Effect<RecordableStream<StreamFrame>, ChatError, R>,
  options: StreamOptions
) {
  const fiber = yield* Effect.forkScoped(Effect.raceFirst(opening, options.drainSignal))
  const opened = yield* Fiber.join(fiber).pipe(Effect.timeoutOption(options.keepAliveEvery))
  const { adjusted, frames } = Option.match(opened, {
    onSome: (answer) => answer,
    onNone: (): RecordableStream<StreamFrame> => ({
      frames: Stream.concat(
        Stream.succeed<StreamFrame>({ text: keepAliveComment }),
        Fiber.join(fiber).pipe(
          Effect.match({ onSuccess: (late) => late.frames, onFailure: (error) => errorFrames(error, options) }),
          Stream.unwrap
        )
      )
    })
  })
  const body = yield* withKeepAlive(frames, options)
  return HttpServerResponse.stream(body, {
    contentType: "text/event-stream; charset=utf-8",
    headers: {
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      ...adjustedHeader(options.envelope.serviceName, adjusted)
    }
  })
})

/**
 * Encodes an answer. The first frame begins with the opening chunk, and the last one ends with `[DONE]`.
 * `keepsLastDetails`: the client keeps the `reasoning_details` of the last chunk that has some, and no others; so one
 * with all of them, each in one piece, comes at the end.
 */
export const framesOf = (
  answer: StreamedAnswer,
  envelope: Envelope,
  { keepsLastDetails = false }: { readonly keepsLastDetails?: boolean } = {}
): Stream.Stream<StreamFrame> => {
  const writer = chunkWriter(envelope, answer)
  const details = detailJoiner()
  let started = false
  // One frame per packet from the provider, rather than one per chunk, saves writes to the socket.
  return Stream.mapArray(answer.items, (items): readonly [StreamFrame] => {
    let text = started ? "" : writer.first()
    started = true
    if (keepsLastDetails) for (const item of items) if (item.type === "detail") details.append(item.detail)
    for (const item of joinReasoning(items)) {
      if (item.type === "settled" && details.joined.length > 0)
        text += writer.item({ type: "complete_details", details: details.joined })
      text += writer.item(item)
    }
    const last = items.at(-1)?.type
    return last === "settled" || last === "broken" ? [{ text: text + doneLine, end: last }] : [{ text }]
  })
}

/** The status has already been sent, so the error goes into the stream. */
const errorFrames = (error: ChatError, { envelope, requested }: StreamOptions): Stream.Stream<StreamFrame> => {
  const writer = chunkWriter(envelope, {
    model: requested.model,
    routing: { routed: requested.routed, model: null, latencyMillis: null },
    adjustments: []
  })
  return Stream.succeed({ text: writer.first() + writer.item({ type: "broken", error }) + doneLine, end: "broken" })
}

/** The bytes of the frames, with a comment whenever `keepAliveEvery` passes without one. */
const withKeepAlive = Effect.fnUntraced(function* (frames: Stream.Stream<StreamFrame>, options: StreamOptions) {
  const clock = yield* Clock.Clock
  const everyMillis = Duration.toMillis(options.keepAliveEvery)
  const relay = new FrameRelay(clock)
  const comments = Effect.gen(function* () {
    while (true) {
      const remainingMillis = relay.silentSinceMillis + everyMillis - clock.currentTimeMillisUnsafe()
      if (remainingMillis > 0) yield* Effect.sleep(remainingMillis)
      else relay.comment()
    }
  })
  yield* Effect.forkScoped(comments)
  yield* Stream.runForEachArray(frames, (packet) => relay.put(packet)).pipe(
    Effect.onExit((exit) => Effect.sync(() => relay.close(exit))),
    Effect.forkScoped
  )
  return Stream.fromPull(Effect.succeed(relay.body))
})
