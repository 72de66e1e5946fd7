/**
 * What a completion consumed, in buckets that never overlap.
 *
 * Some providers include cached tokens in their input count and some do not. Each protocol converts what its provider
 * reports to these buckets, so that a charge is the dot product of buckets and prices, and no token is counted twice.
 */

/** Numbers of tokens, and a duration. The first five add up to the whole prompt; `output` includes `reasoning`. */
export interface Usage {
  /** Prompt tokens that were neither read from a cache nor written to one, and are not audio. */
  readonly input: number
  readonly cacheRead: number
  /** Written to a cache that lives five minutes. */
  readonly cacheWrite5m: number
  /** Written to a cache that lives one hour. */
  readonly cacheWrite1h: number
  readonly audioInput: number
  /** All that the model produced, including hidden reasoning. */
  readonly output: number
  /** The part of `output` that was reasoning, as far as the provider reports it. */
  readonly reasoning: number
  /** Milliseconds of audio that are billed, after any minimum. Absent where audio is not billed by time. */
  readonly audioMillis?: number
}

/** The usage of an answer that consumed nothing. */
export const none: Usage = {
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  audioInput: 0,
  output: 0,
  reasoning: 0
}

/** The number of tokens of the whole prompt, cached or not. */
export const promptTokens = (usage: Usage): number =>
  usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h + usage.audioInput

/** All tokens, of the prompt and of the output. */
export const totalTokens = (usage: Usage): number => promptTokens(usage) + usage.output

/** The `cache_write_tokens` of an answer. */
export const cacheWriteTokens = (usage: Usage): number => usage.cacheWrite5m + usage.cacheWrite1h

/** The most tokens that one request can have consumed. What a provider reports beyond them is its mistake. */
export interface UsageBounds {
  /** Of the whole prompt. */
  readonly prompt: number
  readonly output: number
}

/**
 * What a prompt may have beyond twice the local count: the local count knows neither the size of an image nor what a
 * provider adds to a prompt.
 */
const promptMargin = 300_000

export const usageBounds = (options: {
  /** The local count of the prompt. */
  readonly promptTokens: number
  /** Absent where it is not in tokens. */
  readonly contextWindow?: number
  readonly maxOutputTokens: number
}): UsageBounds => ({
  prompt: Math.min(2 * options.promptTokens + promptMargin, options.contextWindow ?? Infinity),
  output: options.maxOutputTokens
})

/** Whether the model can have consumed this. */
export const isPlausible = (usage: Usage, bounds: UsageBounds): boolean =>
  promptTokens(usage) <= bounds.prompt && usage.output <= bounds.output

/** The counts of a provider whose prompt total includes cached and audio tokens. */
export interface InclusiveCounts {
  readonly prompt: number
  readonly completion: number
  readonly cacheRead?: number
  readonly cacheWrite5m?: number
  readonly cacheWrite1h?: number
  readonly audioInput?: number
  readonly reasoning?: number
}

/** A count that is safe to bill: a whole number that is not negative. Providers have sent null, NaN, strings and -1. */
export const count = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0

/**
 * Splits a prompt total that includes cached and audio tokens into buckets. If the parts exceed the total, the later
 * ones are reduced, so that the buckets always add up to the total that the provider reported.
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

/** The usage for which one answer is billed. */
export interface MeteredUsage {
  readonly usage: Usage
  /**
   * Whether some of it is not exact: counted by the gateway because the provider reported nothing, or derived from a
   * length of audio that was estimated from the size of the file.
   */
  readonly estimated: boolean
  /** What the provider reported, where that cannot be right and was not believed, or not all of it. */
  readonly implausible?: Usage
  /** Present where the provider should have reported its count and did not. */
  readonly unreported?: true
}

/** What is known of one answer when its usage is metered. */
export interface UsageEvidence {
  /** The provider's own count; `undefined` when it gave none. */
  readonly reported: Usage | undefined
  /** The gateway's count. It takes time, so it is only asked for where it is needed. */
  readonly counted: () => Usage
  readonly bounds: UsageBounds
  /** False for an answer without any output. */
  readonly hasOutput: boolean
}

/**
 * The usage that is billed: as the provider reported it, as far as that can be right, else as it was counted here. A
 * prompt never has zero tokens, and neither has output. Only an answer without output may have cost nothing.
 */
export const meteredUsage = ({ bounds, counted, hasOutput, reported }: UsageEvidence): MeteredUsage => {
  if (reported === undefined) return { usage: counted(), estimated: true, unreported: true }
  if (!isPlausible(reported, bounds)) return { usage: counted(), estimated: true, implausible: reported }
  const lacksPrompt = promptTokens(reported) === 0 && (hasOutput || reported.output > 0)
  const lacksOutput = reported.output === 0 && hasOutput
  if (!lacksPrompt && !lacksOutput) return { usage: reported, estimated: false }
  const own = counted()
  // Output of which the gateway can count nothing, such as encrypted reasoning, leaves a report of zero as it is.
  if (!lacksPrompt && own.output === 0) return { usage: reported, estimated: false }
  const { output, reasoning } = lacksOutput ? own : reported
  return { usage: { ...(lacksPrompt ? own : reported), output, reasoning }, estimated: true, implausible: reported }
}
