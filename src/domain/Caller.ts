/** Who makes a request, by its API key. Nothing else in the request can change it. */
import type { ApiKeyId, EnvironmentId, ModelId, OrganizationId, ProjectId } from "./Ids.ts"

/** The endpoints that are billed. */
export const endpointNames = ["chat.completions", "audio.transcriptions"] as const
/** A name that an endpoint allowlist may contain. */
export type EndpointName = (typeof endpointNames)[number]

export interface Caller {
  readonly key: ApiKeyId
  readonly organization: OrganizationId
  readonly project: ProjectId
  readonly environment: EnvironmentId
  /** `undefined` allows every endpoint. */
  readonly endpoints: ReadonlySet<EndpointName> | undefined
  /** `undefined` allows every model. */
  readonly models: ReadonlySet<ModelId> | undefined
  /** `undefined` means that the gateway's default applies. */
  readonly requestsPerMinute: number | undefined
}
