/**
 * Sends what is queued. Any number of gateways do so on one database: each takes deliveries that are due and that no
 * other has taken. The rule: taking a delivery sets the time at which another gateway may take it over, so that one
 * that was killed meanwhile loses nothing; so a message can arrive twice, and always with the same id.
 */
import { Clock, Context, Duration, Effect, Layer, Metric, Option, Random } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError } from "effect/sql"

import { webhookId } from "../domain/Ids.ts"
import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { counterOf, observed } from "../observability/MetricSeries.ts"
import { metricTable } from "../observability/MetricTable.ts"
import { deleteExpired } from "../sql/Expiry.ts"
import { timestamp } from "../sql/Timestamp.ts"
import { AlertSignal } from "./AlertSignal.ts"
import { retryDelayMillis } from "./RetrySchedule.ts"
import { Webhooks } from "./Webhooks.ts"
import { type SendResult, WebhookSender } from "./WebhookSender.ts"
import { type SecretColumns, validSecrets } from "./WebhookTable.ts"

/** Several times as long as an attempt can take. */
export const claimLifetime = Duration.minutes(1)
/** Of one webhook at a time, so that a receiver that does not answer holds up no other one. */
const maxPerWebhook = 4
const maxPerBatch = 64
/** Until it looks for deliveries that another gateway queued. */
const longestWait = Duration.minutes(1)
const gone = 410

interface ClaimedRow extends SecretColumns {
  readonly id: string
  readonly webhook_id: string
  readonly event_id: string
  readonly claim: string
  readonly attempts: number
  readonly url: string
  readonly body: string
}

export class Deliveries extends Context.Service<
  Deliveries,
  {
    /** Sends one batch of what is due, waits for the answers, and returns how many there were. */
    readonly deliverDue: Effect.Effect<number, SqlError.SqlError>
    /** Until the next delivery is due; `None` if none is queued. Zero if one is late. */
    readonly untilDue: Effect.Effect<Option.Option<Duration.Duration>, SqlError.SqlError>
  }
>()("tollgate/alerts/Deliveries") {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const sender = yield* WebhookSender
      const webhooks = yield* Webhooks
      let pending = 0
      yield* observed(metricTable.pendingDeliveries, () => pending)

      // A delivery that is queued while its webhook is being disabled is not among those that are given up then.
      const claimDue = Effect.gen(function* () {
        const claim = yield* random.uuidV4()
        const millis = yield* Clock.currentTimeMillis
        return yield* sql<ClaimedRow>`
          WITH given_up AS (
            UPDATE webhook_delivery SET status = 'failed', next_attempt_at = NULL, claim = NULL
            WHERE status = 'pending' AND webhook_id IN (SELECT id FROM webhook WHERE disabled_at IS NOT NULL)
          ), due AS (
            SELECT waiting.id FROM webhook CROSS JOIN LATERAL (
              SELECT id, next_attempt_at FROM webhook_delivery
              WHERE webhook_id = webhook.id AND status = 'pending' AND next_attempt_at <= ${timestamp(millis)}
              ORDER BY next_attempt_at LIMIT ${maxPerWebhook} FOR UPDATE SKIP LOCKED
            ) AS waiting
            WHERE webhook.disabled_at IS NULL
            ORDER BY waiting.next_attempt_at LIMIT ${maxPerBatch}
          )
          UPDATE webhook_delivery SET attempts = attempts + 1, claim = ${claim}::uuid,
            next_attempt_at = ${timestamp(millis + Duration.toMillis(claimLifetime))}
          FROM due, webhook, alert_event
          WHERE webhook_delivery.id = due.id AND webhook.id = webhook_delivery.webhook_id
            AND alert_event.id = webhook_delivery.event_id
          RETURNING webhook_delivery.id, webhook_id, event_id, claim, attempts, url, body,
            secret, previous_secret, previous_secret_until`
      })

      const complete = yield* makeCompletion

      const deliver = Effect.fnUntraced(function* (row: ClaimedRow) {
        const secrets = validSecrets(row, yield* Clock.currentTimeMillis)
        const result = yield* sender.send({ id: row.event_id, url: row.url, body: row.body, secrets })
        const outcome = yield* sql.withTransaction(complete(row, result))
        yield* Metric.update(counterOf(metricTable.deliveries, { outcome }), 1)
        if (result.status !== gone) return
        yield* Effect.logWarning("A webhook was disabled because its receiver is gone").pipe(
          Effect.annotateLogs({ webhook: row.webhook_id })
        )
        yield* Effect.ignore(webhooks.disableGone(webhookId(row.webhook_id)))
      })

      const deliverDue = Effect.gen(function* () {
        const rows = yield* claimDue
        // One that fails, because the database does, must not end the others: they would be sent again.
        const ends = yield* Effect.forEach(rows, (row) => Effect.exit(deliver(row)), { concurrency: "unbounded" })
        for (const end of ends) yield* end
        return rows.length
      }).pipe(Effect.withSpan("Deliveries.deliverDue"))

      const untilDue = Effect.gen(function* () {
        const [row] = yield* sql<{ readonly due: Date | null; readonly count: bigint }>`
          SELECT min(next_attempt_at) AS due, count(*) AS count FROM webhook_delivery WHERE status = 'pending'`
        pending = Number(row?.count ?? 0n)
        const now = yield* Clock.currentTimeMillis
        return Option.map(Option.fromNullOr(row?.due ?? null), (due) =>
          Duration.millis(Math.max(0, due.getTime() - now))
        )
      })

      return Deliveries.of({ deliverDue, untilDue })
    })
  )
}

