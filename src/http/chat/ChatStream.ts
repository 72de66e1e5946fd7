/**
 * A streamed answer as server-sent events. Nothing is sent before the first output, so until then a failure has its
 * true status; after ten seconds of silence the gate opens with a comment, and failover goes on behind it. Comments
 * then mark every further silence, so that no load balancer takes thinking for a dead connection.
 */
import { Clock, Duration, Effect, Fiber, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"

import type { ChatError } from "../../api/Errors.ts"
import type { StreamedAnswer } from "../../gateway/CompleteChat.ts"
import type { DrainSignal } from "../../gateway/Settlement.ts"
import { chunkWriter, done, type Envelope, joinThoughts, keepAlive } from "./ChatAnswer.ts"

export interface StreamOptions {
  readonly envelope: Envelope
  /** Silence after which the client gets a comment. */
  readonly keepAliveEvery: Duration.Duration
  /** What to name in a chunk when no model answered. */
  readonly requested: { readonly model: string; readonly routed: boolean }
  /** From then on no answer begins. */
  readonly closing: DrainSignal
}

/** What goes to the client at once. */
export interface StreamFrame {
  readonly text: string
  /** On the last one: the answer is complete and charged, or broke off. */
  readonly end?: "settled" | "broken"
}

/** The response, as soon as its status is known. */
export const respond = Effect.fnUntraced(function* <R>(
  opening: Effect.Effect<Stream.Stream<StreamFrame>, ChatError, R>,
  options: StreamOptions
) {
  const fiber = yield* Effect.forkScoped(Effect.raceFirst(opening, options.closing))
  const early = yield* Fiber.join(fiber).pipe(Effect.timeoutOption(options.keepAliveEvery))
  const frames = Option.match(early, {
    onSome: (opened) => opened,
    onNone: () =>
      Stream.concat(
        Stream.succeed<StreamFrame>({ text: keepAlive }),
        Stream.unwrap(Effect.catch(Fiber.join(fiber), (error) => Effect.succeed(failedFrames(error, options))))
      )
  })
  const body = yield* withKeepAlive(frames, options)
  return HttpServerResponse.stream(Stream.encodeText(body), {
    contentType: "text/event-stream; charset=utf-8",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
  })
})

/** An answer as its client reads it. */
export const framesOf = (answer: StreamedAnswer, envelope: Envelope): Stream.Stream<StreamFrame> => {
  const writer = chunkWriter(envelope, answer)
  let started = false
  // One frame per packet of the provider, not one per chunk.
  return Stream.mapArray(answer.items, (items): readonly [StreamFrame] => {
    let text = started ? "" : writer.first()
    started = true
    for (const item of joinThoughts(items)) text += writer.item(item)
    const last = items.at(-1)?.type
    return last === "settled" || last === "broken" ? [{ text: text + done, end: last }] : [{ text }]
  })
}

/** The gate was already open: the status is gone, so the error goes into the stream. */
const failedFrames = (error: ChatError, { envelope, requested }: StreamOptions): Stream.Stream<StreamFrame> => {
  const writer = chunkWriter(envelope, {
    model: requested.model,
    routing: { routed: requested.routed, model: null, latencyMillis: null }
  })
  return Stream.succeed({ text: writer.first() + writer.item({ type: "broken", error }) + done, end: "broken" })
}

/** Adds a comment whenever a while passes without a frame. Nothing follows the last frame. */
const withKeepAlive = Effect.fnUntraced(function* (frames: Stream.Stream<StreamFrame>, options: StreamOptions) {
  const clock = yield* Clock.Clock
  const everyMillis = Duration.toMillis(options.keepAliveEvery)
  let quietSince = clock.currentTimeMillisUnsafe()
  const marked = Stream.map(frames, (frame) => {
    quietSince = clock.currentTimeMillisUnsafe()
    return frame
  })
  const comment = Effect.gen(function* (): Effect.fn.Return<StreamFrame> {
    while (true) {
      const leftMillis = quietSince + everyMillis - clock.currentTimeMillisUnsafe()
      if (leftMillis <= 0) break
      yield* Effect.sleep(leftMillis)
    }
    quietSince = clock.currentTimeMillisUnsafe()
    return { text: keepAlive }
  })
  return Stream.merge(marked, Stream.fromEffectRepeat(comment), { haltStrategy: "left" }).pipe(
    Stream.takeUntil(({ end }) => end !== undefined),
    Stream.map(({ text }) => text)
  )
})
