/**
 * Answers to requests that carried an Idempotency-Key, kept for a day and shared by all replicas.
 *
 * The rule: a key is answered under one request id, and a charge is booked once per id. So an attempt whose end nobody
 * knows (its gateway died, its client left) can be made again without a second charge.
 */
import { hash } from "node:crypto"

import { Clock, Context, Data, Duration, Effect, Fiber, Layer, Schedule, type Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import type { EndpointName } from "../domain/Caller.ts"
import { type OrganizationId, type RequestId, requestId } from "../domain/Ids.ts"
import { deleteExpired } from "../sql/Expiry.ts"
import { timestamp } from "../sql/Timestamp.ts"

export interface IdempotentRequest {
  readonly organization: OrganizationId
  readonly endpoint: EndpointName
  readonly key: string
  /** What the answer depends on. Stored only as a hash. */
  readonly body: Uint8Array
  /** The request in hand. */
  readonly request: RequestId
}

export interface RecordedAnswer {
  readonly contentType: string
  readonly body: Uint8Array
}

/** How an attempt ended: with an answer to be kept, charged without one, or failed without a charge. */
export type AttemptOutcome = RecordedAnswer | "too_large" | "client_left" | "failed"

/** The question is the caller's to answer. When its scope closes without an end, the next who asks makes it again. */
export interface Claim {
  readonly _tag: "Claimed"
  /** The id to answer under: the caller's own, or that of an earlier attempt whose end nobody knows. */
  readonly request: RequestId
  /** Never fails: an end that cannot be stored is logged, and counts as not known. */
  readonly end: (ending: AttemptOutcome) => Effect.Effect<void>
}

export type ClaimResult =
  | Claim
  | { readonly _tag: "Answered"; readonly answer: RecordedAnswer }
  /** Charged, and not to be had again. */
  | { readonly _tag: "Gone"; readonly request: RequestId; readonly because: "too_large" | "client_left" }
  | { readonly _tag: "OtherBody" }
  /** Another request has been at it for as long as this one waited. */
  | { readonly _tag: "InFlight" }

export class RecordedAnswersError extends Data.TaggedError("RecordedAnswersError")<{ readonly cause: unknown }> {}

export class RecordedAnswers extends Context.Service<
  RecordedAnswers,
  {
    /** What is known of a question. Waits while another request is at it, and may then be given its claim. */
    readonly claim: (question: IdempotentRequest) => Effect.Effect<ClaimResult, RecordedAnswersError, Scope.Scope>
  }
>()("tollgate/idempotency/RecordedAnswers") {
  /** Answers in the database, and the sweep that removes those that have expired. */
  static readonly layerSql = Layer.effect(
    RecordedAnswers,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* deleteExpired({
        table: "recorded_answer",
        key: ["organization_id", "endpoint", "key"],
        batchSize: sweepBatch,
        every: sweepInterval
      })
      return RecordedAnswers.of({ claim: (question) => ask(sql, question) })
    })
  )
}

/** Bytes of one answer. A larger one is delivered and not kept. */
export const maxRecordedBytes = 1024 * 1024
const retention = Duration.hours(24)
/** A claim that was not renewed for so long is that of a dead gateway. */
const claimLifetime = Duration.seconds(30)
const renewInterval = Duration.seconds(10)
/** How long a repeat waits for the request before it; no answer takes longer. */
const waitLimit = Duration.minutes(15)
const firstLookMillis = 50
const maxLookMillis = 1_000
/** How long a question waits for the database. */
const patience = Duration.seconds(5)
/** How long a client that has been answered waits for its answer to be recorded. */
const endPatience = Duration.seconds(2)
const sweepInterval = Duration.minutes(1)
const sweepBatch = 100

const ask = Effect.fn("RecordedAnswers.ask")(function* (sql: SqlClient.SqlClient, question: IdempotentRequest) {
  const bodyHash = hash("sha256", question.body, "buffer")
  const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(waitLimit)
  for (let delayMillis = firstLookMillis; ; delayMillis = Math.min(delayMillis * 2, maxLookMillis)) {
    const row = yield* look(sql, question, bodyHash)
    if (row?.claimed) return yield* claimed(sql, question, requestId(row.request_id))
    const known = row && knownFrom(row)
    if (known !== undefined) return known
    if ((yield* Clock.currentTimeMillis) >= deadline) return { _tag: "InFlight" } as const
    yield* Effect.sleep(delayMillis)
  }
})

interface Row {
  readonly claimed: boolean
  readonly same_body: boolean
  readonly request_id: string
  readonly outcome: "answered" | "too_large" | "client_left" | null
  readonly content_type: string | null
  readonly answer: Uint8Array | null
}

/** `undefined` while it is in flight. */
const knownFrom = (row: Row): Exclude<ClaimResult, Claim> | undefined => {
  if (!row.same_body) return { _tag: "OtherBody" }
  if (row.outcome === "too_large" || row.outcome === "client_left") {
    return { _tag: "Gone", request: requestId(row.request_id), because: row.outcome }
  }
  if (row.answer === null || row.content_type === null) return undefined
  return { _tag: "Answered", answer: { contentType: row.content_type, body: row.answer } }
}

