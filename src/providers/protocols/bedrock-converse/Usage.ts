/**
 * Usage as Converse reports it. Its input count leaves out what was read from or written to a cache, so the buckets are
 * disjoint as they come. What was written for an hour is said beside the total.
 */
import { count, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, asObjects, type Fields } from "../shared/Field.ts"

/** The usage of a body or of a stream's metadata, if it has one. */
export const usageIn = (fields: Fields): Usage | undefined => {
  const usage = asObject(fields["usage"])
  const input = asNumber(usage?.["inputTokens"])
  const output = asNumber(usage?.["outputTokens"])
  if (usage === undefined || (input === undefined && output === undefined)) return undefined
  // Some models report under the second names alone.
  const cacheRead = asNumber(usage["cacheReadInputTokens"]) ?? asNumber(usage["cacheReadInputTokenCount"])
  const cacheWrite = count(asNumber(usage["cacheWriteInputTokens"]) ?? asNumber(usage["cacheWriteInputTokenCount"]))
  const cacheWrite1h = Math.min(hourly(usage), cacheWrite)
  return {
    input: count(input),
    cacheRead: count(cacheRead),
    cacheWrite5m: cacheWrite - cacheWrite1h,
    cacheWrite1h,
    audioInput: 0,
    output: count(output),
    // Thinking is within the output, and nobody says how much of it.
    reasoning: 0
  }
}

const hourly = (usage: Fields): number =>
  asObjects(usage["cacheDetails"])
    .filter(({ ttl }) => ttl === "1h")
    .reduce((sum, { inputTokens }) => sum + count(asNumber(inputTokens)), 0)
