/** `tollgate webhook`: where alerts are sent, and what came of it. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"

import { alertTypes } from "../domain/AlertType.ts"
import { deliveryId, webhookId } from "../domain/Ids.ts"
import { AdminClient } from "./AdminClient.ts"
import {
  adminCommandLayer,
  adminFlags,
  affirmed,
  given,
  responseMode,
  secondsOf,
  timeFlag,
  yes
} from "./AdminCommand.ts"
import { organizationOf } from "./AdminNames.ts"
import { pageFlags, printAnswer, printList } from "./AdminOutput.ts"

const webhook = Argument.String("webhook").pipe(Argument.withDescription("The id of a webhook."))
const delivery = Argument.String("delivery").pipe(Argument.withDescription("The id of a delivery."))
const url = Argument.String("url").pipe(Argument.withDescription("An https URL at a public address."))
const ofOrganization = Flag.String("org").pipe(
  Flag.withDescription("Only those of this organization, by id or name."),
  Flag.optional
)

const list = Command.make(
  "list",
  { ...pageFlags, org: ofOrganization },
  Effect.fn(function* ({ org, ...page }) {
    const { webhooks } = yield* AdminClient
    const filter = given({ organization_id: yield* Effect.transposeOption(Option.map(org, organizationOf)) })
    yield* printList(page, { columns: ["id", "url", "organization_id", "disabled_at"] }, (query) =>
      webhooks.listWebhooks({ query: { ...query, ...filter }, responseMode })
    )
  })
).pipe(Command.withDescription("List webhooks, the latest first."))

const create = Command.make(
  "create",
  {
    url,
    event: Flag.Literals("event", alertTypes).pipe(
      Flag.withDescription("Send only this event. It may be repeated; without it every event is sent."),
      Flag.atLeast(0)
    ),
    org: Flag.String("org").pipe(
      Flag.withDescription("Send only what is about this organization, by id or name."),
      Flag.optional
    ),
    description: Flag.String("description").pipe(Flag.withDescription("A note."), Flag.optional)
  },
  Effect.fn(function* ({ description, event, org, url }) {
    const { webhooks } = yield* AdminClient
    const options = given({
      organization_id: yield* Effect.transposeOption(Option.map(org, organizationOf)),
      description
    })
    const payload = { url, ...(event.length > 0 && { events: event }), ...options }
    yield* printAnswer(webhooks.createWebhook({ payload, responseMode }))
  })
).pipe(Command.withDescription("Send alerts to a URL. The secret is printed only this once."))

const get = Command.make(
  "get",
  { webhook },
  Effect.fn(function* ({ webhook }) {
    const { webhooks } = yield* AdminClient
    yield* printAnswer(webhooks.getWebhook({ params: { id: webhookId(webhook) }, responseMode }))
  })
).pipe(Command.withAlias("show"), Command.withDescription("Show one webhook."))

const switched = (name: string, disabled: boolean, description: string) =>
  Command.make(
    name,
    { webhook },
    Effect.fn(function* ({ webhook }) {
      const { webhooks } = yield* AdminClient
      yield* printAnswer(
        webhooks.updateWebhook({ params: { id: webhookId(webhook) }, payload: { disabled }, responseMode })
      )
    })
  ).pipe(Command.withDescription(description))

const remove = Command.make(
  "delete",
  { webhook, yes },
  Effect.fn(function* ({ webhook, yes }) {
    const { webhooks } = yield* AdminClient
    yield* affirmed(`This deletes webhook ${webhook} and the log of its deliveries`, yes)
    yield* printAnswer(webhooks.deleteWebhook({ params: { id: webhookId(webhook) }, responseMode }))
  })
).pipe(Command.withAlias("remove"), Command.withDescription("Delete a webhook and the log of its deliveries."))

const rotate = Command.make(
  "rotate-secret",
  {
    webhook,
    overlap: timeFlag("overlap", "How long deliveries are signed with the old secret as well, such as 0s or 24h.")
  },
  Effect.fn(function* ({ overlap, webhook }) {
    const { webhooks } = yield* AdminClient
    const payload = { overlap_seconds: secondsOf(overlap) }
    yield* printAnswer(webhooks.rotateWebhookSecret({ params: { id: webhookId(webhook) }, payload, responseMode }))
  })
).pipe(Command.withDescription("Replace the secret of a webhook. The new one is printed only this once."))

const test = Command.make(
  "test",
  { webhook },
  Effect.fn(function* ({ webhook }) {
    const { webhooks } = yield* AdminClient
    yield* printAnswer(webhooks.testWebhook({ params: { id: webhookId(webhook) }, responseMode }))
  })
).pipe(Command.withDescription("Send a test event. The answer is the delivery, which says later what came of it."))

const deliveries = Command.make(
  "deliveries",
  {
    ...pageFlags,
    org: ofOrganization,
    webhook: Flag.String("webhook").pipe(
      Flag.withDescription("Only deliveries to the webhook with this id."),
      Flag.optional
    ),
    status: Flag.Literals("status", ["pending", "delivered", "failed"]).pipe(
      Flag.withDescription("Only deliveries with this status."),
      Flag.optional
    )
  },
  Effect.fn(function* ({ org, status, webhook, ...page }) {
    const { webhooks } = yield* AdminClient
    const filter = given({
      organization_id: yield* Effect.transposeOption(Option.map(org, organizationOf)),
      webhook_id: Option.map(webhook, webhookId),
      status
    })
    const columns = ["id", "created_at", "event_type", "webhook_id", "status", "attempts", "next_attempt_at"]
    yield* printList(page, { columns }, (query) =>
      webhooks.listDeliveries({ query: { ...query, ...filter }, responseMode })
    )
  })
).pipe(Command.withDescription("List deliveries, the latest first."))

const getDelivery = Command.make(
  "delivery",
  { delivery },
  Effect.fn(function* ({ delivery }) {
    const { webhooks } = yield* AdminClient
    yield* printAnswer(webhooks.getDelivery({ params: { id: deliveryId(delivery) }, responseMode }))
  })
).pipe(Command.withDescription("Show one delivery with its attempts."))

const redeliver = Command.make(
  "redeliver",
  { delivery },
  Effect.fn(function* ({ delivery }) {
    const { webhooks } = yield* AdminClient
    yield* printAnswer(webhooks.redeliver({ params: { id: deliveryId(delivery) }, responseMode }))
  })
).pipe(Command.withDescription("Send a delivery again."))

export const webhookCommands = Command.make("webhook").pipe(
  Command.withSharedFlags(adminFlags),
  Command.withDescription("Where alerts are sent, and what came of them."),
  Command.withSubcommands([
    list,
    get,
    create,
    switched("disable", true, "Send nothing more to a webhook."),
    switched("enable", false, "Send alerts to a disabled webhook again."),
    remove,
    rotate,
    test,
    deliveries,
    getDelivery,
    redeliver
  ]),
  Command.provide(adminCommandLayer)
)
