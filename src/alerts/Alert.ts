/** What is sent for an alert. */
import type { AlertType } from "../domain/AlertType.ts"
import type { OrganizationId } from "../domain/Ids.ts"
import type { JsonObject } from "../domain/JsonObject.ts"

/** Sent on request only, to one webhook. */
export const testAlert = "webhook.test"

/** An alert that is not stored yet. Amounts in `data` are exact decimal text in USD; it has no prompts and no keys. */
export interface Alert {
  readonly type: AlertType | typeof testAlert
  /** Absent for what concerns the operator alone. */
  readonly organization?: OrganizationId
  readonly data: JsonObject
}

/** The body that is sent. */
export const alertBody = (id: string, createdAt: string, { data, type }: Alert): string =>
  JSON.stringify({ id, type, created_at: createdAt, data })
