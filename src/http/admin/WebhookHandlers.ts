/** `/admin/v1/webhooks` and `/admin/v1/webhook_deliveries`. */
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { Alerts } from "../../alerts/Alerts.ts"
import { type Delivery, type DeliveryDetails, DeliveryLog } from "../../alerts/DeliveryLog.ts"
import { Webhooks } from "../../alerts/Webhooks.ts"
import type { Webhook } from "../../alerts/WebhookTable.ts"
import { webhookUrlFault } from "../../alerts/WebhookUrl.ts"
import { AdminApi } from "../../api/admin/AdminApi.ts"
import type {
  DeliveryBody,
  DeliveryDetailsBody,
  NewWebhookBody,
  WebhookBody,
  WebhookPatch
} from "../../api/admin/WebhookRoutes.ts"
import { InvalidRequest } from "../../api/Errors.ts"
import { type AlertType, organizationAlerts } from "../../domain/AlertType.ts"
import type { WebhookId } from "../../domain/Ids.ts"
import { listBody, pageRequestOf, timeOf, timeOrNull } from "../edge/ListWire.ts"
import { orAdminError } from "./AdminErrors.ts"

export interface WebhookOptions {
  readonly alerts: { readonly privateWebhooks: boolean }
}

export const webhookHandlersLayer = ({ alerts: { privateWebhooks } }: WebhookOptions) =>
  HttpApiBuilder.group(AdminApi, "webhooks", (handlers) =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const deliveries = yield* DeliveryLog
      const alerts = yield* Alerts
      const { create, update } = yield* makeChecked(privateWebhooks)
      return handlers
        .handle("listWebhooks", ({ query }) =>
          webhooks.list(query.organization_id, pageRequestOf(query)).pipe(
            Effect.map((page) => listBody(page, webhookBody)),
            orAdminError
          )
        )
        .handle("createWebhook", ({ payload }) => create(payload))
        .handle("getWebhook", ({ params }) => webhooks.get(params.id).pipe(Effect.map(webhookBody), orAdminError))
        .handle("updateWebhook", ({ params, payload }) => update(params.id, payload))
        .handle("deleteWebhook", ({ params: { id } }) =>
          webhooks.remove(id).pipe(Effect.as({ object: "webhook" as const, id, deleted: true as const }), orAdminError)
        )
        .handle("rotateWebhookSecret", ({ params, payload }) =>
          webhooks.rotate(params.id, payload.overlap_seconds).pipe(
            Effect.map(({ secret, ...webhook }) => ({ ...webhookBody(webhook), secret: Redacted.value(secret) })),
            orAdminError
          )
        )
        .handle("testWebhook", ({ params }) =>
          alerts.test(params.id).pipe(Effect.flatMap(deliveries.get), Effect.map(detailsBody), orAdminError)
        )
        .handle("listDeliveries", ({ query }) =>
          deliveries
            .list(
              {
                webhook: query.webhook_id,
                organization: query.organization_id,
                status: query.status,
                eventType: query.event_type
              },
              pageRequestOf(query)
            )
            .pipe(
              Effect.map((page) => listBody(page, deliveryBody)),
              orAdminError
            )
        )
        .handle("getDelivery", ({ params }) => deliveries.get(params.id).pipe(Effect.map(detailsBody), orAdminError))
        .handle("redeliver", ({ params }) =>
          deliveries.redeliver(params.id).pipe(Effect.map(deliveryBody), orAdminError)
        )
    })
  )

/** Changes whose URL and events are checked first. */
const makeChecked = Effect.fnUntraced(function* (privateWebhooks: boolean) {
  const webhooks = yield* Webhooks

  const checkUrl = (url: string | undefined) => {
    const fault = url === undefined ? undefined : webhookUrlFault(url, privateWebhooks)
    return fault === undefined ? Effect.void : Effect.fail(InvalidRequest.of(`url: ${fault}`))
  }

  const create = Effect.fnUntraced(function* (payload: typeof NewWebhookBody.Type) {
    yield* checkUrl(payload.url)
    const organization = payload.organization_id ?? undefined
    if (organization !== undefined) yield* checkEvents(payload.events)
    const { secret, ...webhook } = yield* webhooks
      .create({
        url: payload.url,
        events: payload.events ?? undefined,
        organization,
        description: payload.description ?? undefined
      })
      .pipe(orAdminError)
    return { ...webhookBody(webhook), secret: Redacted.value(secret) }
  })

  const update = Effect.fnUntraced(function* (id: WebhookId, payload: typeof WebhookPatch.Type) {
    yield* checkUrl(payload.url)
    const { organization } = yield* orAdminError(webhooks.get(id))
    if (organization !== undefined) yield* checkEvents(payload.events)
    return webhookBody(yield* orAdminError(webhooks.update(id, payload)))
  })

  return { create, update }
})

const ofOrganizations: ReadonlyArray<AlertType> = organizationAlerts

/** Fails if a webhook of an organization wants events that no organization has. */
const checkEvents = (events: ReadonlyArray<AlertType> | null | undefined) => {
  const foreign = events?.find((event) => !ofOrganizations.includes(event))
  return foreign === undefined
    ? Effect.void
    : Effect.fail(
        InvalidRequest.of(`events: a webhook of an organization gets ${organizationAlerts.join(" and ")} only`)
      )
}

const webhookBody = (webhook: Webhook): typeof WebhookBody.Type => ({
  object: "webhook",
  id: webhook.id,
  url: webhook.url,
  events: webhook.events ?? null,
  organization_id: webhook.organization ?? null,
  description: webhook.description ?? null,
  created_at: timeOf(webhook.createdAtMillis),
  disabled_at: timeOrNull(webhook.disabledAtMillis),
  disabled_reason: webhook.disabledReason ?? null
})

const deliveryBody = (delivery: Delivery): typeof DeliveryBody.Type => ({
  object: "webhook_delivery",
  id: delivery.id,
  webhook_id: delivery.webhook,
  event_id: delivery.event,
  event_type: delivery.eventType,
  organization_id: delivery.organization ?? null,
  status: delivery.status,
  attempts: delivery.attempts,
  next_attempt_at: timeOrNull(delivery.nextAttemptAtMillis),
  created_at: timeOf(delivery.createdAtMillis),
  delivered_at: timeOrNull(delivery.deliveredAtMillis)
})

const detailsBody = (delivery: DeliveryDetails): typeof DeliveryDetailsBody.Type => ({
  ...deliveryBody(delivery),
  payload: delivery.payload,
  attempt_log: delivery.attemptLog.map(({ atMillis, durationMillis, error, status }) => ({
    at: timeOf(atMillis),
    status: status ?? null,
    duration_ms: durationMillis,
    error: error ?? null
  }))
})
