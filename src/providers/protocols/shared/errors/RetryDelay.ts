/**
 * How long a provider asks its clients to wait, from the headers of its response or from the text of its error. An HTTP
 * date is compared with the `date` of the same response, so that no clock is needed.
 */
import { Duration } from "effect"

import type { ErrorResponse } from "../../Protocol.ts"
import { asNumber } from "../Field.ts"

/**
 * `retry-after-ms` comes before `retry-after`, and both come before the text. One that cannot be read counts for
 * nothing; `undefined` when none of them can.
 */
export const retryDelayIn = (headers: ErrorResponse["headers"], message: string): Duration.Duration | undefined => {
  const after = headers["retry-after"] ?? ""
  const inHeaders =
    delayOf(asNumber(headers["retry-after-ms"]) ?? NaN) ??
    delayOf((asNumber(after) ?? NaN) * 1_000) ??
    // A number is no date, although some parsers read `-5` as one.
    (asNumber(after) === undefined ? delayOf(Date.parse(after) - Date.parse(headers["date"] ?? "")) : undefined)
  if (inHeaders !== undefined) return inHeaders
  const inText = /(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?\s?[a-z]+\s?){1,4})/i.exec(message)?.[1]
  return inText === undefined ? undefined : delayOf(millisIn(inText))
}

const delayOf = (millis: number): Duration.Duration | undefined =>
  Number.isFinite(millis) && millis >= 0 ? Duration.millis(Math.ceil(millis)) : undefined

const unitMillis: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1_000,
  sec: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000
}

/** Reads `494ms`, `1m2.5s` and `20 seconds`. */
const millisIn = (text: string): number => {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s?(ms|milli|sec|s|min|m|h)/gi)]
  const factor = (unit: string): number => unitMillis[unit.toLowerCase()] ?? 1
  return parts.length === 0 ? NaN : parts.reduce((sum, [, value, unit = ""]) => sum + Number(value) * factor(unit), 0)
}
