/**
 * Prices in picodollars per token or per hour of audio, and the one place that turns usage into money.
 *
 * A charge is the dot product of disjoint buckets and rates, so nothing is priced twice. A tier, when its threshold is
 * passed by the total prompt (cached tokens included), replaces the rates for the whole request.
 */
import type { Picodollars } from "../domain/Money.ts"
import { picodollars } from "../domain/Money.ts"
import { promptTokens, type Usage } from "../domain/Usage.ts"

/** Picodollars per token, one rate per bucket, and for time. Reasoning has none of its own: it is output. */
export interface Rates {
  readonly input: Picodollars
  readonly cacheRead: Picodollars
  readonly cacheWrite5m: Picodollars
  readonly cacheWrite1h: Picodollars
  readonly audioInput: Picodollars
  readonly output: Picodollars
  /** Picodollars per hour of audio. Left out where audio is priced by the token. */
  readonly audioHour?: Picodollars
}

export interface PriceTier {
  /** The rates hold when the prompt has more tokens than this. */
  readonly abovePromptTokens: number
  readonly rates: Rates
}

export interface Price {
  readonly rates: Rates
  /** Ascending by threshold. */
  readonly tiers: ReadonlyArray<PriceTier>
  /** Audio that is shorter is billed as if it were this long. For prices by time. */
  readonly minimumAudioMillis?: number
}

/** The rates in force for a prompt of this size. */
export const ratesFor = (price: Price, totalPromptTokens: number): Rates =>
  price.tiers.findLast((tier) => totalPromptTokens > tier.abovePromptTokens)?.rates ?? price.rates

/** What `usage` costs, exactly. */
export const costOf = (price: Price, usage: Usage): Picodollars => {
  const rates = ratesFor(price, promptTokens(usage))
  const tokens =
    BigInt(usage.input) * rates.input +
    BigInt(usage.cacheRead) * rates.cacheRead +
    BigInt(usage.cacheWrite5m) * rates.cacheWrite5m +
    BigInt(usage.cacheWrite1h) * rates.cacheWrite1h +
    BigInt(usage.audioInput) * rates.audioInput +
    BigInt(usage.output) * rates.output
  const { audioMillis } = usage
  if (audioMillis === undefined || rates.audioHour === undefined) return picodollars(tokens)
  return picodollars(tokens + timeCost(audioMillis, rates.audioHour))
}

/** How much of audio of this length is billed by time; `undefined` where the price knows no time. */
export const billedMillis = ({ minimumAudioMillis = 0, rates }: Price, millis: number): number | undefined =>
  rates.audioHour === undefined ? undefined : Math.max(minimumAudioMillis, millis)

const millisPerHour = 3_600_000n

/** The one division of all charges, so the one that rounds: up, by less than a picodollar. */
const timeCost = (millis: number, perHour: Picodollars): bigint =>
  (BigInt(millis) * perHour + millisPerHour - 1n) / millisPerHour
