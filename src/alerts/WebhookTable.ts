/** The rows of webhooks. Secrets leave this file wrapped, so that nothing prints them by mistake. */
import { Redacted } from "effect"

import type { AlertType } from "../domain/AlertType.ts"
import { type OrganizationId, organizationId, type WebhookId, webhookId } from "../domain/Ids.ts"
import type { JsonObject } from "../domain/JsonObject.ts"

export interface Webhook {
  readonly id: WebhookId
  readonly url: string
  /** `undefined`: every one that it may get. */
  readonly events: ReadonlyArray<AlertType> | undefined
  /** Its events are the only ones that are sent. */
  readonly organization: OrganizationId | undefined
  readonly description: string | undefined
  readonly createdAtMillis: number
  readonly disabledAtMillis: number | undefined
  /** `operator`, or `gone` if the receiver answered 410. */
  readonly disabledReason: string | undefined
}

export interface SecretColumns {
  readonly secret: string
  readonly previous_secret: string | null
  readonly previous_secret_until: Date | null
}

export interface WebhookRow extends SecretColumns {
  readonly id: string
  readonly url: string
  readonly events: ReadonlyArray<AlertType> | null
  readonly organization_id: string | null
  readonly description: string | null
  readonly created_at: Date
  readonly disabled_at: Date | null
  readonly disabled_reason: string | null
}

/** A row with its columns as JSON, without its secrets, for the audit trail. */
export interface ChangedWebhookRow extends WebhookRow {
  readonly snapshot: JsonObject
}

export const webhookOf = (row: WebhookRow): Webhook => ({
  id: webhookId(row.id),
  url: row.url,
  events: row.events ?? undefined,
  organization: row.organization_id === null ? undefined : organizationId(row.organization_id),
  description: row.description ?? undefined,
  createdAtMillis: row.created_at.getTime(),
  disabledAtMillis: row.disabled_at?.getTime(),
  disabledReason: row.disabled_reason ?? undefined
})

/** The secrets with which to sign now, the newest first. */
export const validSecrets = (row: SecretColumns, nowMillis: number): ReadonlyArray<Redacted.Redacted> => {
  const { previous_secret: previous, previous_secret_until: until, secret } = row
  const overlaps = previous !== null && until !== null && until.getTime() > nowMillis
  return [secret, ...(overlaps ? [previous] : [])].map((text) => Redacted.make(text))
}

export const disabledByOperator = "operator"
export const disabledAsGone = "gone"
