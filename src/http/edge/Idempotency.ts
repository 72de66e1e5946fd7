/**
 * `Idempotency-Key`: a repeat of a request gets the answer of the first and is not charged again; a repeat while the
 * first is in flight waits for it. What cannot be guaranteed is refused. Without the header nothing is done at all.
 */
import { Effect, type Exit, Result, type Scope, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"

import { IdempotencyConflict, InternalError, InvalidRequest } from "../../api/Errors.ts"
import type { RequestId } from "../../domain/Ids.ts"
import { leftByClient } from "../../gateway/ClientLeft.ts"
import * as Recorded from "../../idempotency/RecordedAnswers.ts"
import type { StreamFrame } from "../chat/ChatStream.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"

/** A question whose client may not have sent a key. */
export type OptionalIdempotentRequest = Omit<Recorded.IdempotentRequest, "key"> & { readonly key: string | undefined }

/** The key in the header, if there is one. */
export const idempotencyKeyIn = (
  headers: Readonly<Record<string, string | undefined>>
): Result.Result<string | undefined, InvalidRequest> => {
  const key = headers["idempotency-key"]
  return key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)
    ? Result.succeed(key)
    : Result.fail(InvalidRequest.of("The header Idempotency-Key must have 1 to 255 visible ASCII characters"))
}

type Run<A, E, R> = (request: RequestId) => Effect.Effect<A, E, R>

/** Answers whole. `run` gets the id to hold, charge and answer under, which may be that of an earlier request. */
export const answerOnce = <E, R>(
  recorded: Recorded.RecordedAnswers["Service"],
  { key, ...asked }: OptionalIdempotentRequest,
  run: Run<Recorded.RecordedAnswer, E, R>
) =>
  key === undefined
    ? run(asked.request)
    : Effect.gen(function* () {
        const found = yield* find(recorded, { ...asked, key })
        if (found._tag === "Answered") return found.answer
        const answer = yield* Effect.tapError(run(found.request), () => found.end("failed"))
        yield* found.end(answer)
        return answer
      }).pipe(Effect.scoped)

/** Answers as a stream: recorded as it goes by, or one frame when it is a replay. */
export const streamOnce = <E, R>(
  recorded: Recorded.RecordedAnswers["Service"],
  { key, ...asked }: OptionalIdempotentRequest,
  run: Run<Stream.Stream<StreamFrame>, E, R>
) =>
  key === undefined
    ? run(asked.request)
    : Effect.gen(function* () {
        const found = yield* find(recorded, { ...asked, key })
        if (found._tag === "Answered") {
          return Stream.succeed<StreamFrame>({ text: utf8.decode(found.answer.body), end: "settled" })
        }
        const recorder = new Recorder(found)
        yield* Effect.addFinalizer((exit) => recorder.close(exit))
        const frames = yield* Effect.tapError(run(found.request), () => found.end("failed"))
        return Stream.tap(frames, (frame) => recorder.pass(frame))
      })

const find = Effect.fnUntraced(function* (
  recorded: Recorded.RecordedAnswers["Service"],
  question: Recorded.IdempotentRequest
): Effect.fn.Return<
  Extract<Recorded.ClaimResult, { readonly _tag: "Claimed" | "Answered" }>,
  IdempotencyConflict | InternalError,
  Scope.Scope | HttpServerRequest.HttpServerRequest
> {
  const known = yield* recorded.claim(question).pipe(
    Effect.tapError(({ cause }) => Effect.logError("An Idempotency-Key could not be looked up", cause)),
    Effect.mapError(() => InternalError.of("The Idempotency-Key could not be checked; nothing was done, try again"))
  )
  if (known._tag === "Answered") yield* ResponseHeaders.addHeaders({ "idempotent-replayed": "true" })
  else if (known._tag !== "Claimed") return yield* IdempotencyConflict.of(explain(known))
  return known
})

const explain = (known: Exclude<Recorded.ClaimResult, { readonly _tag: "Claimed" | "Answered" }>): string => {
  switch (known._tag) {
    case "OtherBody":
      return "This Idempotency-Key was used with another request body in the last 24 hours"
    case "InFlight":
      return "The first request with this Idempotency-Key is still being answered; try again later"
    case "Gone":
      return `${gone[known.because]}. See /v1/generations/${known.request}; a new key asks and pays anew`
  }
}

const gone = {
  too_large:
    "The first request with this Idempotency-Key was answered and charged, but its answer is over " +
    `${Recorded.maxRecordedBytes} bytes and was not kept`,
  client_left:
    "The first request with this Idempotency-Key was left by its client in the middle of the stream, and charged for " +
    "what was delivered"
}

const utf8 = new TextDecoder()

/** Keeps a copy of the frames that go by, up to the bound, and tells the claim how the stream ended. */
class Recorder {
  private readonly claim: Recorded.Claim
  private texts: Array<string> = []
  private bytes = 0
  private state: "silent" | "speaking" | "ended" = "silent"

  constructor(claim: Recorded.Claim) {
    this.claim = claim
  }

  pass({ end, text }: StreamFrame): Effect.Effect<void> {
    this.bytes += Buffer.byteLength(text)
    if (this.bytes <= Recorded.maxRecordedBytes) this.texts.push(text)
    else this.texts = []
    this.state = end === undefined ? "speaking" : "ended"
    if (end === undefined) return Effect.void
    if (end === "broken") return this.claim.end("failed")
    return this.claim.end(this.bytes > Recorded.maxRecordedBytes ? "too_large" : this.answer())
  }

  /** Who left after the first output was charged. In every other case nobody knows, and the claim lapses. */
  close(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    return this.state === "speaking" && leftByClient(exit) ? this.claim.end("client_left") : Effect.void
  }

  private answer(): Recorded.RecordedAnswer {
    return { contentType: "text/event-stream", body: Buffer.from(this.texts.join("")) }
  }
}
