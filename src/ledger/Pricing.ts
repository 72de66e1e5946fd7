/**
 * What a request is held for, and what it is charged when its client left early. Pure, and exact: both are sums of
 * whole tokens times whole prices.
 */
import { costOf, type Price } from "../catalog/Price.ts"
import { min, type Picodollars } from "../domain/Money.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"
import { none, type Usage } from "../domain/Usage.ts"

/** Output tokens to expect of a request that sets no limit, by how much it wants the model to think. */
export type DefaultOutputTokens = { readonly [T in ReasoningTier]: number }

export const defaultOutputTokens: DefaultOutputTokens = { none: 1_024, low: 2_048, high: 8_192 }

export interface Expectation {
  /** Of the first candidate. */
  readonly price: Price
  /** The most it can write. */
  readonly modelMaxOutputTokens: number
  /** The whole prompt, audio included. */
  readonly promptTokens: number
  /** The part of the prompt that is audio. */
  readonly audioTokens?: number
  /** The client's own limit. */
  readonly maxOutputTokens?: number | undefined
  /** `undefined` when the request leaves it to the model, which then thinks as little as `low`. */
  readonly tier: ReasoningTier | undefined
}

/** What to hold: the whole prompt at full price, and all the output that is to be expected. */
export const estimate = (
  expectation: Expectation,
  defaults: DefaultOutputTokens = defaultOutputTokens
): Picodollars => {
  const { maxOutputTokens, modelMaxOutputTokens, promptTokens, tier } = expectation
  const audioInput = Math.min(expectation.audioTokens ?? 0, promptTokens)
  const output = Math.min(maxOutputTokens ?? defaults[tier ?? "low"], modelMaxOutputTokens)
  return costOf(expectation.price, { ...none, input: promptTokens - audioInput, audioInput, output })
}

/** What a client pays that left after its first output: the tokens it was sent, and never more than was held. */
export const chargeForDelivered = (options: {
  readonly price: Price
  readonly held: Picodollars
  readonly delivered: Usage
}): Picodollars => min(options.held, costOf(options.price, options.delivered))
