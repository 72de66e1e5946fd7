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
  /** `undefined`: all. */
  readonly endpoints: ReadonlySet<EndpointName> | undefined
  /** `undefined`: all. */
  readonly models: ReadonlySet<ModelId> | undefined
  /** `undefined`: the default of the gateway. */
  readonly requestsPerMinute: number | undefined
}