/** Writes how an attempt ended and what follows from it, and returns that. */
const makeCompletion = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom

  const logAttempt = Effect.fnUntraced(function* (delivery: string, result: SendResult) {
    const id = yield* random.uuidV7()
    yield* sql`
      INSERT INTO webhook_attempt (id, delivery_id, at, status, duration_millis, error)
      SELECT ${id}, id, ${timestamp(result.atMillis)}, ${result.status ?? null}, ${result.durationMillis},
        ${result.error ?? null}
      FROM webhook_delivery WHERE id = ${delivery}`
  })

  const complete = Effect.fnUntraced(function* ({ attempts, claim, id }: ClaimedRow, result: SendResult) {
    const now = result.atMillis + result.durationMillis
    yield* logAttempt(id, result)
    if (result.error === undefined) {
      yield* sql`
        UPDATE webhook_delivery SET status = 'delivered', next_attempt_at = NULL, claim = NULL,
          delivered_at = ${timestamp(now)}
        WHERE id = ${id}`
      return "delivered"
    }
    const delay = result.status === gone ? undefined : retryDelayMillis(attempts, yield* Random.next)
    // Another gateway may have taken it over, and decides then.
    yield* sql`
      UPDATE webhook_delivery SET claim = NULL, status = ${delay === undefined ? "failed" : "pending"},
        next_attempt_at = ${delay === undefined ? null : timestamp(now + delay)}
      WHERE id = ${id} AND claim = ${claim}::uuid AND status = 'pending'`
    return delay === undefined ? "failed" : "retried"
  })

  return complete
})

/** Sends all that is queued, as long as the scope is open, and deletes what has been kept long enough. */
export const deliveriesLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { deliverDue, untilDue } = yield* Deliveries
    const signal = yield* AlertSignal
    yield* repeatInBackground({
      run: Effect.gen(function* () {
        const due = yield* untilDue
        yield* Effect.timeoutOption(
          signal.wait,
          Duration.min(
            Option.getOrElse(due, () => longestWait),
            longestWait
          )
        )
        yield* Effect.repeat(deliverDue, { while: (sent) => sent > 0 })
      }),
      every: "5 seconds",
      startAtOnce: true,
      failureMessage: "Webhooks could not be delivered"
    })
    yield* deleteExpired({ table: "alert_event", key: ["id"], batchSize: 500, every: "1 hour" })
  })
)
