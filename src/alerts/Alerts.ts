/**
 * Stores alerts, and queues each for the webhooks that want it. The rule: an alert, its deliveries and what is
 * remembered of its condition are written in one transaction, so that of any number of gateways that see a condition
 * one alerts it, and it is alerted again only after it has ended.
 */
import { Clock, Context, DateTime, Duration, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError } from "effect/sql"

import { type AccessError, notFound, orAccessUnavailable, webhookDisabled } from "../access/AccessError.ts"
import type { AlertType } from "../domain/AlertType.ts"
import { type DeliveryId, deliveryId, type WebhookId } from "../domain/Ids.ts"
import { firstRow } from "../sql/FirstRow.ts"
import { timestamp } from "../sql/Timestamp.ts"
import { type Alert, alertBody, testAlert } from "./Alert.ts"
import { AlertSignal } from "./AlertSignal.ts"

/** Something that begins and ends. One is alerted once for its kind, subject and episode. */
export interface Condition {
  readonly kind: AlertType
  /** The id of what it is about. */
  readonly subject: string
  /** Such as the period of a budget. */
  readonly episode?: string
}

export interface AlertOptions {
  /** How long alerts and the log of their deliveries are kept. */
  readonly deliveryLogDays: number
}

/** More deliveries of one webhook do not wait: they are logged as failed, and can be sent again on request. */
export const maxPendingDeliveries = 1_000

export class Alerts extends Context.Service<
  Alerts,
  {
    /** False, and nothing is stored, if the condition holds already. */
    readonly raise: (condition: Condition, alert: Alert) => Effect.Effect<boolean, SqlError.SqlError>
    /** Ends a condition, and tells so with the alert, if there is one. False if it does not hold. */
    readonly end: (condition: Condition, alert: Option.Option<Alert>) => Effect.Effect<boolean, SqlError.SqlError>
    /** Sends an alert to one webhook, whichever events it wants. */
    readonly test: (webhook: WebhookId) => Effect.Effect<DeliveryId, AccessError>
  }
>()("tollgate/alerts/Alerts") {
  static readonly layer = (options: AlertOptions) =>
    Layer.effect(
      Alerts,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { queue, queueForAll } = yield* makeQueue(options)
        const signal = yield* AlertSignal

        const raise = Effect.fn("Alerts.raise")(function* ({ episode = "", kind, subject }: Condition, alert: Alert) {
          const now = timestamp(yield* Clock.currentTimeMillis)
          const isNew = yield* sql`
            INSERT INTO alert_condition (kind, subject, episode, started_at)
            VALUES (${kind}, ${subject}, ${episode}, ${now}) ON CONFLICT DO NOTHING RETURNING 1 AS found`.pipe(
            Effect.map((rows) => rows.length > 0),
            Effect.tap((isNew) => (isNew ? queueForAll(alert) : Effect.void)),
            sql.withTransaction
          )
          if (isNew) yield* signal.notify
          return isNew
        })

        const end = Effect.fn("Alerts.end")(function* (condition: Condition, alert: Option.Option<Alert>) {
          const { episode = "", kind, subject } = condition
          const held = yield* sql`
            DELETE FROM alert_condition WHERE kind = ${kind} AND subject = ${subject} AND episode = ${episode}
            RETURNING 1 AS found`.pipe(
            Effect.map((rows) => rows.length > 0),
            Effect.tap((held) => (held && Option.isSome(alert) ? queueForAll(alert.value) : Effect.void)),
            sql.withTransaction
          )
          if (held) yield* signal.notify
          return held
        })

        const test = Effect.fn("Alerts.test")(function* (webhook: WebhookId) {
          const [found] = yield* orAccessUnavailable(
            sql<{
              readonly is_disabled: boolean
            }>`SELECT disabled_at IS NOT NULL AS is_disabled FROM webhook WHERE id = ${webhook}`
          )
          if (found === undefined) return yield* notFound("webhook")
          if (found.is_disabled) return yield* webhookDisabled()
          const id = yield* orAccessUnavailable(
            sql.withTransaction(queue({ type: testAlert, data: { webhook_id: webhook } }, [webhook]))
          ).pipe(Effect.flatMap(firstRow))
          yield* signal.notify
          return deliveryId(id)
        })

        return Alerts.of({ raise, end, test })
      })
    )
}

/** Queues alerts. What it returns are the ids of the deliveries, and has to run in a transaction. */
const makeQueue = Effect.fnUntraced(function* ({ deliveryLogDays }: AlertOptions) {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom

  /** Stores the alert, and one delivery for each of the webhooks. */
  const queue = Effect.fnUntraced(function* (alert: Alert, webhooks: ReadonlyArray<string>) {
    if (webhooks.length === 0) return []
    const millis = yield* Clock.currentTimeMillis
    const now = timestamp(millis)
    const expires = timestamp(millis + Duration.toMillis(Duration.days(deliveryLogDays)))
    const event = yield* random.uuidV7()
    const body = alertBody(event, DateTime.formatIso(DateTime.makeUnsafe(millis)), alert)
    yield* sql`
      INSERT INTO alert_event (id, type, organization_id, created_at, expires_at, body)
      VALUES (${event}, ${alert.type}, ${alert.organization ?? null}::uuid, ${now}, ${expires}, ${body})`
    const deliveries = yield* Effect.forEach(webhooks, () => random.uuidV7())
    yield* sql`
      INSERT INTO webhook_delivery (id, webhook_id, event_id, status, created_at, next_attempt_at)
      SELECT id, webhook, ${event}, CASE WHEN is_full THEN 'failed' ELSE 'pending' END, ${now},
        CASE WHEN NOT is_full THEN ${now} END
      FROM (
        SELECT id, webhook, (
          SELECT count(*) FROM (
            SELECT 1 FROM webhook_delivery
            WHERE webhook_id = webhook AND status = 'pending' LIMIT ${maxPendingDeliveries}
          ) AS waiting
        ) >= ${maxPendingDeliveries} AS is_full
        FROM unnest(${deliveries}::uuid[], ${webhooks}::uuid[]) AS wanted (id, webhook)
      ) AS counted`
    return deliveries
  })

  const queueForAll = Effect.fnUntraced(function* (alert: Alert) {
    const wanting = yield* sql<{ readonly id: string }>`
      SELECT id FROM webhook
      WHERE disabled_at IS NULL AND (events IS NULL OR ${alert.type} = ANY (events))
        AND (organization_id IS NULL OR organization_id = ${alert.organization ?? null}::uuid)`
    return yield* queue(
      alert,
      wanting.map(({ id }) => id)
    )
  })

  return { queue, queueForAll }
})
