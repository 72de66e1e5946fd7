/**
 * Usage as Anthropic reports it. Its input count leaves out what was read from or written to a cache, so the buckets
 * are disjoint as they come; in a stream the later counts replace the earlier ones, field by field.
 */
import { count, type Usage } from "../../../domain/Usage.ts"
import { asNumber, asObject, type Fields } from "../shared/Field.ts"

export interface Counts {
  readonly input?: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  /** The part of `cacheWrite` that lives for an hour. */
  readonly cacheWrite1h?: number
  readonly output?: number
  readonly reasoning?: number
}

/** `earlier` with the counts that `usage` gives in their place. */
export const countsWith = (earlier: Counts, usage: Fields): Counts => {
  const written = asObject(usage["cache_creation"])
  const produced = asObject(usage["output_tokens_details"])
  const given = {
    input: asNumber(usage["input_tokens"]),
    cacheRead: asNumber(usage["cache_read_input_tokens"]),
    cacheWrite: asNumber(usage["cache_creation_input_tokens"]),
    cacheWrite1h: asNumber(written?.["ephemeral_1h_input_tokens"]),
    output: asNumber(usage["output_tokens"]),
    reasoning: asNumber(produced?.["thinking_tokens"])
  }
  return { ...earlier, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) }
}

export const usageOf = (counts: Counts): Usage | undefined => {
  if (counts.input === undefined && counts.output === undefined) return undefined
  const cacheWrite = count(counts.cacheWrite)
  const cacheWrite1h = Math.min(count(counts.cacheWrite1h), cacheWrite)
  const output = count(counts.output)
  return {
    input: count(counts.input),
    cacheRead: count(counts.cacheRead),
    cacheWrite5m: cacheWrite - cacheWrite1h,
    cacheWrite1h,
    audioInput: 0,
    output,
    reasoning: Math.min(count(counts.reasoning), output)
  }
}
