/** Who is calling, as their API key tells. Nothing in the request can change it. */
import type { ApiKeyId, EnvironmentId, ModelId, OrganizationId, ProjectId } from "./Ids.ts"

export const endpointNames = ["chat.completions", "audio.transcriptions"] as const
/** Names that an endpoint allowlist may hold. */
export type EndpointName = (typeof endpointNames)[number]

export interface Caller {
  readonly key: ApiKeyId
  readonly organization: OrganizationId
  readonly project: ProjectId
  readonly environment: EnvironmentId
  /** `undefined` allows all. */
  readonly endpoints: ReadonlySet<EndpointName> | undefined
  readonly models: ReadonlySet<ModelId> | undefined
  /** `undefined`: the gateway's default. */
  readonly requestsPerMinute: number | undefined
}
