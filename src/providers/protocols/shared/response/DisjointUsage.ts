/**
 * Usage from counts that do not overlap: the input leaves out what was read from or written to a cache. What was
 * written for an hour is a part of all that was written.
 */
import { count, type Usage } from "../../../../domain/Usage.ts"

/** Tokens as a provider reports them; a count that it leaves out is zero. */
export interface DisjointCounts {
  readonly input?: number | undefined
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  readonly cacheWrite1h?: number | undefined
  readonly output?: number | undefined
  readonly reasoning?: number | undefined
}

/** `undefined` when neither input nor output was counted. */
export const disjointUsage = (counts: DisjointCounts): Usage | undefined => {
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
