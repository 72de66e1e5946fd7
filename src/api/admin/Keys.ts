/** The routes for API keys, for the keys of operators, and for the record of changes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import { endpointNames } from "../../domain/Caller.ts"
import { AdminKeyId, ApiKeyId, EnvironmentId, ModelId, OrganizationId, ProjectId } from "../../domain/Ids.ts"
import { RequestValidation, strictBodies, Time } from "../RequestRules.ts"
import {
  AdminAuthorization,
  BooleanText,
  ConcurrentRequests,
  listOf,
  Name,
  PageQuery,
  RequestsPerMinute,
  summary,
  TokensPerMinute
} from "./AdminRoutes.ts"

const maxAllowlist = 1_000
const Endpoints = Schema.Array(Schema.Literals(endpointNames)).annotate({
  description: "The endpoints that the key may use; null allows every one."
})
const Models = Schema.Array(ModelId)
  .check(Schema.isMaxLength(maxAllowlist))
  .annotate({ description: "The models that the key may use; null allows every one." })
const Label = Schema.String.check(Schema.isMaxLength(1_000)).annotate({
  description: "A note, such as who has the key."
})

const keyMembers = {
  object: Schema.Literal("api_key"),
  id: ApiKeyId,
  organization_id: OrganizationId,
  project_id: ProjectId,
  environment_id: EnvironmentId,
  name: Schema.String,
  label: Schema.NullOr(Schema.String),
  display_prefix: Schema.String.annotate({ description: "The first characters of the key." }),
  endpoints: Schema.NullOr(Endpoints),
  models: Schema.NullOr(Schema.Array(Schema.String)),
  requests_per_minute: Schema.NullOr(Schema.Int),
  tokens_per_minute: Schema.NullOr(Schema.Int),
  concurrent_requests: Schema.NullOr(Schema.Int),
  created_at: Time,
  expires_at: Schema.NullOr(Time),
  revoked_at: Schema.NullOr(Time),
  last_used_at: Schema.NullOr(Time).annotate({
    description: "When its latest request arrived; null for none of which the receipt is kept."
  })
}

export const ApiKeyBody = Schema.Struct(keyMembers).annotate({ identifier: "ApiKey" })

const Secret = Schema.String.annotate({ description: "The key itself. It is shown only this once." })

export const IssuedApiKeyBody = Schema.Struct({ ...keyMembers, secret: Secret }).annotate({
  identifier: "IssuedApiKey"
})

const keyOptions = {
  label: Schema.optionalKey(Schema.NullOr(Label)),
  endpoints: Schema.optionalKey(Schema.NullOr(Endpoints)),
  models: Schema.optionalKey(Schema.NullOr(Models)),
  requests_per_minute: Schema.optionalKey(
    Schema.NullOr(RequestsPerMinute.annotate({ description: "null: the limit of the gateway, `RATE_LIMIT_RPM`." }))
  ),
  tokens_per_minute: Schema.optionalKey(
    Schema.NullOr(TokensPerMinute.annotate({ description: "Of prompts and answers; null: no limit." }))
  ),
  concurrent_requests: Schema.optionalKey(
    Schema.NullOr(ConcurrentRequests.annotate({ description: "Running at a time; null: no limit." }))
  ),
  expires_at: Schema.optionalKey(Schema.NullOr(Time))
}

/** What can be changed of a key. */
export const ApiKeyPatch = Schema.Struct({ name: Schema.optionalKey(Name), ...keyOptions })

/** A key to be issued. */
export const NewApiKeyBody = Schema.Struct({ environment_id: EnvironmentId, name: Name, ...keyOptions })

const maxOverlapSeconds = 30 * 24 * 3_600

const Rotation = Schema.Struct({
  overlap_seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxOverlapSeconds })).annotate({
    description: "How long the old key stays valid beside the new one."
  })
})

