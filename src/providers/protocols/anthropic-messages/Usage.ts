/**
 * Usage as Anthropic reports it. Its input count leaves out what was read from or written to a cache. In a stream every
 * event may bring some of the counts; each count replaces the earlier one of its name.
 */
import type { Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"
import { type DisjointCounts, disjointUsage } from "../shared/response/DisjointUsage.ts"

export type ReportedCounts = DisjointCounts

/** `earlier` with the counts of this `usage` object in their place. */
export const updatedCounts = (earlier: ReportedCounts, usage: Fields): ReportedCounts => {
  const cacheCreation = asObject(usage["cache_creation"])
  const outputDetails = asObject(usage["output_tokens_details"])
  return {
    input: asNumber(usage["input_tokens"]) ?? earlier.input,
    cacheRead: asNumber(usage["cache_read_input_tokens"]) ?? earlier.cacheRead,
    cacheWrite: asNumber(usage["cache_creation_input_tokens"]) ?? earlier.cacheWrite,
    cacheWrite1h: asNumber(cacheCreation?.["ephemeral_1h_input_tokens"]) ?? earlier.cacheWrite1h,
    output: asNumber(usage["output_tokens"]) ?? earlier.output,
    reasoning: asNumber(outputDetails?.["thinking_tokens"]) ?? earlier.reasoning
  }
}

/** The usage of a response with these counts, unless nothing was counted. */
export const usageIn = (counts: ReportedCounts): Usage | undefined => disjointUsage(counts)
