/**
 * The amount to hold for a chat request, and its charge if its client leaves early. Pure, and exact: both are sums of
 * whole numbers of tokens times whole prices.
 */
import { costOf, type Price } from "../catalog/Price.ts"
import { min, type Picodollars } from "../domain/Money.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"
import { none, type Usage } from "../domain/Usage.ts"

/** The output tokens to expect of a request that sets no limit, by reasoning tier. */
export type DefaultOutputTokens = { readonly [T in ReasoningTier]: number }

export const defaultOutputTokens: DefaultOutputTokens = { none: 1_024, low: 2_048, high: 8_192 }

export interface Expectation {
  /** The price of the first candidate. */
  readonly price: Price
  /** The output limit of the first candidate. */
  readonly modelMaxOutputTokens: number
  /** The whole prompt, including audio. */
  readonly promptTokens: number
  /** The part of `promptTokens` that is audio. */
  readonly audioTokens?: number
  /** The limit in the request. */
  readonly maxOutputTokens?: number | undefined
  /** `undefined` if the request leaves reasoning to the model, which counts as `low`. */
  readonly tier: ReasoningTier | undefined
}

/** The amount to hold: the whole prompt at the uncached price, and all the output that is expected. */
export const estimate = (
  expectation: Expectation,
  defaults: DefaultOutputTokens = defaultOutputTokens
): Picodollars => {
  const { maxOutputTokens, modelMaxOutputTokens, promptTokens, tier } = expectation
  const audioInput = Math.min(expectation.audioTokens ?? 0, promptTokens)
  const output = Math.min(maxOutputTokens ?? defaults[tier ?? "low"], modelMaxOutputTokens)
  return costOf(expectation.price, { ...none, input: promptTokens - audioInput, audioInput, output })
}

/** The charge for a client that left after its first output: the tokens delivered to it, and at most what was held. */
export const chargeForDelivered = (options: {
  readonly price: Price
  readonly held: Picodollars
  readonly delivered: Usage
}): Picodollars => min(options.held, costOf(options.price, options.delivered))
