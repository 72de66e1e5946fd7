/**
 * A model and the endpoints that serve it, as the rest of the house sees them: checked, with every default filled in
 * and prices in picodollars. `CatalogFile` has the JSON form and turns it into this.
 */
import type { EndpointId, ModelId, ProviderId } from "../domain/Ids.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"
import type { Price } from "./Price.ts"

/** What conversations ask for and models are good at; every profile has a value from 0 to 1 on each axis. */
export const axes = [
  "coding",
  "math",
  "reasoning",
  "knowledge",
  "creative",
  "instruction",
  "extraction",
  "reading",
  "language",
  "multilingual",
  "agentic"
] as const
export type Axis = (typeof axes)[number]
export type Profile = { readonly [A in Axis]: number }

export const perAxis = <A>(value: (axis: Axis, at: number) => A): { readonly [K in Axis]: A } =>
  // `fromEntries` forgets its keys; they are exactly the axes.
  Object.fromEntries(axes.map((axis, at) => [axis, value(axis, at)])) as { readonly [K in Axis]: A }

export const chatProtocolNames = [
  "openai-chat",
  "openai-responses",
  "anthropic-messages",
  "gemini",
  "bedrock-converse"
] as const
export type ChatProtocolName = (typeof chatProtocolNames)[number]

/** Protocols that do nothing but turn audio into text. */
export const transcriptionProtocolNames = ["openai-transcription"] as const
export type TranscriptionProtocolName = (typeof transcriptionProtocolNames)[number]

export const protocolNames = [...chatProtocolNames, ...transcriptionProtocolNames] as const
export type ProtocolName = (typeof protocolNames)[number]

/** True for protocols that no conversation can be held in. */
export const isTranscription = (name: ProtocolName): name is TranscriptionProtocolName =>
  transcriptionProtocolNames.some((known) => known === name)

export const modelEfforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const
export type ModelEffort = (typeof modelEfforts)[number]

/** How a model thinks. */
export interface ReasoningAbility {
  /** `always`: cannot be switched off. */
  readonly support: "none" | "optional" | "always"
  /** Levels it accepts, without `none`; empty when it knows no levels. */
  readonly efforts: ReadonlyArray<Exclude<ModelEffort, "none">>
  /** Thinking budget in tokens, for models that are steered by one. */
  readonly budgetTokens?: { readonly min: number; readonly max: number }
}

export interface Endpoint {
  /** `<provider>/<model id>`, unique. */
  readonly id: EndpointId
  readonly provider: ProviderId
  /** The model's name at this provider. */
  readonly upstream: string
  readonly protocol: ProtocolName
  readonly price: Price
  /** Prompt plus output, in tokens. */
  readonly contextWindow: number
  readonly maxOutputTokens: number
}

export interface Model {
  readonly id: ModelId
  /** A model of one kind cannot do the other's work, save that a chat model with audio input can transcribe. */
  readonly kind: "chat" | "transcription"
  /** Unix seconds, for `/v1/models`. */
  readonly created: number
  readonly ownedBy: string
  readonly modalities: { readonly image: boolean; readonly audio: boolean }
  readonly tools: boolean
  /** False when the model rejects `tool_choice` that forces a call. */
  readonly forcedToolChoice: boolean
  readonly structuredOutput: boolean
  /** When temperature, top_p and penalties may be sent. */
  readonly sampling: "always" | "without_reasoning" | "never"
  readonly reasoning: ReasoningAbility
  /** Skill per reasoning tier; a tier the model cannot serve has none. */
  readonly profiles: { readonly [T in ReasoningTier]?: Profile }
  /** Visible output tokens it writes where an average model writes one. */
  readonly verbosity: number
  /** In order of preference. Never empty: a model nobody serves is not a `Model`. */
  readonly endpoints: readonly [Endpoint, ...Array<Endpoint>]
}

/** The tiers a model can serve: `none` needs thinking that can be off, the others need thinking. */
export const servesTier = (model: Model, tier: ReasoningTier): boolean =>
  tier === "none" ? model.reasoning.support !== "always" : model.reasoning.support !== "none"
