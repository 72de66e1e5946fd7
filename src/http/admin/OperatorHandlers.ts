/** `/admin/v1/admin_keys` and `/admin/v1/audit_events`. */
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { type AdminKey, AdminKeys } from "../../access/AdminKeys.ts"
import { type AuditEvent, AuditTrail } from "../../access/AuditTrail.ts"
import { AdminApi } from "../../api/admin/AdminApi.ts"
import type { AdminKeyBody, AuditEventBody } from "../../api/admin/Keys.ts"
import { listBody, pageRequestOf, timeOf, timeOrNull } from "../edge/ListWire.ts"
import { orAdminError } from "./AdminErrors.ts"

export const operatorHandlersLayer = HttpApiBuilder.group(AdminApi, "operators", (handlers) =>
  Effect.gen(function* () {
    const keys = yield* AdminKeys
    const trail = yield* AuditTrail
    return handlers
      .handle("listAdminKeys", ({ query }) =>
        keys.list(pageRequestOf(query)).pipe(
          Effect.map((page) => listBody(page, adminKeyBody)),
          orAdminError
        )
      )
      .handle("issueAdminKey", ({ payload }) =>
        keys.issue(payload.name).pipe(
          Effect.map((key) => ({ ...adminKeyBody(key), secret: Redacted.value(key.secret) })),
          orAdminError
        )
      )
      .handle("revokeAdminKey", ({ params }) => keys.revoke(params.id).pipe(Effect.map(adminKeyBody), orAdminError))
      .handle("listAuditEvents", ({ query }) =>
        trail.list({ organization: query.organization_id, subject: query.subject_id }, pageRequestOf(query)).pipe(
          Effect.map((page) => listBody(page, eventBody)),
          orAdminError
        )
      )
  })
)

const adminKeyBody = (key: AdminKey): typeof AdminKeyBody.Type => ({
  object: "admin_key",
  id: key.id,
  name: key.name,
  display_prefix: key.displayPrefix,
  created_at: timeOf(key.createdAtMillis),
  revoked_at: timeOrNull(key.revokedAtMillis)
})

const eventBody = (event: AuditEvent): typeof AuditEventBody.Type => ({
  object: "audit_event",
  id: event.id,
  at: timeOf(event.atMillis),
  actor: { name: event.actor.name, admin_key_id: event.actor.key ?? null },
  action: event.action,
  subject_id: event.subject,
  organization_id: event.organization ?? null,
  before: event.before ?? null,
  after: event.after ?? null
})
