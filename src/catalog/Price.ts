/**
 * Prices in picodollars per token or per hour of audio, and the only place where usage is turned into money.
 *
 * A charge is the dot product of rates and disjoint token buckets, so nothing is priced twice. Once the whole prompt,
 * cached tokens included, exceeds the threshold of a price tier, the rates of that tier apply to the whole request.
 */
import { type Picodollars, picodollars } from "../domain/Money.ts"
import { promptTokens, type Usage } from "../domain/Usage.ts"

/** Picodollars per token for each bucket, and per hour, before any divisor. Reasoning tokens are billed as output. */
export interface Rates {
  readonly input: Picodollars
  readonly cacheRead: Picodollars
  readonly cacheWrite5m: Picodollars
  readonly cacheWrite1h: Picodollars
  readonly audioInput: Picodollars
  readonly output: Picodollars
  /** Picodollars per hour of audio. Left out if audio is priced by the token. */
  readonly audioHour?: Picodollars
}

export interface PriceTier {
  /** The rates apply when the prompt has more tokens than this. */
  readonly abovePromptTokens: number
  readonly rates: Rates
}

export interface Price {
  readonly rates: Rates
  /** Ascending by threshold. */
  readonly tiers: ReadonlyArray<PriceTier>
  /** Shorter audio is billed as if it were this long. Only for prices by the hour. */
  readonly minimumAudioMillis?: number
  /**
   * The rates are divided by this, which a factor with decimals can ask for: it divides a million. Absent where they
   * are whole picodollars.
   */
  readonly divisor?: bigint
}

/** The rates that apply to a prompt of this size. */
export const ratesFor = (price: Price, totalPromptTokens: number): Rates =>
  price.tiers.findLast((tier) => totalPromptTokens > tier.abovePromptTokens)?.rates ?? price.rates

/** The cost of `usage`: exact, and rounded once and up where it is not a whole number of picodollars. */
export const costOf = (price: Price, usage: Usage): Picodollars => {
  const rates = ratesFor(price, promptTokens(usage))
  const tokens =
    BigInt(usage.input) * rates.input +
    BigInt(usage.cacheRead) * rates.cacheRead +
    BigInt(usage.cacheWrite5m) * rates.cacheWrite5m +
    BigInt(usage.cacheWrite1h) * rates.cacheWrite1h +
    BigInt(usage.audioInput) * rates.audioInput +
    BigInt(usage.output) * rates.output
  const { divisor = 1n } = price
  const { audioMillis } = usage
  if (audioMillis === undefined || rates.audioHour === undefined) return roundedUp(tokens, divisor)
  return roundedUp(tokens * millisPerHour + BigInt(audioMillis) * rates.audioHour, millisPerHour * divisor)
}

/** How many milliseconds are billed for audio of this length; `undefined` if the price is by the token. */
export const billedMillis = ({ minimumAudioMillis = 0, rates }: Price, millis: number): number | undefined =>
  rates.audioHour === undefined ? undefined : Math.max(minimumAudioMillis, millis)

const millisPerHour = 3_600_000n

/** The only division in a charge, and therefore the only rounding: up, by less than a picodollar. */
const roundedUp = (amount: bigint, divisor: bigint): Picodollars =>
  picodollars(divisor === 1n ? amount : (amount + divisor - 1n) / divisor)

/** The same usage as it is billed under another price: only the time of audio depends on it. */
export const usageUnder = (price: Price, usage: Usage, millis: number): Usage => {
  const { audioMillis: _other, ...tokens } = usage
  const audioMillis = billedMillis(price, millis)
  return audioMillis === undefined ? tokens : { ...tokens, audioMillis }
}
