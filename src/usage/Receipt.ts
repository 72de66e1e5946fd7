/**
 * What is kept of a request: enough to recompute its charge and to explain its route, and nothing of what was said.
 */
import type { Attempt } from "../domain/Attempt.ts"
import type {
  ApiKeyId,
  EndpointId,
  EnvironmentId,
  ModelId,
  OrganizationId,
  ProjectId,
  RequestId
} from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { Usage } from "../domain/Usage.ts"

export interface Receipt {
  readonly id: RequestId
  readonly organization: OrganizationId
  readonly project: ProjectId
  readonly environment: EnvironmentId
  readonly key: ApiKeyId
  readonly atMillis: number
  readonly callName?: string
  readonly stream: boolean
  readonly requestedModel?: string
  /** `completed`, `client_left`, `broken` (by the provider or by us) or the error code the client got. */
  readonly outcome: string
  readonly served?: { readonly model: ModelId; readonly endpoint: EndpointId }
  readonly routing?: {
    readonly latencyMillis: number
    readonly pinned: boolean
    readonly demand: { readonly [axis: string]: number }
    readonly difficulty: number
    readonly candidates: ReadonlyArray<{
      readonly model: ModelId
      readonly distance: number
      readonly cost: Picodollars
    }>
    readonly excluded: ReadonlyArray<{ readonly model: ModelId; readonly because: string }>
  }
  readonly attempts: ReadonlyArray<Attempt>
  readonly usage?: Usage
  /** True when the provider gave no usage and the tokens were counted from what was delivered. */
  readonly usageEstimated: boolean
  readonly catalogVersion: string
  /** Picodollars per token that were in force, by bucket. */
  readonly rates?: { readonly [bucket: string]: Picodollars }
  readonly held: Picodollars
  readonly cost: Picodollars
  readonly durationMillis: number
  readonly firstOutputMillis?: number
}
