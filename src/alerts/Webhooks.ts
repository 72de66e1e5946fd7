/**
 * Where alerts are sent. The rule: the secret of a webhook is returned when it is made, and never again.
 */
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { type AccessError, notFound, orAccessUnavailable } from "../access/AccessError.ts"
import { AuditTrail, unlessSame } from "../access/AuditTrail.ts"
import { Organizations } from "../access/Organizations.ts"
import type { AlertType } from "../domain/AlertType.ts"
import { type OrganizationId, type WebhookId } from "../domain/Ids.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import { firstRow } from "../sql/FirstRow.ts"
import { currentTimestamp, timestamp } from "../sql/Timestamp.ts"
import { newWebhookSecret } from "./WebhookSignature.ts"
import * as WebhookTable from "./WebhookTable.ts"

export interface NewWebhook {
  readonly url: string
  readonly events?: ReadonlyArray<AlertType> | undefined
  readonly organization?: OrganizationId | undefined
  readonly description?: string | undefined
}

/** What is left out stays as it is, and `null` takes it away. */
export interface WebhookChange {
  readonly url?: string | undefined
  readonly events?: ReadonlyArray<AlertType> | null | undefined
  readonly description?: string | null | undefined
  readonly disabled?: boolean | undefined
}

export interface WebhookWithSecret extends WebhookTable.Webhook {
  readonly secret: Redacted.Redacted
}

export class Webhooks extends Context.Service<
  Webhooks,
  {
    readonly create: (webhook: NewWebhook) => Effect.Effect<WebhookWithSecret, AccessError>
    readonly get: (id: WebhookId) => Effect.Effect<WebhookTable.Webhook, AccessError>
    /** The latest first. */
    readonly list: (
      organization: OrganizationId | undefined,
      page: PageRequest
    ) => Effect.Effect<Page<WebhookTable.Webhook>, AccessError>
    /** Nothing more is sent to one that is disabled, and what waits is given up. */
    readonly update: (id: WebhookId, change: WebhookChange) => Effect.Effect<WebhookTable.Webhook, AccessError>
    /** Disables one whose receiver says that it is gone. */
    readonly disableGone: (id: WebhookId) => Effect.Effect<void, AccessError>
    /** Deletes it together with its deliveries. */
    readonly remove: (id: WebhookId) => Effect.Effect<void, AccessError>
    /** Deliveries are signed with both secrets for `overlapSeconds`. */
    readonly rotate: (id: WebhookId, overlapSeconds: number) => Effect.Effect<WebhookWithSecret, AccessError>
  }
>()("tollgate/alerts/Webhooks") {
  static readonly layer = Layer.effect(
    Webhooks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const trail = yield* AuditTrail
      const organizations = yield* Organizations
      const snapshot = sql.literal(withoutSecrets)
      const newSecret = Effect.provideService(newWebhookSecret, SecureRandom.SecureRandom, random)
      const { change, removal, rotation } = yield* makeChanges

      const create = Effect.fn("Webhooks.create")(function* (webhook: NewWebhook) {
        const { description, events, organization, url } = webhook
        if (organization !== undefined) yield* organizations.get(organization)
        const id = yield* random.uuidV7()
        const secret = yield* newSecret
        const now = yield* currentTimestamp
        return yield* orAccessUnavailable(sql<WebhookTable.ChangedWebhookRow>`
          INSERT INTO webhook (id, url, events, organization_id, description, secret, created_at)
          VALUES (${id}, ${url}, ${events ?? null}::text[], ${organization ?? null}::uuid, ${description ?? null},
            ${Redacted.value(secret)}, ${now})
          RETURNING *, ${snapshot}`).pipe(
          Effect.flatMap(firstRow),
          Effect.map((row) => ({
            value: { ...WebhookTable.webhookOf(row), secret },
            change: { action: "webhook.create", subject: id, ...ownerOf(row), after: row.snapshot }
          })),
          trail.recorded
        )
      })

      const get = Effect.fn("Webhooks.get")(function* (id: WebhookId) {
        const [row] = yield* orAccessUnavailable(sql<WebhookTable.WebhookRow>`SELECT * FROM webhook WHERE id = ${id}`)
        return row === undefined ? yield* notFound("webhook") : WebhookTable.webhookOf(row)
      })

      const list: Webhooks["Service"]["list"] = Effect.fn("Webhooks.list")(function* (organization, page) {
        const rows = yield* orAccessUnavailable(sql<WebhookTable.WebhookRow>`
          SELECT * FROM webhook
          WHERE ${sql.and([
            ...(page.cursor === undefined ? [] : [sql`id < ${page.cursor}::uuid`]),
            ...(organization === undefined ? [] : [sql`organization_id = ${organization}::uuid`])
          ])}
          ORDER BY id DESC LIMIT ${page.limit + 1}`)
        return pageOf(page, rows.map(WebhookTable.webhookOf), ({ id }) => id)
      })

      const update = Effect.fn("Webhooks.update")((id: WebhookId, changed: WebhookChange) =>
        trail.recorded(change(id, changed, WebhookTable.disabledByOperator))
      )

      const disableGone = Effect.fn("Webhooks.disableGone")((id: WebhookId) =>
        Effect.asVoid(trail.recorded(change(id, { disabled: true }, WebhookTable.disabledAsGone)))
      )

      const remove = Effect.fn("Webhooks.remove")((id: WebhookId) => trail.recorded(removal(id)))

      const rotate = Effect.fn("Webhooks.rotate")((id: WebhookId, overlapSeconds: number) =>
        trail.recorded(rotation(id, overlapSeconds))
      )

      return Webhooks.of({ create, get, list, update, disableGone, remove, rotate })
    })
  )
}

