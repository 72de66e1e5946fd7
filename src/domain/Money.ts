/**
 * Money is a whole number of picodollars (10^-12 USD), as a `bigint`.
 *
 * A price of up to six decimals in USD per million tokens is a whole number of picodollars per token, so every charge
 * for tokens is a sum of integer products and is exact. The rule: no amount is rounded and none is computed as a float.
 * Only the number that is sent to the client is a float, and it is converted last.
 */
import { Brand, Option } from "effect"

/** An amount of money in picodollars. */
export type Picodollars = bigint & Brand.Brand<"Picodollars">
export const picodollars = Brand.nominal<Picodollars>()

export const zero = picodollars(0n)

const picodollarsPerUsd = 1_000_000_000_000n
/** A dollar has so many decimals in picodollars. */
export const usdDecimals = 12

/** The largest amount of one hold, charge or grant: the sum of two of them still fits into PostgreSQL's BIGINT. */
export const maximum = picodollars(9_000_000_000_000_000_000n / 2n)

const decimal = /^(-?)(\d{1,9})(?:\.(\d{1,12}))?$/

/** Parses a plain decimal amount of USD, such as `"12.5"`. `None` for other text and for more than twelve decimals. */
export const fromUsd = (text: string): Option.Option<Picodollars> => {
  const match = decimal.exec(text)
  if (match === null) return Option.none()
  const [, sign = "", whole = "0", fraction = ""] = match
  const magnitude = BigInt(whole) * picodollarsPerUsd + BigInt(fraction.padEnd(usdDecimals, "0"))
  return Option.some(picodollars(sign === "-" ? -magnitude : magnitude))
}

/** The exact decimal amount of USD, without trailing zeros. For balances, which may be too large for a float. */
export const toUsd = (amount: Picodollars): string => {
  const magnitude = amount < 0n ? -amount : amount
  const fraction = (magnitude % picodollarsPerUsd).toString().padStart(usdDecimals, "0").replace(/0+$/, "")
  const whole = `${amount < 0n ? "-" : ""}${magnitude / picodollarsPerUsd}`
  return fraction === "" ? whole : `${whole}.${fraction}`
}

/** The amount in USD, as the JSON number of `usage.cost`: the nearest double, which prints exactly below $1,000. */
export const toUsdNumber = (amount: Picodollars): number => Number(amount) / 1e12

/** `amount` for each of `count` units. `count` is a whole number. */
export const times = (amount: Picodollars, count: number): Picodollars => picodollars(amount * BigInt(count))

export const add = (a: Picodollars, b: Picodollars): Picodollars => picodollars(a + b)

export const min = (a: Picodollars, b: Picodollars): Picodollars => (a < b ? a : b)

export const max = (a: Picodollars, b: Picodollars): Picodollars => (a > b ? a : b)
