/**
 * A model and the endpoints that serve it, as the rest of the gateway uses them: validated, with every default filled
 * in and with prices in picodollars. `CatalogFile` is the JSON form, and `CatalogData` turns it into this one.
 */
import type { EndpointId, ModelId, ProviderId } from "../domain/Ids.ts"
import type { ChargeRule } from "../domain/PriceEntry.ts"
import { answerTokens, hasBudgetIn, hasLevelIn, type ReasoningTier } from "../domain/Reasoning.ts"
import type { Price } from "./Price.ts"

/** The skills that conversations demand and that models are rated on. */
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
/** The capability profile of a model: its skill per axis, from 0 to 1. */
export type Profile = { readonly [A in Axis]: number }

/** A record with a value per axis; `index` is the position in `axes`. */
export const perAxis = <A>(value: (axis: Axis, index: number) => A): { readonly [K in Axis]: A } =>
  // The type of `fromEntries` loses the keys, which are exactly the axes.
  Object.fromEntries(axes.map((axis, index) => [axis, value(axis, index)])) as { readonly [K in Axis]: A }

export const chatProtocolNames = [
  "openai-chat",
  "openai-responses",
  "anthropic-messages",
  "gemini",
  "bedrock-converse"
] as const
export type ChatProtocolName = (typeof chatProtocolNames)[number]

/** Protocols for transcription only. */
const transcriptionProtocolNames = ["openai-transcription"] as const
export type TranscriptionProtocolName = (typeof transcriptionProtocolNames)[number]

/** Protocols for embeddings only. */
const embeddingProtocolNames = ["openai-embeddings"] as const
export type EmbeddingProtocolName = (typeof embeddingProtocolNames)[number]

const protocolNames = [...chatProtocolNames, ...transcriptionProtocolNames, ...embeddingProtocolNames] as const
export type ProtocolName = (typeof protocolNames)[number]

/** True for protocols that can carry a conversation. */
export const isChat = (name: ProtocolName): name is ChatProtocolName =>
  chatProtocolNames.some((known) => known === name)

/** True for protocols that turn audio into text and do nothing else. */
export const isTranscription = (name: ProtocolName): name is TranscriptionProtocolName =>
  transcriptionProtocolNames.some((known) => known === name)

/** True for protocols that turn texts into vectors and do nothing else. */
export const isEmbedding = (name: ProtocolName): name is EmbeddingProtocolName =>
  embeddingProtocolNames.some((known) => known === name)

export const modelEfforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const
export type ModelEffort = (typeof modelEfforts)[number]

/** Whether and how a model can reason. */
export interface ReasoningAbility {
  /** `always`: reasoning cannot be switched off. */
  readonly support: "none" | "optional" | "always"
  /** The efforts it accepts, without `none`; empty when it has no such parameter. */
  readonly efforts: ReadonlyArray<Exclude<ModelEffort, "none">>
  /** The limits of its reasoning budget in tokens, for a model that takes one. */
  readonly budgetTokens?: { readonly min: number; readonly max: number }
}

/** Lengths of vectors. */
export interface VectorDimensions {
  /** Unless a request asks for another length; also the greatest. */
  readonly usual: number
  /** The smallest that a request can ask for. Absent where the length cannot be chosen. */
  readonly min?: number
}

/** What a request may use of an endpoint and may not be able to combine. */
export const endpointFeatures = ["json_object", "json_schema", "tools", "stream"] as const
export type EndpointFeature = (typeof endpointFeatures)[number]

