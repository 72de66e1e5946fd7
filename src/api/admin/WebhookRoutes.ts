/** The routes for webhooks, to which alerts are sent, and for the log of their deliveries. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import { alertTypes } from "../../domain/AlertType.ts"
import { DeliveryId, OrganizationId, WebhookId } from "../../domain/Ids.ts"
import { RequestValidation, strictBodies, Time } from "../RequestRules.ts"
import { AdminAuthorization, listOf, PageQuery, summary } from "./AdminRoutes.ts"

const Events = Schema.Array(Schema.Literals(alertTypes))
  .check(Schema.isMinLength(1))
  .annotate({ description: "The events that are sent; null sends every one." })
const Url = Schema.String.annotate({ description: "Where events are posted: an https URL at a public address." })
const Description = Schema.String.check(Schema.isMaxLength(1_000))

const webhookMembers = {
  object: Schema.Literal("webhook"),
  id: WebhookId,
  url: Schema.String,
  events: Schema.NullOr(Events),
  organization_id: Schema.NullOr(OrganizationId).annotate({
    description: "Only events of this organization are sent; null sends those of all, and of the gateway."
  }),
  description: Schema.NullOr(Schema.String),
  created_at: Time,
  disabled_at: Schema.NullOr(Time),
  disabled_reason: Schema.NullOr(Schema.String).annotate({
    description: "`operator`, or `gone` because the receiver answered with status 410."
  })
}

export const WebhookBody = Schema.Struct(webhookMembers).annotate({ identifier: "Webhook" })

export const WebhookWithSecretBody = Schema.Struct({
  ...webhookMembers,
  secret: Schema.String.annotate({ description: "What deliveries are signed with. It is shown only this once." })
}).annotate({ identifier: "WebhookWithSecret" })

/** A webhook to be made. */
export const NewWebhookBody = Schema.Struct({
  url: Url,
  events: Schema.optionalKey(Schema.NullOr(Events)),
  organization_id: Schema.optionalKey(Schema.NullOr(OrganizationId)),
  description: Schema.optionalKey(Schema.NullOr(Description))
})

/** What can be changed of a webhook. */
export const WebhookPatch = Schema.Struct({
  url: Schema.optionalKey(Url),
  events: Schema.optionalKey(Schema.NullOr(Events)),
  description: Schema.optionalKey(Schema.NullOr(Description)),
  disabled: Schema.optionalKey(Schema.Boolean)
})

const deliveryMembers = {
  object: Schema.Literal("webhook_delivery"),
  id: DeliveryId,
  webhook_id: WebhookId,
  event_id: Schema.String.annotate({ description: "The header `webhook-id` of every attempt." }),
  event_type: Schema.String,
  organization_id: Schema.NullOr(OrganizationId),
  status: Schema.Literals(["pending", "delivered", "failed"]),
  attempts: Schema.Int.annotate({ description: "Since it was queued, or queued again." }),
  next_attempt_at: Schema.NullOr(Time),
  created_at: Time,
  delivered_at: Schema.NullOr(Time)
}

export const DeliveryBody = Schema.Struct(deliveryMembers).annotate({ identifier: "WebhookDelivery" })

const AttemptBody = Schema.Struct({
  at: Time,
  status: Schema.NullOr(Schema.Int).annotate({ description: "Of the answer; null if there was none." }),
  duration_ms: Schema.Int,
  error: Schema.NullOr(Schema.String).annotate({ description: "What went wrong, with the beginning of the answer." })
})

export const DeliveryDetailsBody = Schema.Struct({
  ...deliveryMembers,
  payload: Schema.String.annotate({ description: "The body that is sent, byte for byte." }),
  attempt_log: Schema.Array(AttemptBody).annotate({ description: "The latest attempt first." })
}).annotate({ identifier: "WebhookDeliveryDetails" })

const maxOverlapSeconds = 30 * 24 * 3_600

const SecretRotation = Schema.Struct({
  overlap_seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxOverlapSeconds })).annotate({
    description: "How long deliveries are signed with the old secret as well."
  })
})

const webhooksPath = "/admin/v1/webhooks"
const webhookPath = "/admin/v1/webhooks/:id"
const deliveriesPath = "/admin/v1/webhook_deliveries"

export const WebhookRoutes = HttpApiGroup.make("webhooks")
  .add(
    HttpApiEndpoint.get("listWebhooks", webhooksPath, {
      query: Schema.Struct({ ...PageQuery.fields, organization_id: Schema.optionalKey(OrganizationId) }),
      success: listOf(WebhookBody)
    }).annotateMerge(summary("List webhooks")),
    HttpApiEndpoint.post("createWebhook", webhooksPath, {
      payload: NewWebhookBody,
      success: WebhookWithSecretBody
    }).annotateMerge(summary("Send alerts to a URL")),
    HttpApiEndpoint.get("getWebhook", webhookPath, {
      params: { id: WebhookId },
      success: WebhookBody
    }).annotateMerge(summary("One webhook")),
    HttpApiEndpoint.patch("updateWebhook", webhookPath, {
      params: { id: WebhookId },
      payload: WebhookPatch,
      success: WebhookBody
    }).annotateMerge(summary("Change, disable or enable a webhook")),
    HttpApiEndpoint.delete("deleteWebhook", webhookPath, {
      params: { id: WebhookId },
      success: Schema.Struct({
        object: Schema.Literal("webhook"),
        id: WebhookId,
        deleted: Schema.Literal(true)
      })
    }).annotateMerge(summary("Delete a webhook and its deliveries")),
    HttpApiEndpoint.post("rotateWebhookSecret", `${webhookPath}/rotate_secret`, {
      params: { id: WebhookId },
      payload: SecretRotation,
      success: WebhookWithSecretBody
    }).annotateMerge(summary("Replace the secret of a webhook")),
    HttpApiEndpoint.post("testWebhook", `${webhookPath}/test`, {
      params: { id: WebhookId },
      success: DeliveryDetailsBody
    }).annotateMerge(summary("Send a test event to a webhook")),
    HttpApiEndpoint.get("listDeliveries", deliveriesPath, {
      query: Schema.Struct({
        ...PageQuery.fields,
        webhook_id: Schema.optionalKey(WebhookId),
        organization_id: Schema.optionalKey(OrganizationId),
        status: Schema.optionalKey(deliveryMembers.status),
        event_type: Schema.optionalKey(Schema.Literals([...alertTypes, "webhook.test"]))
      }),
      success: listOf(DeliveryBody)
    }).annotateMerge(summary("List deliveries of alerts")),
    HttpApiEndpoint.get("getDelivery", `${deliveriesPath}/:id`, {
      params: { id: DeliveryId },
      success: DeliveryDetailsBody
    }).annotateMerge(summary("One delivery with its attempts")),
    HttpApiEndpoint.post("redeliver", `${deliveriesPath}/:id/redeliver`, {
      params: { id: DeliveryId },
      success: DeliveryBody
    }).annotateMerge(summary("Send a delivery again"))
  )
  .middleware(RequestValidation)
  .middleware(AdminAuthorization)
  .annotateMerge(strictBodies)
  .annotate(OpenApi.Title, "Admin: webhooks")
