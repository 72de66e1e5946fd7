/**
 * Answers a request under its claim and ends the claim with the outcome: recorded when the answer is complete, failed
 * when there is none. A stream is recorded while it is sent.
 */
import { Effect, type Exit } from "effect"

import type { RequestId } from "../domain/Ids.ts"
import type { PacketSource } from "../domain/PacketSource.ts"
import { type Claim, maxRecordedBytes, type RecordedAnswer } from "./IdempotentRequest.ts"

/** Makes the answer. The request id that it gets may be that of an earlier request. */
export type AnswerUnder<A, E, R> = (request: RequestId) => Effect.Effect<A, E, R>

/** The last piece of a streamed answer, which is complete and charged, or broke off. */
export interface LastText {
  readonly text: string
  readonly end: "settled" | "broken"
}

/** The pieces of a streamed answer, each of which is sent in one go. */
export type AnswerTexts = PacketSource<string, Effect.Effect<LastText>>

/** A streamed answer that is about to be sent. */
export interface RecordableStream {
  readonly texts: AnswerTexts
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
export const recordStream = Effect.fnUntraced(function* <E, R>(
  claim: Claim,
  run: AnswerUnder<RecordableStream, E, R>,
  leftByClient: (exit: Exit.Exit<unknown, unknown>) => boolean
) {
  const recorder = new StreamRecorder(claim)
  yield* Effect.addFinalizer((exit) => recorder.close(leftByClient(exit)))
  const opened = yield* Effect.tapError(run(claim.request), () => claim.end("failed"))
  recorder.adjusted = opened.adjusted
  return { ...opened, texts: recorder.recording(opened.texts) }
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

  /** The same texts, recorded as they are read. */
  recording(texts: AnswerTexts): AnswerTexts {
    return {
      ...texts,
      read: () => {
        const packet = texts.read()
        if (packet === undefined || packet === "over") return packet
        this.state = "streaming"
        for (const text of packet) this.keep(text)
        return packet
      },
      // The claim ends before the last text is sent, so that a repeat finds the answer.
      end: () => Effect.tap(texts.end(), (last) => this.finish(last))
    }
  }

  private keep(text: string): void {
    this.bytes += Buffer.byteLength(text)
    if (this.bytes <= maxRecordedBytes) this.texts.push(text)
    else this.texts = []
  }

  private finish({ end, text }: LastText): Effect.Effect<void> {
    this.keep(text)
    this.state = "ended"
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
