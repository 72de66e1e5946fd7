/**
 * How much the requests of an organization to a model really write, as far as this gateway has seen them lately. A hold
 * then expects what 95 of 100 of them need, and not the much larger default. The prompt of a request is known before,
 * so only its output is learned.
 *
 * Each kind of request has a histogram of powers of the fourth root of two, so a quantile is too high by less than a
 * fifth and never too low. Old answers count for less and less: all counts are halved whenever there are enough.
 */
import type { ModelId, OrganizationId } from "../domain/Ids.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"

/** Requests that need about as much output as each other. */
export interface RequestKind {
  readonly organization: OrganizationId
  readonly model: ModelId
  /** `undefined` if the request leaves reasoning to the model. */
  readonly tier: ReasoningTier | undefined
  /** Whether the request sets an output limit. */
  readonly isLimited: boolean
}

/** From how many answers on the quantile is used: of fewer, the largest twentieth is only one or two. */
const enoughAnswers = 50
/** At how many answers they are halved. */
const maxAnswers = 1_000
/** The most kinds that are kept; the one that was answered least recently goes first. About 4 MB. */
const maxKinds = 10_000
const quantile = 0.95

/** Per doubling. */
const resolution = 4
/** The last one is for a million tokens and more. */
const buckets = 1 + 20 * resolution

interface Histogram {
  readonly counts: Float32Array
  total: number
}

export class LearnedOutput {
  private readonly histograms = new Map<string, Histogram>()

  /** Counts an answer that its model completed. */
  observe(kind: RequestKind, outputTokens: number): void {
    const key = keyOf(kind)
    const histogram = this.histograms.get(key) ?? { counts: new Float32Array(buckets), total: 0 }
    // The map keeps the order of insertion, so its first entry is the one that was answered least recently.
    this.histograms.delete(key)
    this.histograms.set(key, histogram)
    const bucket = bucketOf(outputTokens)
    histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1
    if (++histogram.total >= maxAnswers) halve(histogram)
    if (this.histograms.size <= maxKinds) return
    const [oldest] = this.histograms.keys()
    if (oldest !== undefined) this.histograms.delete(oldest)
  }

  /** The output tokens that 95 of 100 such requests do not exceed; `undefined` until there are enough answers. */
  expected(kind: RequestKind): number | undefined {
    const histogram = this.histograms.get(keyOf(kind))
    if (histogram === undefined || histogram.total < enoughAnswers) return undefined
    let left = histogram.total * quantile
    for (let bucket = 0; bucket < buckets - 1; bucket++) {
      left -= histogram.counts[bucket] ?? 0
      if (left <= 0) return largestIn(bucket)
    }
    return Infinity
  }
}

const keyOf = ({ isLimited, model, organization, tier }: RequestKind): string =>
  `${organization} ${model} ${tier ?? "unset"} ${isLimited ? "limited" : "free"}`

/** Bucket 0 holds up to one token, and bucket `n` more than `2 ** ((n - 1) / 4)` and up to `2 ** (n / 4)`. */
const bucketOf = (tokens: number): number =>
  tokens <= 1 ? 0 : Math.min(buckets - 1, Math.ceil(Math.log2(tokens) * resolution))

const largestIn = (bucket: number): number => Math.floor(2 ** (bucket / resolution))

const halve = (histogram: Histogram): void => {
  for (let bucket = 0; bucket < buckets; bucket++) histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) / 2
  histogram.total /= 2
}
