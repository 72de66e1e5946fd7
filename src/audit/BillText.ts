/**
 * Amounts and days as the bills of providers write them. The rule: money is read from decimal text, digit by digit, and
 * is never a floating-point number. What a bill has beyond a picodollar is rounded to the nearest one.
 */
import { DateTime, Option } from "effect"

import { type Picodollars, picodollars } from "../domain/Money.ts"

/** A plain decimal, perhaps with an exponent, as JSON may write small numbers. */
const decimal = /^([+-]?)(\d{1,12})(?:\.(\d{0,40}))?(?:[eE]([+-]?\d{1,2}))?$/

/** The amount in picodollars. `decimals` is that of a dollar in the unit of the text: 0 for dollars and 2 for cents. */
export const amountOf = (text: string, decimals = 0): Picodollars | undefined => {
  const match = decimal.exec(text.trim())
  if (match === null) return undefined
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match
  const shift = 12 - decimals + Number(exponent) - fraction.length
  const digits = BigInt(whole + fraction)
  const magnitude = shift >= 0 ? digits * 10n ** BigInt(shift) : rounded(digits, 10n ** BigInt(-shift))
  return picodollars(sign === "-" ? -magnitude : magnitude)
}

const rounded = (amount: bigint, divisor: bigint): bigint => (amount + divisor / 2n) / divisor

const date = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|UTC|[+-]\d{2}:?\d{2})?)?$/

/** The day in UTC, as `2026-03-15`, of a day or a time, which is in UTC unless it says otherwise. */
export const utcDay = (text: string): string | undefined => {
  const match = date.exec(text.trim())
  if (match === null) return undefined
  const [, year, month, day, time = "00:00", zone = "Z"] = match
  const offset = zone === "UTC" ? "Z" : zone.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2")
  const midnight = DateTime.make(`${year}-${month}-${day}T00:00Z`)
  // A date such as the 30th of February would otherwise be one in March.
  if (Option.isNone(midnight) || DateTime.formatIsoDateUtc(midnight.value) !== `${year}-${month}-${day}`)
    return undefined
  return Option.getOrUndefined(
    Option.map(DateTime.make(`${year}-${month}-${day}T${time}${offset}`), DateTime.formatIsoDateUtc)
  )
}

export const dayOfMillis = (millis: number): string => DateTime.formatIsoDateUtc(DateTime.makeUnsafe(millis))
