/**
 * What a completion consumed, in buckets that never overlap.
 *
 * Providers disagree on whether their input count includes cached tokens; adapters convert at their edge, so that a
 * charge is a plain dot product of buckets and prices. A charge that counts a token twice cannot be written down here.
 */

/** Tokens, and time. The first five add up to the whole prompt; `reasoning` is a part of `output`, not beside it. */
export interface Usage {
  /** Prompt tokens that were neither read from nor written to a cache, and are not audio. */
  readonly input: number
  readonly cacheRead: number
  /** Written to a cache that lives five minutes. */
  readonly cacheWrite5m: number
  /** Written to a cache that lives one hour. */
  readonly cacheWrite1h: number
  readonly audioInput: number
  /** Everything the model produced, visible or not. */
  readonly output: number
  /** The part of `output` that was reasoning, as far as the provider tells. */
  readonly reasoning: number
  /** Milliseconds of audio billed by time, a minimum included. Left out where nothing is billed by time. */
  readonly audioMillis?: number
}

export const none: Usage = {
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  audioInput: 0,
  output: 0,
  reasoning: 0
}

/** The whole prompt, cached or not. */
export const promptTokens = (usage: Usage): number =>
  usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h + usage.audioInput

/** What the contract calls `cache_write_tokens`. */
export const cacheWriteTokens = (usage: Usage): number => usage.cacheWrite5m + usage.cacheWrite1h

/** Ten times the longest context there is. */
const mostTokens = 100_000_000

/** False for counts that are a provider's mistake, and would bill as one. */
export const isBelievable = (usage: Usage): boolean => promptTokens(usage) <= mostTokens && usage.output <= mostTokens

/** Counts as a provider that reports an inclusive prompt total gives them. */
export interface InclusiveCounts {
  readonly prompt: number
  readonly completion: number
  readonly cacheRead?: number
  readonly cacheWrite5m?: number
  readonly cacheWrite1h?: number
  readonly audioInput?: number
  readonly reasoning?: number
}

/** A count that is safe to bill: a whole number, never negative. Providers have sent null, NaN, strings and -1. */
export const count = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0

/**
 * Buckets out of a prompt total that includes its cached and audio parts. Parts that exceed the total are cut to it,
 * first come first served, so that the buckets always add up to what the provider said the prompt was.
 */
export const fromInclusive = (counts: InclusiveCounts): Usage => {
  let left = count(counts.prompt)
  const take = (value: number | undefined): number => {
    const taken = Math.min(count(value), left)
    left -= taken
    return taken
  }
  const cacheRead = take(counts.cacheRead)
  const cacheWrite5m = take(counts.cacheWrite5m)
  const cacheWrite1h = take(counts.cacheWrite1h)
  const audioInput = take(counts.audioInput)
  const output = count(counts.completion)
  return {
    input: left,
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    audioInput,
    output,
    reasoning: Math.min(count(counts.reasoning), output)
  }
}

/** The usage that one answer is billed by. */
export interface MeteredUsage {
  readonly usage: Usage
  /**
   * Some of it is the gateway's own count, because the provider reported none, or rests on a length of audio that was
   * estimated from the size of the file.
   */
  readonly estimated: boolean
}
