/**
 * The amount to hold for a chat request, and its charge if its client leaves early. Both are computed from the price
 * that is charged. Pure, and exact: both are sums of whole numbers of tokens times prices.
 */
import { costOf, type Price, ratesFor } from "../catalog/Price.ts"
import { min, type Picodollars, zero } from "../domain/Money.ts"
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
  const { price, promptTokens } = expectation
  const audioInput = Math.min(expectation.audioTokens ?? 0, promptTokens)
  const output = expectedOutput(expectation, defaults)
  return costOf(price, { ...none, input: promptTokens - audioInput, audioInput, output })
}

/** The same where the output of such requests is known. It is never more than the estimate without that. */
export const estimateLikely = (
  expectation: Expectation,
  likelyOutputTokens: number | undefined,
  defaults: DefaultOutputTokens = defaultOutputTokens
): Picodollars => {
  const output = likelyOutput(expectation, likelyOutputTokens, defaults)
  return estimate({ ...expectation, maxOutputTokens: output }, defaults)
}

/** The output to expect, of which less may be known to be enough. */
export const likelyOutput = (
  expectation: Expectation,
  likelyOutputTokens: number | undefined,
  defaults: DefaultOutputTokens
): number => Math.min(expectedOutput(expectation, defaults), likelyOutputTokens ?? Infinity)

/** The fewest output tokens for which a request is worth making: a few sentences. */
export const shortAnswerTokens = 256

/**
 * The output limit with which a request costs at most `most`, and less than was expected. `undefined` if that is less
 * than a short answer and less than what the request expects.
 */
export const affordableOutput = (
  expectation: Expectation,
  most: Picodollars,
  defaults: DefaultOutputTokens = defaultOutputTokens
): number | undefined => {
  const { price, promptTokens } = expectation
  const expected = expectedOutput(expectation, defaults)
  const rate = ratesFor(price, promptTokens).output
  const forOutput = most - estimate({ ...expectation, maxOutputTokens: 0 })
  if (forOutput < 0n) return undefined
  const tokens = rate === zero ? expected : Math.min(expected, Number((forOutput * (price.divisor ?? 1n)) / rate))
  return tokens < Math.min(expected, shortAnswerTokens) ? undefined : tokens
}

/** The whole prompt, and all the output that is expected. */
export const expectedTokens = (expectation: Expectation, defaults: DefaultOutputTokens): number =>
  expectation.promptTokens + expectedOutput(expectation, defaults)

const expectedOutput = (
  { maxOutputTokens, modelMaxOutputTokens, tier }: Expectation,
  defaults: DefaultOutputTokens
): number => Math.min(maxOutputTokens ?? defaults[tier ?? "low"], modelMaxOutputTokens)

/** The charge for a client that left after its first output: the tokens delivered to it, and at most what was held. */
export const chargeForDelivered = (options: {
  readonly price: Price
  readonly held: Picodollars
  readonly delivered: Usage
}): Picodollars => min(options.held, costOf(options.price, options.delivered))
