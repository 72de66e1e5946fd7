/**
 * What a chat request asks of the choice of its model and provider, beside the model that it names. All members are
 * optional, and a request without any of them is chosen for as the contract says.
 */
import type { Picodollars } from "./Money.ts"

/** What the endpoints of a model are ordered by. */
export const endpointOrders = ["price", "latency", "throughput"] as const
export type EndpointOrder = (typeof endpointOrders)[number]

export interface ProviderChoices {
  /** Names of providers, to be tried in this order. Those that are not named come after them. */
  readonly order?: ReadonlyArray<string>
  /** Names of the providers that may be used. */
  readonly only?: ReadonlyArray<string>
  /** Names of providers that may not be used. */
  readonly ignore?: ReadonlyArray<string>
  /** False allows only the providers of `order`, or without `order` the first provider of each model. */
  readonly allowFallbacks?: boolean
  readonly sort?: EndpointOrder
  /** The dearest rates, in picodollars for a million tokens. */
  readonly maxPrice?: { readonly prompt?: Picodollars; readonly completion?: Picodollars }
  /** True leaves out providers that may train on what they are sent. */
  readonly denyTraining?: boolean
  /** True leaves out providers that keep what they are sent. */
  readonly zeroRetention?: boolean
  /** True leaves out providers that would get a parameter changed or not at all. */
  readonly requireParameters?: boolean
}

/** A model as the client names it, and its place in the list of the body. */
export interface NamedFallback {
  readonly name: string
  readonly index: number
}

export interface Choices {
  /** The models to try, in order. The model of the request comes before them, and may be the first of them. */
  readonly models?: ReadonlyArray<NamedFallback>
  readonly provider?: ProviderChoices
  /** From 0, the cheapest, to 1, the best. Absent as 0.5. Only for routed requests. */
  readonly costQuality?: number
  /** The most that the request may cost. */
  readonly maxCost?: Picodollars
}

/** The member of the body by which an endpoint was left out. */
export type ChoiceExclusion =
  | "provider.only"
  | "provider.ignore"
  | "provider.order"
  | "provider.data_collection"
  | "provider.zdr"
  | "provider.max_price"
  | "provider.require_parameters"
  | "max_cost_usd"
