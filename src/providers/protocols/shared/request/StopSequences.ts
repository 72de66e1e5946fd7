/**
 * Which stop sequences the provider is given, and which the gateway applies itself by cutting the text. Together they
 * are what the client asked for; providers refuse some sequences, or more than a few of them, or know none.
 */
import { isBlank } from "../Field.ts"

/** The sequences of one request. */
export interface StopSequences {
  /** Sequences that the provider stops at. */
  readonly sent: ReadonlyArray<string>
  /** Sequences that the gateway cuts the answer at. */
  readonly local: ReadonlyArray<string>
}

/** An empty sequence would end every answer at its first character, so it counts as none. */
const withoutEmpty = (stop: ReadonlyArray<string>): ReadonlyArray<string> => stop.filter((sequence) => sequence !== "")

/** For APIs that know no stop sequences. */
export const onlyLocalStops = (stop: ReadonlyArray<string>): StopSequences => ({ sent: [], local: withoutEmpty(stop) })

/** For APIs that refuse sequences of white space, as Anthropic does and Bedrock for Anthropic's models. */
export const visibleStops = (stop: ReadonlyArray<string>): StopSequences => ({
  sent: stop.filter((sequence) => !isBlank(sequence)),
  local: withoutEmpty(stop).filter(isBlank)
})

/** For APIs that refuse more than `limit` sequences. */
export const limitedStops = (stop: ReadonlyArray<string>, limit: number): StopSequences => {
  const sequences = withoutEmpty(stop)
  return { sent: sequences.slice(0, limit), local: sequences.slice(limit) }
}
