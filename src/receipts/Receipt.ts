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
import type { ReasoningTier } from "../domain/Reasoning.ts"
import type { AudioLength } from "../domain/Transcription.ts"
import type { Usage } from "../domain/Usage.ts"

/** Numbers and names that say nothing of what was said. */
export interface RoutingFeatures {
  readonly image: boolean
  readonly audio: boolean
  readonly tools: boolean
  readonly forcedTool: boolean
  readonly structuredOutput: boolean
  /** Absent when the request left it open. */
  readonly tier?: ReasoningTier
  readonly promptTokens: number
  readonly audioTokens: number
  readonly outputLimit?: number
  /** The key's allowlist; absent when the key may use every model. */
  readonly allowed?: ReadonlyArray<ModelId>
  /** The same for all requests of a session and unlike that of any other; the session's name cannot be read from it. */
  readonly session?: string
}

export interface Receipt {
  readonly id: RequestId
  readonly organization: OrganizationId
  readonly project: ProjectId
  readonly environment: EnvironmentId
  readonly key: ApiKeyId
  readonly atMillis: number
  readonly callName?: string
  readonly endUserId?: string
  /** How long the audio of a transcription plays, and how that is known. */
  readonly audio?: AudioLength
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
    /** What else the router went by, so that it can be asked again; none in receipts of older versions. */
    readonly features?: RoutingFeatures
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
  /** Picodollars per token that were in force, by bucket; `audioHour`, where it is there, per hour of audio. */
  readonly rates?: { readonly [bucket: string]: Picodollars }
  readonly held: Picodollars
  readonly cost: Picodollars
  readonly durationMillis: number
  readonly firstOutputMillis?: number
}
