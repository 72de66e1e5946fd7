/** Everything of alerts on the database of a suite, without what runs in the background. */
import { Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { AuditTrail } from "../../src/access/AuditTrail.ts"
import { Organizations } from "../../src/access/Organizations.ts"
import { Alerts } from "../../src/alerts/Alerts.ts"
import { AlertSignal } from "../../src/alerts/AlertSignal.ts"
import { Deliveries } from "../../src/alerts/Deliveries.ts"
import { DeliveryLog } from "../../src/alerts/DeliveryLog.ts"
import { type NewWebhook, Webhooks } from "../../src/alerts/Webhooks.ts"
import { type SenderOptions, WebhookSender } from "../../src/alerts/WebhookSender.ts"
import type { OrganizationId } from "../../src/domain/Ids.ts"
import { usd } from "../support/TestGateway.ts"

export const layerAlerts = (options: SenderOptions = { privateWebhooks: true }) =>
  Layer.mergeAll(Deliveries.layer, DeliveryLog.layer, Alerts.layer({ deliveryLogDays: 30 })).pipe(
    Layer.provideMerge(WebhookSender.layer(options)),
    Layer.provideMerge(Webhooks.layer),
    Layer.provideMerge(Organizations.layer),
    Layer.provideMerge(AuditTrail.layer),
    Layer.provideMerge(AlertSignal.layer),
    Layer.provideMerge(SecureRandom.layerWebCrypto)
  )

/** A webhook for the time of a test. */
export const webhookTo = Effect.fnUntraced(function* (url: string, options: Omit<NewWebhook, "url"> = {}) {
  const webhooks = yield* Webhooks
  const made = yield* Effect.acquireRelease(webhooks.create({ url, ...options }), ({ id }) =>
    Effect.ignore(webhooks.remove(id))
  )
  return { ...made, secret: Redacted.value(made.secret) }
})

export const checkOptions = { lowBalance: usd("1") }

/** What was alerted about an organization, or about the gateway, the oldest first. */
export const sentAlerts = Effect.fnUntraced(function* (organization?: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly body: string }>`
    SELECT body FROM alert_event WHERE organization_id IS NOT DISTINCT FROM ${organization ?? null}::uuid ORDER BY id`
  return rows.map(({ body }) => {
    const { data, type } = JSON.parse(body) as { readonly type: string; readonly data: Record<string, unknown> }
    return { type, data }
  })
})