const withoutSecrets = "to_jsonb(webhook) - 'secret' - 'previous_secret' AS snapshot"

/** The changes of a webhook with their records, each to be run in a transaction. */
const makeChanges = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const snapshot = sql.literal(withoutSecrets)

  const locked = Effect.fnUntraced(function* (id: WebhookId) {
    const [row] = yield* orAccessUnavailable(sql<WebhookTable.ChangedWebhookRow>`
      SELECT *, ${snapshot} FROM webhook WHERE id = ${id} FOR UPDATE`)
    return row === undefined ? yield* notFound("webhook") : row
  })

  const giveUp = (id: WebhookId) =>
    orAccessUnavailable(sql`
      UPDATE webhook_delivery SET status = 'failed', next_attempt_at = NULL, claim = NULL
      WHERE webhook_id = ${id} AND status = 'pending'`)

  const change = Effect.fnUntraced(function* (id: WebhookId, changed: WebhookChange, reason: string) {
    const before = yield* locked(id)
    const now = yield* currentTimestamp
    const isDisabled = changed.disabled ?? before.disabled_at !== null
    const after = yield* orAccessUnavailable(sql<WebhookTable.ChangedWebhookRow>`
      UPDATE webhook SET
        url = ${changed.url ?? before.url},
        events = ${changed.events === undefined ? before.events : changed.events}::text[],
        description = ${changed.description === undefined ? before.description : changed.description},
        disabled_at = CASE WHEN ${isDisabled} THEN coalesce(disabled_at, ${now}) END,
        disabled_reason = CASE WHEN ${isDisabled} THEN coalesce(disabled_reason, ${reason}) END
      WHERE id = ${id} RETURNING *, ${snapshot}`).pipe(Effect.flatMap(firstRow))
    if (isDisabled) yield* giveUp(id)
    const snapshots = { before: before.snapshot, after: after.snapshot }
    return {
      value: WebhookTable.webhookOf(after),
      ...unlessSame({ action: actionOf(before, after), subject: id, ...ownerOf(after), ...snapshots })
    }
  })

  const removal = Effect.fnUntraced(function* (id: WebhookId) {
    const before = yield* locked(id)
    yield* orAccessUnavailable(sql`DELETE FROM webhook WHERE id = ${id}`)
    const action = { action: "webhook.delete", subject: id, ...ownerOf(before), before: before.snapshot }
    return { value: undefined, change: action }
  })

  const rotation = Effect.fnUntraced(function* (id: WebhookId, overlapSeconds: number) {
    const before = yield* locked(id)
    const secret = yield* Effect.provideService(newWebhookSecret, SecureRandom.SecureRandom, random)
    const until = (yield* Clock.currentTimeMillis) + overlapSeconds * 1_000
    const after = yield* orAccessUnavailable(sql<WebhookTable.ChangedWebhookRow>`
      UPDATE webhook SET secret = ${Redacted.value(secret)}, previous_secret = secret,
        previous_secret_until = ${timestamp(until)}
      WHERE id = ${id} RETURNING *, ${snapshot}`).pipe(Effect.flatMap(firstRow))
    const snapshots = { before: before.snapshot, after: after.snapshot }
    return {
      value: { ...WebhookTable.webhookOf(after), secret },
      change: { action: "webhook.rotate_secret", subject: id, ...ownerOf(after), ...snapshots }
    }
  })

  return { change, removal, rotation }
})

const ownerOf = (row: WebhookTable.WebhookRow) => {
  const { organization } = WebhookTable.webhookOf(row)
  return organization === undefined ? {} : { organization }
}

const actionOf = (before: WebhookTable.WebhookRow, after: WebhookTable.WebhookRow): string => {
  if (before.disabled_at === null && after.disabled_at !== null) return "webhook.disable"
  return before.disabled_at !== null && after.disabled_at === null ? "webhook.enable" : "webhook.update"
}
