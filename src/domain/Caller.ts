/** Who makes a request, by its API key. Nothing else in the request can change it. */
import type { ApiKeyId, BudgetId, EnvironmentId, ModelId, OrganizationId, ProjectId } from "./Ids.ts"

/** The endpoints that are billed. */
export const endpointNames = [
  "chat.completions",
  "responses",
  "messages",
  "audio.transcriptions",
  "embeddings"
] as const
/** A name that an endpoint allowlist may contain. */
export type EndpointName = (typeof endpointNames)[number]

/** Limits by the minute, and of what runs at a time. What is absent is not limited. */
export interface RateLimitNumbers {
  readonly requestsPerMinute?: number | undefined
  readonly tokensPerMinute?: number | undefined
  readonly concurrentRequests?: number | undefined
}

export interface Caller {
  readonly key: ApiKeyId
  readonly organization: OrganizationId
  readonly project: ProjectId
  readonly environment: EnvironmentId
  /** `undefined` allows every endpoint. */
  readonly endpoints: ReadonlySet<EndpointName> | undefined
  /** `undefined` allows every model. */
  readonly models: ReadonlySet<ModelId> | undefined
  /** What the organization is charged, as JSON. Absent where that is what the catalog says. */
  readonly pricing?: string
  /** The names that the organization gives to models, as JSON. Absent where it gives none. */
  readonly aliases?: string
  /** `undefined` means that the gateway's default applies. */
  readonly requestsPerMinute: number | undefined
  /** Of prompts and answers. Absent where there is no limit. */
  readonly tokensPerMinute?: number | undefined
  /** How many requests may run at a time. Absent where there is no limit. */
  readonly concurrentRequests?: number | undefined
  /** The limits of all keys of the organization together. */
  readonly organizationLimits?: RateLimitNumbers | undefined
  /** The budgets of the key, its project and its organization, longest period first. Absent where there are none. */
  readonly budgets?: ReadonlyArray<BudgetId>
  /** Whether the balance of the organization can never go below zero. */
  readonly hardCap?: boolean
}
