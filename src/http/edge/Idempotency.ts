/**
 * The header `Idempotency-Key` and its errors. A repeat of a request gets the answer of the first and is not charged
 * again; a repeat while the first is in flight waits for it. What cannot be guaranteed is refused. A request without
 * the header takes none of these steps.
 */
import { Effect, Result, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"

import { IdempotencyConflict, InternalError, InvalidRequest } from "../../api/Errors.ts"
import { onePacket } from "../../domain/PacketSource.ts"
import { leftByClient } from "../../gateway/ClientLeft.ts"
import {
  type Claim,
  type Conflict,
  type IdempotentRequest,
  maxRecordedBytes,
  type RecordedAnswer,
  type Replay
} from "../../idempotency/IdempotentRequest.ts"
import type { RecordedAnswers } from "../../idempotency/RecordedAnswers.ts"
import {
  type AnswerUnder,
  recordAnswer,
  type RecordableStream,
  recordStream,
  textOfAnswer
} from "../../idempotency/Recording.ts"
import { describeFault } from "../../observability/ErrorDescription.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"

/** A request whose client may not have sent a key. */
export type OptionalIdempotentRequest = Omit<IdempotentRequest, "key"> & { readonly key: string | undefined }

/** The key in the header, if there is one. */
export const idempotencyKeyIn = (
  headers: Readonly<Record<string, string | undefined>>
): Result.Result<string | undefined, InvalidRequest> => {
  const key = headers["idempotency-key"]
  return key === undefined || /^[\x21-\x7e]{1,255}$/.test(key)
    ? Result.succeed(key)
    : Result.fail(InvalidRequest.of("The header Idempotency-Key must have 1 to 255 visible ASCII characters"))
}

/** An answer that is sent as a whole. */
export const answerOnce = <E, R>(
  recorded: RecordedAnswers["Service"],
  { key, ...request }: OptionalIdempotentRequest,
  run: AnswerUnder<RecordedAnswer, E, R>
) =>
  key === undefined
    ? run(request.request)
    : Effect.gen(function* () {
        const found = yield* claimOrReplay(recorded, { ...request, key })
        return found._tag === "Replay" ? found.answer : yield* recordAnswer(found, run)
      }).pipe(Effect.scoped)

/** An answer that is streamed; a replay of it is one text. */
export const streamOnce = <E, R>(
  recorded: RecordedAnswers["Service"],
  { key, ...request }: OptionalIdempotentRequest,
  run: AnswerUnder<RecordableStream, E, R>
) =>
  key === undefined
    ? run(request.request)
    : Effect.gen(function* () {
        const found = yield* claimOrReplay(recorded, { ...request, key })
        return found._tag === "Replay" ? replayed(found.answer) : yield* recordStream(found, run, leftByClient)
      })

const replayed = (answer: RecordedAnswer): RecordableStream => ({
  texts: onePacket([], () => Effect.succeed({ text: textOfAnswer(answer), end: "settled" })),
  ...(answer.adjusted !== undefined && { adjusted: answer.adjusted })
})

const claimOrReplay = Effect.fnUntraced(function* (
  recorded: RecordedAnswers["Service"],
  request: IdempotentRequest
): Effect.fn.Return<
  Claim | Replay,
  IdempotencyConflict | InternalError,
  Scope.Scope | HttpServerRequest.HttpServerRequest
> {
  const found = yield* recorded.claim(request).pipe(
    Effect.tapError(({ cause }) =>
      Effect.logError("An Idempotency-Key could not be looked up").pipe(
        Effect.annotateLogs({ cause: describeFault(cause) })
      )
    ),
    Effect.mapError(() => InternalError.of("The Idempotency-Key could not be checked; nothing was done, try again"))
  )
  if (found._tag === "Conflict") return yield* IdempotencyConflict.of(messageOf(found))
  if (found._tag === "Replay") yield* ResponseHeaders.addHeaders({ "idempotent-replayed": "true" })
  // The id of the receipt. The JSON of a transcription has no place for it, and `x-request-id` is the repeat's own.
  if (found.request !== request.request) yield* ResponseHeaders.addHeaders({ "idempotent-request-id": found.request })
  return found
})

const messageOf = (conflict: Conflict): string => {
  switch (conflict.reason) {
    case "different_body":
      return "This Idempotency-Key was used with another request body in the last 24 hours"
    case "in_flight":
      return "The first request with this Idempotency-Key is still being answered; try again later"
    default:
      return (
        `${unrecorded[conflict.reason]}. See /v1/generations/${conflict.request}; ` +
        "a request with a new key is made and charged again"
      )
  }
}

const unrecorded = {
  too_large:
    "The first request with this Idempotency-Key was answered and charged, but its answer is over " +
    `${maxRecordedBytes} bytes and was not recorded`,
  client_left:
    "The first request with this Idempotency-Key was left by its client in the middle of the stream, and charged for " +
    "what was delivered"
}
