/** Everything of alerts on the database of a suite, without what runs in the background. */
import { Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"

import { AuditTrail } from "../../src/access/AuditTrail.ts"
import { Organizations } from "../../src/access/Organizations.ts"
import { Alerts } from "../../src/alerts/Alerts.ts"
import { AlertSignal } from "../../src/alerts/AlertSignal.ts"
import { Deliveries } from "../../src/alerts/Deliveries.ts"
import { DeliveryLog } from "../../src/alerts/DeliveryLog.ts"
import { type NewWebhook, Webhooks } from "../../src/alerts/Webhooks.ts"
import { type SenderOptions, WebhookSender } from "../../src/alerts/WebhookSender.ts"

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
