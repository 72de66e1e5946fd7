/**
 * Money is a whole number of picodollars (10^-12 USD), as a `bigint`.
 *
 * A price of up to six decimals in USD per million tokens is a whole number of picodollars per token, so every charge
 * for tokens is a sum of integer products and is exact. Nothing here rounds, and no float takes part in arithmetic: the
 * only `number` is the one written to the client, made once at the very edge.
 */
import { Brand, Option } from "effect"

/** An amount of money in picodollars. */
export type Picodollars = bigint & Brand.Brand<"Picodollars">
export const picodollars = Brand.nominal<Picodollars>()

export const zero = picodollars(0n)

const picodollarsPerUsd = 1_000_000_000_000n
const usdDecimals = 12

/** The largest amount one account or entry may hold: what PostgreSQL's BIGINT can, with room to add two of them. */
export const maximum = picodollars(9_000_000_000_000_000_000n / 2n)

const decimal = /^(-?)(\d{1,9})(?:\.(\d{1,12}))?$/

/** Reads a plain decimal amount of USD, `"12.5"`. `None` for anything else, or for more than twelve decimals. */
export const fromUsd = (text: string): Option.Option<Picodollars> => {
  const match = decimal.exec(text)
  if (match === null) return Option.none()
  const [, sign = "", whole = "0", fraction = ""] = match
  const magnitude = BigInt(whole) * picodollarsPerUsd + BigInt(fraction.padEnd(usdDecimals, "0"))
  return Option.some(picodollars(sign === "-" ? -magnitude : magnitude))
}

/** The exact decimal amount of USD, without trailing zeros. For balances, which a float could not carry. */
export const toUsd = (amount: Picodollars): string => {
  const magnitude = amount < 0n ? -amount : amount
  const fraction = (magnitude % picodollarsPerUsd).toString().padStart(usdDecimals, "0").replace(/0+$/, "")
  const whole = `${amount < 0n ? "-" : ""}${magnitude / picodollarsPerUsd}`
  return fraction === "" ? whole : `${whole}.${fraction}`
}

/** The amount as the JSON number of `usage.cost`, in USD: the nearest double, which prints exactly below $1,000. */
export const toUsdNumber = (amount: Picodollars): number => Number(amount) / 1e12

/** `amount` for each of `count` units. `count` is a whole number. */
export const times = (amount: Picodollars, count: number): Picodollars => picodollars(amount * BigInt(count))

export const add = (a: Picodollars, b: Picodollars): Picodollars => picodollars(a + b)

export const min = (a: Picodollars, b: Picodollars): Picodollars => (a < b ? a : b)
