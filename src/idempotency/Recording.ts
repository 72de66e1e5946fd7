/**
 * Answers a request under its claim and ends the claim with the outcome: recorded when the answer is complete, failed
 * when there is none. A stream is recorded while it is sent.
 */
import { Effect, type Exit, Stream } from "effect"

import type { RequestId } from "../domain/Ids.ts"
import { type Claim, maxRecordedBytes, type RecordedAnswer } from "./IdempotentRequest.ts"

/** Makes the answer. The request id that it gets may be that of an earlier request. */
export type AnswerUnder<A, E, R> = (request: RequestId) => Effect.Effect<A, E, R>

/** A piece of a streamed answer. `end` is on the last one: the answer is complete and charged, or broke off. */
export interface RecordableFrame {
  readonly text: string
  readonly end?: "settled" | "broken"
}

/** A streamed answer that is about to be sent. */
export interface RecordableStream<Frame extends RecordableFrame> {
  readonly frames: Stream.Stream<Frame>
  /** See `RecordedAnswer`. */
  readonly adjusted?: string
}

/** Records an answer that is sent as a whole. */
export const recordAnswer = <E, R>(claim: Claim, run: AnswerUnder<RecordedAnswer, E, R>) =>
  run(claim.request).pipe(
    Effect.tapError(() => claim.end("failed")),
    Effect.tap((answer) => claim.end(answer))
  )

/**
 * Records an answer that is sent as server-sent events. `leftByClient` decides from the exit of the request's scope
 * whether the client has disconnected.
 */
export const recordStream = Effect.fnUntraced(function* <Frame extends RecordableFrame, E, R>(
  claim: Claim,
  run: AnswerUnder<RecordableStream<Frame>, E, R>,
  leftByClient: (exit: Exit.Exit<unknown, unknown>) => boolean
) {
  const recorder = new StreamRecorder(claim)
  yield* Effect.addFinalizer((exit) => recorder.close(leftByClient(exit)))
  const opened = yield* Effect.tapError(run(claim.request), () => claim.end("failed"))
  recorder.adjusted = opened.adjusted
  return { ...opened, frames: Stream.tap(opened.frames, (frame) => recorder.record(frame)) }
})

/** Copies the frames of a stream, up to the size limit, and ends the claim when the stream ends. */
class StreamRecorder {
  /** Known once the stream has been opened. */
  adjusted: string | undefined = undefined
  private readonly claim: Claim
  private texts: Array<string> = []
  private bytes = 0
  private state: "not_started" | "streaming" | "ended" = "not_started"

  constructor(claim: Claim) {
    this.claim = claim
  }

  record({ end, text }: RecordableFrame): Effect.Effect<void> {
    this.bytes += Buffer.byteLength(text)
    if (this.bytes <= maxRecordedBytes) this.texts.push(text)
    else this.texts = []
    this.state = end === undefined ? "streaming" : "ended"
    if (end === undefined) return Effect.void
    if (end === "broken") return this.claim.end("failed")
    return this.claim.end(this.bytes > maxRecordedBytes ? "too_large" : this.answer())
  }

  /**
   * A client that left after the first output was charged. In every other case the outcome of an unfinished stream is
   * not known: the claim is not ended, and the next repeat makes the request again.
   */
  close(leftByClient: boolean): Effect.Effect<void> {
    return this.state === "streaming" && leftByClient ? this.claim.end("client_left") : Effect.void
  }

  private answer(): RecordedAnswer {
    const body = Buffer.from(this.texts.join(""))
    return { contentType: "text/event-stream", body, ...(this.adjusted !== undefined && { adjusted: this.adjusted }) }
  }
}

const utf8 = new TextDecoder()

/** The whole text of a recorded stream. */
export const textOfAnswer = ({ body }: RecordedAnswer): string => utf8.decode(body)
