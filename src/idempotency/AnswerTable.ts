/**
 * The statements on the table `recorded_answer`. A row belongs to a key of an organization and endpoint. While it has
 * `claimed_until` its request is in flight, and once it has an `outcome` its request has ended.
 *
 * The rule: only the request that claimed a row may change it, and only until another request has claimed it.
 */
import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"

import { currentTimestamp, timestamp } from "../sql/Timestamp.ts"
import { type IdempotentRequest, maxRecordedBytes, type RequestOutcome } from "./IdempotentRequest.ts"

const retention = Duration.hours(24)
/** A claim that was not renewed for this long belongs to a dead gateway. */
const claimLifetime = Duration.seconds(30)

/** The row of a key. Once this request has claimed it, only the id matters. */
export interface AnswerRow {
  /** Whether this request has claimed the key now. */
  readonly claimed: boolean
  readonly same_body: boolean
  /** The id that the request is answered under. */
  readonly request_id: string
  readonly outcome: "answered" | "too_large" | "client_left" | null
  readonly content_type: string | null
  readonly answer: Uint8Array | null
  readonly adjusted: string | null
}

export const makeAnswerTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const isRowOf = ({ endpoint, key, organization }: IdempotentRequest) =>
    sql`organization_id = ${organization} AND endpoint = ${endpoint} AND key = ${key}`

  const isClaimedBy = (request: IdempotentRequest) =>
    sql`${isRowOf(request)} AND claimed_by = ${request.request} AND outcome IS NULL`

  /**
   * Claims the key if it is new, has expired, or was claimed for the same body by a request that is no longer alive;
   * otherwise reads its row. `undefined` if another request inserted the row while this statement ran.
   */
  const claimOrRead = Effect.fnUntraced(function* (idempotent: IdempotentRequest, bodyHash: Uint8Array) {
    const millis = yield* Clock.currentTimeMillis
    const now = timestamp(millis)
    const { endpoint, key, organization, request } = idempotent
    const [row] = yield* sql<AnswerRow>`
      WITH claim AS (
        INSERT INTO recorded_answer AS existing
          (organization_id, endpoint, key, body_sha256, request_id, claimed_by, claimed_until, expires_at)
        VALUES (${organization}, ${endpoint}, ${key}, ${bodyHash}, ${request}, ${request},
          ${timestampAfter(millis, claimLifetime)}, ${timestampAfter(millis, retention)})
        ON CONFLICT (organization_id, endpoint, key) DO UPDATE SET
          body_sha256 = excluded.body_sha256,
          request_id = CASE WHEN existing.expires_at > ${now} THEN existing.request_id ELSE excluded.request_id END,
          claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until, expires_at = excluded.expires_at,
          outcome = NULL, content_type = NULL, answer = NULL, adjusted = NULL
        WHERE existing.expires_at <= ${now}
          OR (existing.claimed_until <= ${now} AND existing.body_sha256 = excluded.body_sha256)
        RETURNING request_id
      )
      SELECT true AS claimed, true AS same_body, request_id, NULL AS outcome, NULL AS content_type, NULL AS answer,
        NULL AS adjusted
      FROM claim
      UNION ALL
      SELECT false, body_sha256 = ${bodyHash}, request_id, outcome, content_type, answer, adjusted FROM recorded_answer
      WHERE ${isRowOf(idempotent)} AND NOT EXISTS (SELECT FROM claim)`
    return row
  })

  const renewClaim = Effect.fnUntraced(function* (request: IdempotentRequest) {
    const until = timestampAfter(yield* Clock.currentTimeMillis, claimLifetime)
    yield* sql`UPDATE recorded_answer SET claimed_until = ${until} WHERE ${isClaimedBy(request)}`
  })

  /** Lets the next repeat claim the key. The row keeps its request id, under which a charge can be booked only once. */
  const releaseClaim = Effect.fnUntraced(function* (request: IdempotentRequest) {
    const now = yield* currentTimestamp
    yield* sql`UPDATE recorded_answer SET claimed_until = ${now} WHERE ${isClaimedBy(request)}`
  })

  /** Removes the row, as if the key had never been used. */
  const remove = (request: IdempotentRequest) => sql`DELETE FROM recorded_answer WHERE ${isClaimedBy(request)}`

  /** Ends the claim and records the outcome, with the answer unless it is too large. */
  const storeOutcome = Effect.fnUntraced(function* (request: IdempotentRequest, ended: ChargedOutcome) {
    const until = timestampAfter(yield* Clock.currentTimeMillis, retention)
    const { adjusted, body, contentType, outcome } = columnsOf(ended)
    yield* sql`
      UPDATE recorded_answer SET claimed_until = NULL, outcome = ${outcome}, expires_at = ${until},
        content_type = ${contentType}, answer = ${body}, adjusted = ${adjusted}
      WHERE ${isClaimedBy(request)}`
  })

  return { claimOrRead, renewClaim, releaseClaim, remove, storeOutcome }
})

const timestampAfter = (millis: number, lifetime: Duration.Duration) => timestamp(millis + Duration.toMillis(lifetime))

type ChargedOutcome = Exclude<RequestOutcome, "failed">

const noAnswer = { contentType: null, body: null, adjusted: null }

const columnsOf = (ended: ChargedOutcome) => {
  if (typeof ended === "string") return { outcome: ended, ...noAnswer }
  const { adjusted = null, body, contentType } = ended
  return body.length > maxRecordedBytes
    ? { outcome: "too_large", ...noAnswer }
    : { outcome: "answered", contentType, body, adjusted }
}
