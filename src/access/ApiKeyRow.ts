/**
 * The rows in which API keys are stored, and what they mean. Only the gateway writes them, so they are given types here
 * and not validated again.
 */
import { type Caller, type EndpointName, endpointNames } from "../domain/Caller.ts"
import {
  type ApiKeyId,
  apiKeyId,
  budgetId,
  type EnvironmentId,
  environmentId,
  type ModelId,
  modelId,
  type OrganizationId,
  organizationId,
  type ProjectId,
  projectId
} from "../domain/Ids.ts"
import type { JsonObject } from "../domain/JsonObject.ts"

interface Limits {
  readonly endpoint_allowlist: ReadonlyArray<string> | null
  readonly model_allowlist: ReadonlyArray<string> | null
  readonly requests_per_minute: number | null
  readonly tokens_per_minute: number | null
  readonly concurrent_requests: number | null
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
}

/** What is read of a key to authenticate a request with it. */
export interface CallerRow extends Limits {
  readonly id: string
  readonly organization_id: string
  readonly project_id: string
  readonly environment_id: string
  /** When the organization was closed. */
  readonly closed_at: Date | null
  readonly organization_requests_per_minute: number | null
  readonly organization_tokens_per_minute: number | null
  readonly budgets: ReadonlyArray<string> | null
  /** As JSON. */
  readonly organization_pricing: string | null
  /** As JSON. */
  readonly organization_aliases: string | null
  readonly organization_hard_cap: boolean
  readonly organization_concurrent_requests: number | null
}

/** What is read of a key to show it to its owner. */
export interface KeyRow extends Limits {
  readonly id: string
  readonly organization_id: string
  readonly project_id: string
  readonly environment_id: string
  readonly name: string
  readonly label: string | null
  readonly display_prefix: string
  readonly created_at: Date
  /** When its latest request arrived of which the log has the receipt. */
  readonly last_used_at: Date | null
  /** The stored row as JSON without its hash, for the audit trail. */
  readonly snapshot: JsonObject
}

/** A key as its owner may see it, which is without the secret. */
export interface ApiKey {
  readonly id: ApiKeyId
  readonly organization: OrganizationId
  readonly project: ProjectId
  readonly environment: EnvironmentId
  readonly name: string
  /** A note of the owner, such as who has the key. */
  readonly label: string | undefined
  /** The first characters of the key, by which its owner can recognise it. */
  readonly displayPrefix: string
  /** `undefined` allows every endpoint. */
  readonly endpoints: ReadonlyArray<EndpointName> | undefined
  /** `undefined` allows every model. */
  readonly models: ReadonlyArray<ModelId> | undefined
  /** `undefined` means that the gateway's default applies. */
  readonly requestsPerMinute: number | undefined
  /** `undefined` means that tokens are not limited. */
  readonly tokensPerMinute: number | undefined
  /** `undefined` means that concurrent requests are not limited. */
  readonly concurrentRequests: number | undefined
  readonly createdAtMillis: number
  readonly expiresAtMillis: number | undefined
  readonly revokedAtMillis: number | undefined
  /** As far as receipts are kept; a request counts once its receipt is stored. */
  readonly lastUsedAtMillis: number | undefined
}

/** What authentication needs to know about a key. */
export interface AuthenticatedKey {
  readonly caller: Caller
  /** `Infinity` for a key that does not expire. */
  readonly expiresAtMillis: number
  readonly revoked: boolean
  /** Its organization is closed. */
  readonly closed: boolean
}

/** Names that this version does not know are left out, which can only make the key allow less. */
const endpointsOf = (row: Limits): ReadonlyArray<EndpointName> | undefined =>
  row.endpoint_allowlist === null ? undefined : endpointNames.filter((name) => row.endpoint_allowlist?.includes(name))

const modelsOf = (row: Limits): ReadonlyArray<ModelId> | undefined => row.model_allowlist?.map((id) => modelId(id))

const setOf = <A>(values: ReadonlyArray<A> | undefined): ReadonlySet<A> | undefined => values && new Set(values)

const isOrganizationLimited = (row: CallerRow): boolean =>
  row.organization_requests_per_minute !== null ||
  row.organization_tokens_per_minute !== null ||
  row.organization_concurrent_requests !== null

export const callerOf = (row: CallerRow): AuthenticatedKey => ({
  caller: {
    key: apiKeyId(row.id),
    organization: organizationId(row.organization_id),
    project: projectId(row.project_id),
    environment: environmentId(row.environment_id),
    endpoints: setOf(endpointsOf(row)),
    models: setOf(modelsOf(row)),
    ...(row.organization_pricing !== null && { pricing: row.organization_pricing }),
    ...(row.organization_aliases !== null && { aliases: row.organization_aliases }),
    requestsPerMinute: row.requests_per_minute ?? undefined,
    ...(row.tokens_per_minute !== null && { tokensPerMinute: row.tokens_per_minute }),
    ...(row.organization_hard_cap && { hardCap: true }),
    ...(row.concurrent_requests !== null && { concurrentRequests: row.concurrent_requests }),
    ...(isOrganizationLimited(row) && {
      organizationLimits: {
        requestsPerMinute: row.organization_requests_per_minute ?? undefined,
        tokensPerMinute: row.organization_tokens_per_minute ?? undefined,
        concurrentRequests: row.organization_concurrent_requests ?? undefined
      }
    }),
    ...(row.budgets !== null && { budgets: row.budgets.map((id) => budgetId(id)) })
  },
  expiresAtMillis: row.expires_at?.getTime() ?? Infinity,
  revoked: row.revoked_at !== null,
  closed: row.closed_at !== null
})

export const apiKeyOf = (row: KeyRow): ApiKey => ({
  id: apiKeyId(row.id),
  organization: organizationId(row.organization_id),
  project: projectId(row.project_id),
  environment: environmentId(row.environment_id),
  name: row.name,
  label: row.label ?? undefined,
  displayPrefix: row.display_prefix,
  endpoints: endpointsOf(row),
  models: modelsOf(row),
  requestsPerMinute: row.requests_per_minute ?? undefined,
  tokensPerMinute: row.tokens_per_minute ?? undefined,
  concurrentRequests: row.concurrent_requests ?? undefined,
  createdAtMillis: row.created_at.getTime(),
  expiresAtMillis: row.expires_at?.getTime(),
  revokedAtMillis: row.revoked_at?.getTime(),
  lastUsedAtMillis: row.last_used_at?.getTime()
})
