/**
 * A streamed answer as server-sent events. Nothing is sent before the first output, so until then a failure has its
 * true status; after ten seconds of silence the gate opens with a comment, and failover goes on behind it. Comments
 * then mark every further silence, so that no load balancer takes thinking for a dead connection.
 */
import { Clock, Duration, Effect, Fiber, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"

import { type ChatError, InternalError } from "../api/Errors.ts"
import type { StreamedAnswer } from "../gateway/CompleteChat.ts"
import { type ChunkWriter, chunkWriter, done, type Envelope, joinThoughts, keepAlive } from "./ChatAnswer.ts"

export interface StreamOptions {
  readonly envelope: Envelope
  /** Silence after which the client gets a comment. */
  readonly keepAliveEvery: Duration.Duration
  /** What to name in a chunk when no model answered. */
  readonly requested: { readonly model: string; readonly routed: boolean }
  /** Returns when the gateway is about to go, and the stream has to end. */
  readonly closing: Effect.Effect<void>
}

/** What goes to the client at once. */
export interface Frame {
  readonly text: string
  /** On the last one: the answer is complete and charged, or broke off. */
  readonly end?: "settled" | "broken"
}

/** The response, as soon as its status is known. */
export const respond = Effect.fnUntraced(function* <R>(
  opening: Effect.Effect<Stream.Stream<Frame>, ChatError, R>,
  options: StreamOptions
) {
  const fiber = yield* Effect.forkScoped(opening)
  const early = yield* Fiber.join(fiber).pipe(Effect.timeoutOption(options.keepAliveEvery))
  const frames = Option.match(early, {
    onSome: (opened) => opened,
    onNone: () =>
      Stream.concat(
        Stream.succeed<Frame>({ text: keepAlive }),
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
export const framesOf = (answer: StreamedAnswer, envelope: Envelope): Stream.Stream<Frame> => {
  const writer = chunkWriter(envelope, answer)
  let started = false
  // One frame per packet of the provider, not one per chunk.
  return Stream.mapArray(answer.items, (items): readonly [Frame] => {
    let text = started ? "" : writer.first()
    started = true
    for (const item of joinThoughts(items)) text += writer.item(item)
    const last = items.at(-1)?.type
    return last === "settled" || last === "broken" ? [{ text: text + done, end: last }] : [{ text }]
  })
}

/** The gate was already open: the status is gone, so the error goes into the stream. */
const failedFrames = (error: ChatError, options: StreamOptions): Stream.Stream<Frame> => {
  const writer = writerOfNobody(options)
  return Stream.succeed({ text: writer.first() + writer.item({ type: "broken", error }) + done, end: "broken" })
}

/** For chunks in no model's name. */
const writerOfNobody = ({ envelope, requested }: StreamOptions): ChunkWriter =>
  chunkWriter(envelope, {
    model: requested.model,
    routing: { routed: requested.routed, model: null, latencyMillis: null }
  })

const stopped = InternalError.of("The gateway was stopped before the answer was complete")

/** Adds a comment whenever a while passes without a frame, and an end when the gateway goes first. */
const withKeepAlive = Effect.fnUntraced(function* (frames: Stream.Stream<Frame>, options: StreamOptions) {
  const clock = yield* Clock.Clock
  const everyMillis = Duration.toMillis(options.keepAliveEvery)
  let quietSince = clock.currentTimeMillisUnsafe()
  const marked = Stream.map(frames, ({ text }) => {
    quietSince = clock.currentTimeMillisUnsafe()
    return text
  })
  const comment = Effect.gen(function* () {
    while (true) {
      const leftMillis = quietSince + everyMillis - clock.currentTimeMillisUnsafe()
      if (leftMillis <= 0) break
      yield* Effect.sleep(leftMillis)
    }
    quietSince = clock.currentTimeMillisUnsafe()
    return keepAlive
  })
  const comments = Stream.fromEffectRepeat(comment).pipe(
    Stream.interruptWhen(options.closing),
    Stream.concat(Stream.sync(() => writerOfNobody(options).item({ type: "broken", error: stopped }) + done))
  )
  return Stream.merge(marked, comments, { haltStrategy: "either" })
})
