/** The log of deliveries: what was sent where, and how each attempt ended. */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

import { type AccessError, notFound, orAccessUnavailable, webhookDisabled } from "../access/AccessError.ts"
import { AuditTrail } from "../access/AuditTrail.ts"
import {
  type DeliveryId,
  deliveryId,
  type OrganizationId,
  organizationId,
  type WebhookId,
  webhookId
} from "../domain/Ids.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import { currentTimestamp } from "../sql/Timestamp.ts"
import { AlertSignal } from "./AlertSignal.ts"

export const deliveryStatuses = ["pending", "delivered", "failed"] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

export interface Delivery {
  readonly id: DeliveryId
  readonly webhook: WebhookId
  /** The id of the alert, which is the `webhook-id` of every attempt. */
  readonly event: string
  readonly eventType: string
  readonly organization: OrganizationId | undefined
  readonly status: DeliveryStatus
  /** Since it was queued, or queued again. */
  readonly attempts: number
  readonly nextAttemptAtMillis: number | undefined
  readonly createdAtMillis: number
  readonly deliveredAtMillis: number | undefined
}

export interface DeliveryAttempt {
  readonly atMillis: number
  /** Absent if there was no answer. */
  readonly status: number | undefined
  readonly durationMillis: number
  readonly error: string | undefined
}

export interface DeliveryDetails extends Delivery {
  /** The body that is sent. */
  readonly payload: string
  /** The latest first, and at most the latest hundred. */
  readonly attemptLog: ReadonlyArray<DeliveryAttempt>
}

export interface DeliveryFilter {
  readonly webhook?: WebhookId | undefined
  readonly organization?: OrganizationId | undefined
  readonly status?: DeliveryStatus | undefined
  readonly eventType?: string | undefined
}

interface DeliveryRow {
  readonly id: string
  readonly webhook_id: string
  readonly event_id: string
  readonly type: string
  readonly organization_id: string | null
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly next_attempt_at: Date | null
  readonly created_at: Date
  readonly delivered_at: Date | null
  readonly body: string
}

interface AttemptRow {
  readonly at: Date
  readonly status: number | null
  readonly duration_millis: number
  readonly error: string | null
}

const maxAttempts = 100

export class DeliveryLog extends Context.Service<
  DeliveryLog,
  {
    /** The latest first. */
    readonly list: (filter: DeliveryFilter, page: PageRequest) => Effect.Effect<Page<Delivery>, AccessError>
    readonly get: (id: DeliveryId) => Effect.Effect<DeliveryDetails, AccessError>
    /** Queues it again, whatever came of it, with all of its attempts before it. */
    readonly redeliver: (id: DeliveryId) => Effect.Effect<Delivery, AccessError>
  }
>()("tollgate/alerts/DeliveryLog") {
  static readonly layer = Layer.effect(
    DeliveryLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const trail = yield* AuditTrail
      const signal = yield* AlertSignal
      const columns = sql.literal(`
        webhook_delivery.id, webhook_id, event_id, type, organization_id, status, attempts, next_attempt_at,
        webhook_delivery.created_at, delivered_at, body
        FROM webhook_delivery JOIN alert_event ON alert_event.id = event_id`)

      const list: DeliveryLog["Service"]["list"] = Effect.fn("DeliveryLog.list")(function* (filter, page) {
        const rows = yield* orAccessUnavailable(sql<DeliveryRow>`
          SELECT ${columns} WHERE ${sql.and([
            ...(page.cursor === undefined ? [] : [sql`webhook_delivery.id < ${page.cursor}::uuid`]),
            ...(filter.webhook === undefined ? [] : [sql`webhook_id = ${filter.webhook}::uuid`]),
            ...(filter.organization === undefined ? [] : [sql`organization_id = ${filter.organization}::uuid`]),
            ...(filter.status === undefined ? [] : [sql`status = ${filter.status}`]),
            ...(filter.eventType === undefined ? [] : [sql`type = ${filter.eventType}`])
          ])}
          ORDER BY webhook_delivery.id DESC LIMIT ${page.limit + 1}`)
        return pageOf(page, rows.map(deliveryOf), ({ id }) => id)
      })

      const get = Effect.fn("DeliveryLog.get")(function* (id: DeliveryId) {
        const [row] = yield* orAccessUnavailable(sql<DeliveryRow>`SELECT ${columns} WHERE webhook_delivery.id = ${id}`)
        if (row === undefined) return yield* notFound("delivery")
        const attempts = yield* orAccessUnavailable(sql<AttemptRow>`
          SELECT at, status, duration_millis, error FROM webhook_attempt
          WHERE delivery_id = ${id} ORDER BY id DESC LIMIT ${maxAttempts}`)
        return { ...deliveryOf(row), payload: row.body, attemptLog: attempts.map(attemptOf) }
      })

      const again = Effect.fnUntraced(function* (id: DeliveryId) {
        const [found] = yield* orAccessUnavailable(sql<{
          readonly webhook_id: string
          readonly is_disabled: boolean
        }>`
          SELECT webhook_id, disabled_at IS NOT NULL AS is_disabled
          FROM webhook_delivery JOIN webhook ON webhook.id = webhook_id WHERE webhook_delivery.id = ${id}
          FOR UPDATE`)
        if (found === undefined) return yield* notFound("delivery")
        if (found.is_disabled) return yield* webhookDisabled()
        const now = yield* currentTimestamp
        yield* orAccessUnavailable(sql`
          UPDATE webhook_delivery SET status = 'pending', attempts = 0, next_attempt_at = ${now}, claim = NULL,
            delivered_at = NULL
          WHERE id = ${id}`)
        const value = yield* get(id)
        const owner = value.organization === undefined ? {} : { organization: value.organization }
        const after = { webhook_id: found.webhook_id, event_id: value.event }
        return { value, change: { action: "webhook_delivery.redeliver", subject: id, ...owner, after } }
      })

      const redeliver = Effect.fn("DeliveryLog.redeliver")((id: DeliveryId) =>
        Effect.tap(trail.recorded(again(id)), () => signal.notify)
      )

      return DeliveryLog.of({ list, get, redeliver })
    })
  )
}

const deliveryOf = (row: DeliveryRow): Delivery => ({
  id: deliveryId(row.id),
  webhook: webhookId(row.webhook_id),
  event: row.event_id,
  eventType: row.type,
  organization: row.organization_id === null ? undefined : organizationId(row.organization_id),
  status: row.status,
  attempts: row.attempts,
  nextAttemptAtMillis: row.next_attempt_at?.getTime(),
  createdAtMillis: row.created_at.getTime(),
  deliveredAtMillis: row.delivered_at?.getTime()
})

const attemptOf = (row: AttemptRow): DeliveryAttempt => ({
  atMillis: row.at.getTime(),
  status: row.status ?? undefined,
  durationMillis: row.duration_millis,
  error: row.error ?? undefined
})
