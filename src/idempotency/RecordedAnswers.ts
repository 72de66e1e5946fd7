/**
 * Answers to requests that carried an Idempotency-Key, recorded for a day and shared by all replicas.
 *
 * The rule: all requests with one key are answered under one request id, and a charge is booked once per id. So a
 * request whose outcome is not known (its gateway died, its client left) can be made again without a second charge.
 */
import { hash } from "node:crypto"

import { Clock, Context, Data, Duration, Effect, Fiber, Layer, type Scope } from "effect"
import type { SqlError } from "effect/sql"

import { type RequestId, requestId } from "../domain/Ids.ts"
import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { describeCause } from "../observability/ErrorDescription.ts"
import { deleteExpired } from "../sql/Expiry.ts"
import { type AnswerRow, makeAnswerTable } from "./AnswerTable.ts"
import type { Claim, Conflict, IdempotentRequest, Replay, RequestOutcome } from "./IdempotentRequest.ts"

/** The database did not answer, so it is not known whether the key was used before. */
export class RecordedAnswersError extends Data.TaggedError("RecordedAnswersError")<{ readonly cause: unknown }> {}

export class RecordedAnswers extends Context.Service<
  RecordedAnswers,
  {
    /** Waits while another request with the same key is in flight. A claim ends with the scope. */
    readonly claim: (
      request: IdempotentRequest
    ) => Effect.Effect<Claim | Replay | Conflict, RecordedAnswersError, Scope.Scope>
  }
>()("tollgate/idempotency/RecordedAnswers") {
  /** Answers in the database. Those that have expired are deleted in the background. */
  static readonly layer = Layer.effect(
    RecordedAnswers,
    Effect.gen(function* () {
      const table = yield* makeAnswerTable
      yield* deleteExpired({
        table: "recorded_answer",
        key: ["organization_id", "endpoint", "key"],
        batchSize: 100,
        every: "1 minute"
      })

      const claimOrRead = (request: IdempotentRequest, bodyHash: Uint8Array) =>
        table.claimOrRead(request, bodyHash).pipe(
          // The statement may have claimed the key although its result was lost.
          Effect.onInterrupt(() => logFailure(table.releaseClaim(request))),
          Effect.timeout(lookupTimeout),
          Effect.mapError((cause) => new RecordedAnswersError({ cause }))
        )

      /** Keeps the key claimed until the claim is ended or its scope closes. */
      const openClaim = Effect.fnUntraced(function* (request: IdempotentRequest, answeredUnder: RequestId) {
        let isOpen = true
        yield* Effect.addFinalizer(() =>
          Effect.suspend(() => (isOpen ? logFailure(table.releaseClaim(request)) : Effect.void))
        )
        const renewal = yield* repeatInBackground({
          run: Effect.timeout(table.renewClaim(request), writeTimeout),
          every: renewInterval,
          failureMessage: "The claim on an Idempotency-Key could not be renewed"
        })
        const end = (outcome: RequestOutcome): Effect.Effect<void> =>
          Effect.gen(function* () {
            isOpen = false
            yield* Fiber.interrupt(renewal)
            if (outcome !== "failed") return yield* table.storeOutcome(request, outcome)
            // The id of an earlier request must stay: that request may have been charged.
            if (answeredUnder === request.request) yield* table.remove(request)
            else yield* table.releaseClaim(request)
          }).pipe(logFailure, Effect.uninterruptible)
        return { _tag: "Claim", request: answeredUnder, end } satisfies Claim
      })

      const claim = Effect.fn("RecordedAnswers.claim")(function* (request: IdempotentRequest) {
        const bodyHash = hash("sha256", request.body, "buffer")
        const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(waitLimit)
        for (let delayMillis = firstPollMillis; ; delayMillis = Math.min(delayMillis * 2, maxPollMillis)) {
          const row = yield* claimOrRead(request, bodyHash)
          if (row?.claimed) return yield* openClaim(request, requestId(row.request_id))
          const result = row && resultOf(row)
          if (result !== undefined) return result
          if ((yield* Clock.currentTimeMillis) >= deadline) {
            return { _tag: "Conflict", reason: "in_flight" } satisfies Conflict
          }
          yield* Effect.sleep(delayMillis)
        }
      })

      return RecordedAnswers.of({ claim })
    })
  )
}

const renewInterval = Duration.seconds(10)
/** How long a repeat waits for a request in flight; no answer takes longer. */
const waitLimit = Duration.minutes(15)
/**
 * A waiting repeat reads the row again after a delay that starts at the first of these and doubles up to the second.
 */
const firstPollMillis = 50
const maxPollMillis = 1_000
/** How long a claim waits for the database. */
const lookupTimeout = Duration.seconds(5)
/** How long a client that has its answer waits for it to be recorded. */
const writeTimeout = Duration.seconds(2)

/** `undefined` while the request of the row is in flight. */
const resultOf = (row: AnswerRow): Replay | Conflict | undefined => {
  if (!row.same_body) return { _tag: "Conflict", reason: "different_body" }
  if (row.outcome === "too_large" || row.outcome === "client_left") {
    return { _tag: "Conflict", reason: row.outcome, request: requestId(row.request_id) }
  }
  if (row.answer === null || row.content_type === null) return undefined
  const { adjusted, answer: body, content_type: contentType } = row
  return {
    _tag: "Replay",
    request: requestId(row.request_id),
    answer: { contentType, body, ...(adjusted !== null && { adjusted }) }
  }
}

const logFailure = <A>(write: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<void> =>
  write.pipe(
    Effect.timeout(writeTimeout),
    Effect.catchCause((cause) =>
      Effect.logWarning("The outcome of an idempotent request could not be stored").pipe(
        Effect.annotateLogs({ cause: describeCause(cause) })
      )
    ),
    Effect.asVoid
  )