export const ApiKeyRoutes = HttpApiGroup.make("apiKeys")
  .add(
    HttpApiEndpoint.get("list", "/admin/v1/api_keys", {
      query: Schema.Struct({
        ...PageQuery.fields,
        organization_id: Schema.optionalKey(OrganizationId),
        environment_id: Schema.optionalKey(EnvironmentId),
        valid: Schema.optionalKey(BooleanText)
      }),
      success: listOf(ApiKeyBody)
    }).annotateMerge(summary("List API keys")),
    HttpApiEndpoint.post("issue", "/admin/v1/api_keys", {
      payload: NewApiKeyBody,
      success: IssuedApiKeyBody
    }).annotateMerge(summary("Issue an API key")),
    HttpApiEndpoint.get("get", "/admin/v1/api_keys/:id", {
      params: { id: ApiKeyId },
      success: ApiKeyBody
    }).annotateMerge(summary("One API key")),
    HttpApiEndpoint.patch("update", "/admin/v1/api_keys/:id", {
      params: { id: ApiKeyId },
      payload: ApiKeyPatch,
      success: ApiKeyBody
    }).annotateMerge(summary("Change an API key")),
    HttpApiEndpoint.post("revoke", "/admin/v1/api_keys/:id/revoke", {
      params: { id: ApiKeyId },
      success: ApiKeyBody
    }).annotateMerge(summary("Revoke an API key for good")),
    HttpApiEndpoint.post("rotate", "/admin/v1/api_keys/:id/rotate", {
      params: { id: ApiKeyId },
      payload: Rotation,
      success: IssuedApiKeyBody
    }).annotateMerge(summary("Replace an API key by one like it"))
  )
  .middleware(RequestValidation)
  .middleware(AdminAuthorization)
  .annotateMerge(strictBodies)
  .annotate(OpenApi.Title, "Admin: API keys")

const adminKeyMembers = {
  object: Schema.Literal("admin_key"),
  id: AdminKeyId,
  name: Schema.String,
  display_prefix: Schema.String,
  created_at: Time,
  revoked_at: Schema.NullOr(Time)
}

export const AdminKeyBody = Schema.Struct(adminKeyMembers).annotate({ identifier: "AdminKey" })
export const IssuedAdminKeyBody = Schema.Struct({ ...adminKeyMembers, secret: Secret }).annotate({
  identifier: "IssuedAdminKey"
})

const Snapshot = Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))

export const AuditEventBody = Schema.Struct({
  object: Schema.Literal("audit_event"),
  id: Schema.String,
  at: Time,
  actor: Schema.Struct({ name: Schema.String, admin_key_id: Schema.NullOr(AdminKeyId) }),
  action: Schema.String.annotate({ description: "What was done to what, such as `api_key.revoke`." }),
  subject_id: Schema.String,
  organization_id: Schema.NullOr(OrganizationId),
  before: Snapshot.annotate({ description: "The changed row as it was, without secrets." }),
  after: Snapshot
}).annotate({ identifier: "AuditEvent" })

export const OperatorRoutes = HttpApiGroup.make("operators")
  .add(
    HttpApiEndpoint.get("listAdminKeys", "/admin/v1/admin_keys", {
      query: PageQuery,
      success: listOf(AdminKeyBody)
    }).annotateMerge(summary("List admin keys")),
    HttpApiEndpoint.post("issueAdminKey", "/admin/v1/admin_keys", {
      payload: Schema.Struct({ name: Name }),
      success: IssuedAdminKeyBody
    }).annotateMerge(summary("Issue an admin key")),
    HttpApiEndpoint.post("revokeAdminKey", "/admin/v1/admin_keys/:id/revoke", {
      params: { id: AdminKeyId },
      success: AdminKeyBody
    }).annotateMerge(summary("Revoke an admin key for good")),
    HttpApiEndpoint.get("listAuditEvents", "/admin/v1/audit_events", {
      query: Schema.Struct({
        ...PageQuery.fields,
        organization_id: Schema.optionalKey(OrganizationId),
        subject_id: Schema.optionalKey(Schema.String.check(Schema.isUUID()))
      }),
      success: listOf(AuditEventBody)
    }).annotateMerge(summary("List the changes that operators made"))
  )
  .middleware(RequestValidation)
  .middleware(AdminAuthorization)
  .annotateMerge(strictBodies)
  .annotate(OpenApi.Title, "Admin: operators")