export interface Endpoint {
  /** `<provider>/<model id>`, unique within the catalog. */
  readonly id: EndpointId
  readonly provider: ProviderId
  /** The name of the model at this provider. */
  readonly upstream: string
  readonly protocol: ProtocolName
  /** What is charged. */
  readonly price: Price
  /** What the provider bills, and the rule that `price` comes from; absent where the provider's price is charged. */
  readonly charge?: { readonly providerPrice: Price; readonly rule: ChargeRule }
  /** Prompt plus output, in tokens. Of an embedding model, the most tokens of one input. */
  readonly contextWindow: number
  /** 0 for an embedding model. */
  readonly maxOutputTokens: number
  /** It enforces a JSON Schema itself. Where a schema could only be asked for in words, nothing would guarantee it. */
  readonly structuredOutput: boolean
  /** It has a mode of its own for answers in JSON. Elsewhere JSON is asked for in words, and the answer is checked. */
  readonly jsonMode: boolean
  /** Features that it refuses in one request: no request may use all features of one of these lists. */
  readonly exclusive: ReadonlyArray<ReadonlyArray<EndpointFeature>>
}

export interface Model {
  readonly id: ModelId
  /** Only chat models hold conversations. They transcribe as well, if they accept audio input. */
  readonly kind: "chat" | "transcription" | "embedding"
  /** Unix seconds, for `/v1/models`. */
  readonly created: number
  readonly ownedBy: string
  readonly modalities: { readonly image: boolean; readonly audio: boolean }
  readonly tools: boolean
  /** False when the model rejects `tool_choice` that forces a call. */
  readonly forcedToolChoice: boolean
  /** Some endpoint enforces a JSON Schema. */
  readonly structuredOutput: boolean
  /** When `temperature`, `top_p` and penalties may be sent. */
  readonly sampling: "always" | "without_reasoning" | "never"
  readonly reasoning: ReasoningAbility
  /** One profile per reasoning tier that the model serves. */
  readonly profiles: { readonly [T in ReasoningTier]?: Profile }
  /** Visible output tokens relative to an average model: 1 is average. */
  readonly verbosity: number
  /** The lengths of the vectors that an embedding model makes, as far as they are known. */
  readonly dimensions?: VectorDimensions
  /** Of an embedding model: whether it takes tokens of its own vocabulary in place of texts. */
  readonly takesTokens?: boolean
  /** In order of preference. Never empty. */
  readonly endpoints: readonly [Endpoint, ...Array<Endpoint>]
}

/** What a request uses of an endpoint. */
export type UsedFeatures = { readonly [F in Exclude<EndpointFeature, "stream">]: boolean }

/** True when an endpoint refuses these features together, whether or not the answer is streamed. */
export const excludesTogether = ({ exclusive }: Endpoint, used: UsedFeatures): boolean =>
  exclusive.some((features) => features.every((feature) => feature !== "stream" && used[feature]))

/**
 * False when an answer that uses these features must not be streamed by the endpoint: because it refuses to, or because
 * it is asked for JSON in words, and the answer has to be checked before anybody sees it.
 */
export const canStream = ({ exclusive, jsonMode }: Endpoint, used: UsedFeatures): boolean =>
  (jsonMode || !used.json_object) &&
  !exclusive.some((features) => features.every((feature) => feature === "stream" || used[feature]))

/** The thinking budgets that fit beside an answer within `outputLimit` tokens; `undefined` if there are none. */
export const budgetWithin = (
  { budgetTokens }: ReasoningAbility,
  outputLimit: number | undefined
): ReasoningAbility["budgetTokens"] => {
  if (budgetTokens === undefined || outputLimit === undefined) return budgetTokens
  const max = Math.min(budgetTokens.max, outputLimit - answerTokens)
  return max < budgetTokens.min ? undefined : { min: budgetTokens.min, max }
}

/**
 * Whether a model serves a tier: `none` requires that reasoning can be off, and the others that the model has a level
 * or a budget in them. `outputLimit` is the client's limit on output tokens, which a budget has to leave room in.
 */
export const servesTier = ({ reasoning }: Model, tier: ReasoningTier, outputLimit?: number): boolean => {
  if (tier === "none") return reasoning.support !== "always"
  if (reasoning.support === "none") return false
  const budget = budgetWithin(reasoning, outputLimit)
  return hasLevelIn(tier, reasoning.efforts) || (budget !== undefined && hasBudgetIn(tier, budget))
}
