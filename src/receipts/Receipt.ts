/**
 * The record of one request: enough to recompute its charge and to explain how it was routed. The rule: a receipt holds
 * nothing of what the client or the model wrote.
 */
import type { Attempt } from "../domain/Attempt.ts"
import type { Choices } from "../domain/Choices.ts"
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
import type { ChargeRule } from "../domain/PriceEntry.ts"
import type { Effort, ReasoningTier } from "../domain/Reasoning.ts"
import type { AudioLength } from "../domain/Transcription.ts"
import type { MeteredUsage, Usage } from "../domain/Usage.ts"

/** What the router knew about a request, without any of its text. */
export interface RoutingFeatures {
  readonly image: boolean
  readonly audio: boolean
  readonly tools: boolean
  readonly forcedTool: boolean
  readonly structuredOutput: boolean
  /** The answer had to be JSON of any shape. */
  readonly jsonObject?: boolean
  readonly stream?: boolean
  /** Absent when the request did not ask for one. */
  readonly tier?: ReasoningTier
  readonly effort?: Effort
  readonly thinkingBudget?: number
  readonly promptTokens: number
  readonly audioTokens: number
  readonly outputLimit?: number
  /** The trade between cost and quality that was asked for, from 0 to 1. */
  readonly costQuality?: number
  /** The key's allowlist; absent when the key may use every model. */
  readonly allowed?: ReadonlyArray<ModelId>
  /** A hash: equal for all requests of one session. The session's name cannot be recovered from it. */
  readonly session?: string
}

/**
 * What a charge was computed from, and for whom. It is stored in the journal with the charge itself, so it is there
 * whenever the charge is, also if the gateway died before it could store the receipt.
 */
export type ChargeFacts = Omit<
  Receipt,
  | "id"
  | "organization"
  | "routing"
  | "choices"
  | "attempts"
  | "rates"
  | "rateDivisor"
  | "unchargedUsage"
  | "cost"
  | "served"
  | "usage"
> &
  Required<Pick<Receipt, "served" | "usage">>

/** The receipt of one request, whether it was charged or not. */
export interface Receipt {
  readonly id: RequestId
  readonly organization: OrganizationId
  readonly project: ProjectId
  readonly environment: EnvironmentId
  readonly key: ApiKeyId
  /** When the request arrived, in milliseconds since 1970. */
  readonly atMillis: number
  readonly callName?: string
  readonly endUserId?: string
  /** The duration of a transcription's audio, and how it was determined. */
  readonly audio?: AudioLength
  readonly stream: boolean
  readonly requestedModel?: string
  /**
   * `completed`, `client_left`, `broken` (the provider or the gateway failed midway), or the error code that was sent.
   */
  readonly outcome: string
  /** The endpoint that answered; absent when none did. */
  readonly served?: { readonly model: ModelId; readonly endpoint: EndpointId }
  readonly routing?: {
    readonly latencyMillis: number
    readonly pinned: boolean
    readonly demand: { readonly [axis: string]: number }
    readonly difficulty: number
    /** The rest of what the router decided by, so that the decision can be replayed. Absent in old receipts. */
    readonly features?: RoutingFeatures
    readonly candidates: ReadonlyArray<{
      readonly model: ModelId
      readonly distance: number
      readonly cost: Picodollars
    }>
    readonly excluded: ReadonlyArray<{ readonly model: ModelId; readonly because: string }>
  }
  /** What the request asked of the choice of its model and provider. Absent where it asked for nothing. */
  readonly choices?: Choices
  readonly attempts: ReadonlyArray<Attempt>
  /**
   * The parameters that the endpoint did not get as they were asked for, each with what was sent: `temperature=1`, or
   * `top_p=omitted`. Absent when there are none.
   */
  readonly adjusted?: ReadonlyArray<string>
  /** What was charged; absent when nothing was. */
  readonly usage?: Usage
  /** True when some of the usage is the gateway's own count or is derived from an estimated length of audio. */
  readonly usageEstimated: boolean
  readonly catalogVersion: string
  /** The price that was charged, in picodollars per token by bucket; `audioHour`, if present, per hour of audio. */
  readonly rates?: { readonly [bucket: string]: Picodollars }
  /** The rates are divided by this. Absent where they are whole picodollars. */
  readonly rateDivisor?: bigint
  /** The rule by which the provider's price became the one that was charged; absent where they are the same. */
  readonly rule?: ChargeRule
  /**
   * What the provider bills for the request, whether it was charged or not. Absent where that is not known, and in
   * receipts of earlier versions, which charged what the provider bills.
   */
  readonly providerCost?: Picodollars
  /** What was not charged and the provider reported all the same, as far as it did. */
  readonly unchargedUsage?: Usage
  readonly held: Picodollars
  readonly cost: Picodollars
  /** What `cost` lacks of the price of the usage, because the organization's balance can never go below zero. */
  readonly uncollected?: Picodollars
  readonly durationMillis: number
  /** From the arrival of the request to the first output of the endpoint that answered. */
  readonly firstOutputMillis?: number
}

/** What a request is charged, and for what. */
export interface RecordedCharge {
  readonly metered: MeteredUsage
  readonly cost: Picodollars
  /** What the charge lacks of the price of the usage. */
  readonly uncollected?: Picodollars | undefined
  readonly outcome: "completed" | "client_left"
}
