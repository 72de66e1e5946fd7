/**
 * Converts prices from the decimals of catalog files to picodollars. The decimal point is shifted in the text, without
 * floating-point arithmetic. The schema has already refused prices that are not a whole number of picodollars.
 */
import { Result } from "effect"

import { type Picodollars, picodollars } from "../domain/Money.ts"
import { decimalPrice, type PriceEntry } from "../domain/PriceEntry.ts"
import { type CatalogResult, catalogFault } from "./CatalogFile.ts"
import type { Price, Rates } from "./Price.ts"

/** The fields of an endpoint entry that define its price. */
export interface PricedEntry {
  readonly price_usd_per_mtok?: PriceEntry
  readonly price_usd_per_audio_hour?: number | string
  readonly minimum_audio_seconds?: number
}

/** The price of an endpoint. It must have exactly one, by the token or by the hour. */
export const priceOf = (entry: PricedEntry, path: string): CatalogResult<Price> => {
  const { minimum_audio_seconds: minimum, price_usd_per_audio_hour: byHour, price_usd_per_mtok: byToken } = entry
  if (byHour !== undefined && byToken === undefined) return Result.succeed(timePrice(byHour, minimum))
  if (byHour !== undefined || byToken === undefined) {
    return Result.fail(catalogFault(path, "must have price_usd_per_mtok or price_usd_per_audio_hour, and not both"))
  }
  return minimum === undefined
    ? tokenPrice(byToken, `${path}.price_usd_per_mtok`)
    : Result.fail(catalogFault(`${path}.minimum_audio_seconds`, "goes with price_usd_per_audio_hour"))
}

const tokenPrice = (entry: PriceEntry, path: string): CatalogResult<Price> => {
  const tiers = (entry.tiers ?? []).map((tier) => ({
    abovePromptTokens: tier.above_prompt_tokens,
    rates: ratesOf(tier)
  }))
  const unsorted = tiers.findIndex(
    ({ abovePromptTokens }, index) => abovePromptTokens <= (tiers[index - 1]?.abovePromptTokens ?? 0)
  )
  return unsorted === -1
    ? Result.succeed({ rates: ratesOf(entry), tiers })
    : Result.fail(catalogFault(`${path}.tiers[${unsorted}].above_prompt_tokens`, "must be above the tier before it"))
}

const free = picodollars(0n)
const freeTokens: Rates = {
  input: free,
  cacheRead: free,
  cacheWrite5m: free,
  cacheWrite1h: free,
  audioInput: free,
  output: free
}

const timePrice = (usdPerHour: number | string, minimumSeconds: number | undefined): Price => ({
  rates: { ...freeTokens, audioHour: picodollars(millionths(usdPerHour) * 1_000_000n) },
  tiers: [],
  ...(minimumSeconds !== undefined && { minimumAudioMillis: minimumSeconds * 1_000 })
})

/** A missing cache or audio rate defaults to the input rate, so that it is never below what the provider charges. */
const ratesOf = (entry: Omit<PriceEntry, "tiers">): Rates => {
  const input = picodollarsPerToken(entry.input)
  const rate = (value: number | string | undefined, otherwise: Picodollars): Picodollars =>
    value === undefined ? otherwise : picodollarsPerToken(value)
  const cacheWrite5m = rate(entry.cache_write, input)
  return {
    input,
    cacheRead: rate(entry.cache_read, input),
    cacheWrite5m,
    cacheWrite1h: rate(entry.cache_write_1h, cacheWrite5m),
    audioInput: rate(entry.audio_input, input),
    output: picodollarsPerToken(entry.output)
  }
}

/** One USD per million tokens is 10^6 picodollars per token. */
const picodollarsPerToken = (usdPerMillion: number | string): Picodollars => picodollars(millionths(usdPerMillion))

/** A decimal with at most six decimal places, times a million. */
const millionths = (decimal: number | string): bigint => {
  const [, whole = "0", fraction = ""] = decimalPrice.exec(String(decimal)) ?? []
  return BigInt(whole + fraction.padEnd(6, "0"))
}
