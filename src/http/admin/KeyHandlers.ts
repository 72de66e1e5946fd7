/** `/admin/v1/api_keys`. The models on an allowlist have to be in the catalog, so that a misspelt one is noticed. */
import { Duration, Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import type { ApiKey } from "../../access/ApiKeyRow.ts"
import { ApiKeys, type IssuedKey } from "../../access/ApiKeys.ts"
import { AdminApi } from "../../api/admin/AdminApi.ts"
import type { ApiKeyBody, ApiKeyPatch, IssuedApiKeyBody } from "../../api/admin/Keys.ts"
import { InvalidRequest } from "../../api/Errors.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import { listBody, millisOf, pageRequestOf, timeOf, timeOrNull } from "../edge/ListWire.ts"
import { orAdminError } from "./AdminErrors.ts"

type Options = Omit<typeof ApiKeyPatch.Type, "name">

export const keyHandlersLayer = HttpApiBuilder.group(AdminApi, "apiKeys", (handlers) =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const { models } = yield* Catalog
    const known = new Set<string>(models.map(({ id }) => id))

    const checkModels = ({ models: named }: Options) => {
      const index = named?.findIndex((id) => !known.has(id)) ?? -1
      return index === -1
        ? Effect.void
        : Effect.fail(InvalidRequest.of(`models[${index}]: must be the id of a model; see /v1/models`))
    }

    return handlers
      .handle("list", ({ query }) =>
        keys
          .list(
            {
              organization: query.organization_id,
              environment: query.environment_id,
              valid: query.valid === undefined ? undefined : query.valid === "true"
            },
            pageRequestOf(query)
          )
          .pipe(
            Effect.map((page) => listBody(page, keyBody)),
            orAdminError
          )
      )
      .handle("issue", ({ payload: { environment_id, name, ...options } }) =>
        Effect.andThen(
          checkModels(options),
          keys
            .issue({ ...changeOfOptions(options), environment: environment_id, name })
            .pipe(Effect.map(issuedBody), orAdminError)
        )
      )
      .handle("get", ({ params }) => keys.get(params).pipe(Effect.map(keyBody), orAdminError))
      .handle("update", ({ params, payload: { name, ...options } }) =>
        Effect.andThen(
          checkModels(options),
          keys.update(params, { name, ...changeOfOptions(options) }).pipe(Effect.map(keyBody), orAdminError)
        )
      )
      .handle("revoke", ({ params }) => keys.revoke(params).pipe(Effect.map(keyBody), orAdminError))
      .handle("rotate", ({ params, payload }) =>
        keys.rotate(params, Duration.seconds(payload.overlap_seconds)).pipe(Effect.map(issuedBody), orAdminError)
      )
  })
)

const changeOfOptions = (options: Options) => ({
  label: options.label,
  endpoints: options.endpoints,
  models: options.models,
  requestsPerMinute: options.requests_per_minute,
  tokensPerMinute: options.tokens_per_minute,
  concurrentRequests: options.concurrent_requests,
  expiresAtMillis: options.expires_at && millisOf(options.expires_at)
})

const keyBody = (key: ApiKey): typeof ApiKeyBody.Type => ({
  object: "api_key",
  id: key.id,
  organization_id: key.organization,
  project_id: key.project,
  environment_id: key.environment,
  name: key.name,
  label: key.label ?? null,
  display_prefix: key.displayPrefix,
  endpoints: key.endpoints ?? null,
  models: key.models ?? null,
  requests_per_minute: key.requestsPerMinute ?? null,
  tokens_per_minute: key.tokensPerMinute ?? null,
  concurrent_requests: key.concurrentRequests ?? null,
  created_at: timeOf(key.createdAtMillis),
  expires_at: timeOrNull(key.expiresAtMillis),
  revoked_at: timeOrNull(key.revokedAtMillis),
  last_used_at: timeOrNull(key.lastUsedAtMillis)
})

const issuedBody = (key: IssuedKey): typeof IssuedApiKeyBody.Type => ({
  ...keyBody(key),
  secret: Redacted.value(key.secret)
})