/** One statement: claims the question if nobody has it, else tells what is there; nothing if that came just now. */
const look = (sql: SqlClient.SqlClient, question: IdempotentRequest, bodyHash: Uint8Array) =>
  Effect.gen(function* () {
    const millis = yield* Clock.currentTimeMillis
    const now = timestamp(millis)
    const { endpoint, key, organization, request } = question
    const [row] = yield* sql<Row>`
      WITH claim AS (
        INSERT INTO recorded_answer AS known
          (organization_id, endpoint, key, body_sha256, request_id, claimed_by, claimed_until, expires_at)
        VALUES (${organization}, ${endpoint}, ${key}, ${bodyHash}, ${request}, ${request},
          ${later(millis, claimLifetime)}, ${later(millis, retention)})
        ON CONFLICT (organization_id, endpoint, key) DO UPDATE SET
          body_sha256 = excluded.body_sha256,
          request_id = CASE WHEN known.expires_at > ${now} THEN known.request_id ELSE excluded.request_id END,
          claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until, expires_at = excluded.expires_at,
          outcome = NULL, content_type = NULL, answer = NULL
        WHERE known.expires_at <= ${now}
          OR (known.claimed_until <= ${now} AND known.body_sha256 = excluded.body_sha256)
        RETURNING request_id
      )
      SELECT true AS claimed, true AS same_body, request_id, NULL AS outcome, NULL AS content_type, NULL AS answer
      FROM claim
      UNION ALL
      SELECT false, body_sha256 = ${bodyHash}, request_id, outcome, content_type, answer FROM recorded_answer
      WHERE ${isAbout(sql, question)} AND NOT EXISTS (SELECT FROM claim)`
    return row
  }).pipe(
    // The claim may have been made all the same.
    Effect.onInterrupt(() => logged(lapse(sql, question))),
    Effect.timeout(patience),
    Effect.mapError((cause) => new RecordedAnswersError({ cause }))
  )

/** Holds the claim against others until its scope closes. */
const claimed = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  question: IdempotentRequest,
  request: RequestId
) {
  let open = true
  yield* Effect.addFinalizer(() => Effect.suspend(() => (open ? logged(lapse(sql, question)) : Effect.void)))
  const heartbeat = yield* Effect.forkScoped(
    logged(renew(sql, question)).pipe(Effect.schedule(Schedule.spaced(renewInterval)))
  )
  const end = (ending: AttemptOutcome): Effect.Effect<void> =>
    Effect.gen(function* () {
      open = false
      yield* Fiber.interrupt(heartbeat)
      if (ending !== "failed") yield* keep(sql, question, ending)
      // Others may still have to finish under an id that is not this request's own.
      else yield* request === question.request ? forget(sql, question) : lapse(sql, question)
    }).pipe(logged, Effect.uninterruptible)
  return { _tag: "Claimed", request, end } satisfies Claim
})

const isAbout = (sql: SqlClient.SqlClient, { endpoint, key, organization }: IdempotentRequest) =>
  sql`organization_id = ${organization} AND endpoint = ${endpoint} AND key = ${key}`

/** As long as nobody else has taken the claim over. */
const isOurs = (sql: SqlClient.SqlClient, question: IdempotentRequest) =>
  sql`${isAbout(sql, question)} AND claimed_by = ${question.request} AND outcome IS NULL`

const later = (millis: number, by: Duration.Duration) => timestamp(millis + Duration.toMillis(by))

const renew = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, question: IdempotentRequest) {
  const until = later(yield* Clock.currentTimeMillis, claimLifetime)
  yield* sql`UPDATE recorded_answer SET claimed_until = ${until} WHERE ${isOurs(sql, question)}`
})

/** Gives the claim up. The request id stays: what was charged under it cannot be charged again. */
const lapse = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, question: IdempotentRequest) {
  const now = timestamp(yield* Clock.currentTimeMillis)
  yield* sql`UPDATE recorded_answer SET claimed_until = ${now} WHERE ${isOurs(sql, question)}`
})

const forget = (sql: SqlClient.SqlClient, question: IdempotentRequest) =>
  sql`DELETE FROM recorded_answer WHERE ${isOurs(sql, question)}`

const keep = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  question: IdempotentRequest,
  ending: Exclude<AttemptOutcome, "failed">
) {
  const until = later(yield* Clock.currentTimeMillis, retention)
  const answer = typeof ending !== "string" && ending.body.length <= maxRecordedBytes ? ending : undefined
  const outcome = typeof ending === "string" ? ending : answer === undefined ? "too_large" : "answered"
  yield* sql`
    UPDATE recorded_answer SET claimed_until = NULL, outcome = ${outcome}, expires_at = ${until},
      content_type = ${answer?.contentType ?? null}, answer = ${answer?.body ?? null}
    WHERE ${isOurs(sql, question)}`
})

const logged = <A>(write: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<void> =>
  write.pipe(
    Effect.timeout(endPatience),
    Effect.catchCause((cause) => Effect.logWarning("The fate of an idempotent request could not be stored", cause)),
    Effect.asVoid
  )
