/**
 * Sends a streamed answer as server-sent events. Nothing is sent before the first output, so that until then a failure
 * gets its true HTTP status. After ten seconds without output the response begins with a comment, and failover goes on
 * unseen. A further comment follows whenever the stream is silent for as long, so that no load balancer closes it.
 */
import { Cause, Duration, Effect, Exit, type Fiber, Option, Stream } from "effect"
import { HttpServerResponse } from "effect/http"

import type { ChatError } from "../../api/Errors.ts"
import { onePacket } from "../../domain/PacketSource.ts"
import { detailJoiner } from "../../domain/ReasoningBlocks.ts"
import type { StreamedAnswer } from "../../gateway/CompleteChat.ts"
import type { DrainSignal } from "../../gateway/Settlement.ts"
import type { AnswerTexts, RecordableStream } from "../../idempotency/Recording.ts"
import type { Deadlines } from "../../timing/Deadlines.ts"
import { adjustedHeader } from "../edge/ResponseHeaders.ts"
import { chunkWriter, doneLine, type Envelope, joinReasoning } from "./ChatAnswer.ts"
import { StreamBody } from "./StreamBody.ts"

export interface StreamOptions {
  readonly envelope: Envelope
  readonly deadlines: Deadlines
  /** How long a silence may last before the client is sent a comment. */
  readonly keepAliveEvery: Duration.Duration
  /** What an error chunk names when no model answered. */
  readonly requested: { readonly model: string; readonly routed: boolean }
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
  const body = new StreamBody({ deadlines, keepAliveMillis, scope })
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
      ...adjustedHeader(options.envelope.serviceName, early?.adjusted)
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

/**
 * Encodes an answer. The first text begins with the opening chunk, and the last one ends with `[DONE]`.
 * `keepsLastDetails`: the client keeps the `reasoning_details` of the last chunk that has some, and no others; so one
 * with all of them, each in one piece, comes at the end.
 */
export const textsOf = (
  { items, ...answer }: StreamedAnswer,
  envelope: Envelope,
  { keepsLastDetails = false }: { readonly keepsLastDetails?: boolean } = {}
): AnswerTexts => {
  const writer = chunkWriter(envelope, answer)
  const details = detailJoiner()
  let begins = true
  const opening = (): string => {
    const text = begins ? writer.first() : ""
    begins = false
    return text
  }
  return {
    // One text per packet from the provider, rather than one per chunk, saves writes to the socket.
    read: () => {
      const deltas = items.read()
      if (deltas === undefined || deltas === "over") return deltas
      let text = opening()
      if (keepsLastDetails) for (const item of deltas) if (item.type === "detail") details.append(item.detail)
      for (const item of joinReasoning(deltas)) text += writer.item(item)
      return [text]
    },
    whenReady: (ready) => items.whenReady(ready),
    end: () =>
      Effect.map(items.end(), (item) => {
        let text = opening()
        if (item.type === "settled" && details.joined.length > 0)
          text += writer.item({ type: "complete_details", details: details.joined })
        return { text: text + writer.item(item) + doneLine, end: item.type }
      })
  }
}

/** What is sent of an answer once the response has begun. */
const textsIn = (opened: Opened, options: StreamOptions): AnswerTexts => {
  if (Exit.isSuccess(opened)) return opened.value.texts
  const error = Cause.findErrorOption(opened.cause)
  return Option.isSome(error)
    ? errorTexts(error.value, options)
    : onePacket([], () => Effect.failCause(opened.cause as Cause.Cause<never>))
}

/** The status has already been sent, so the error goes into the stream. */
const errorTexts = (error: ChatError, { envelope, requested }: StreamOptions): AnswerTexts => {
  const writer = chunkWriter(envelope, {
    model: requested.model,
    routing: { routed: requested.routed, model: null, latencyMillis: null },
    adjustments: []
  })
  const text = writer.first() + writer.item({ type: "broken", error }) + doneLine
  return onePacket([], () => Effect.succeed({ text, end: "broken" }))
}
