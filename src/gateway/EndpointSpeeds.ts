/**
 * How fast endpoints have answered lately, as moving averages in the memory of this process. They are fed once per
 * answer and hold two numbers per endpoint of the catalog.
 */
import type { EndpointId } from "../domain/Ids.ts"

/** What one answer took. */
export interface MeasuredAnswer {
  /** From the call of the endpoint to its first output. Known of streamed answers alone. */
  readonly firstOutputMillis?: number
  readonly outputTokens: number
  /** From the call of the endpoint to the end of its answer. */
  readonly durationMillis: number
}

/** The share of the newest answer: the last ten answers are most of the average. */
const newestShare = 0.2

/** Answers shorter than this tell little of how many tokens an endpoint writes in a second. */
const leastTokens = 16

export class EndpointSpeeds {
  private readonly latencies = new Map<EndpointId, number>()
  private readonly throughputs = new Map<EndpointId, number>()

  observe(endpoint: EndpointId, { durationMillis, firstOutputMillis, outputTokens }: MeasuredAnswer): void {
    if (firstOutputMillis !== undefined) include(this.latencies, endpoint, firstOutputMillis)
    if (outputTokens < leastTokens) return
    include(this.throughputs, endpoint, (outputTokens * 1_000) / Math.max(1, durationMillis))
  }

  /** Milliseconds to the first output; `undefined` if no answer was measured. */
  latency(endpoint: EndpointId): number | undefined {
    return this.latencies.get(endpoint)
  }

  /** Output tokens in a second; `undefined` if no answer was measured. */
  throughput(endpoint: EndpointId): number | undefined {
    return this.throughputs.get(endpoint)
  }
}

const include = (averages: Map<EndpointId, number>, endpoint: EndpointId, value: number): void => {
  const before = averages.get(endpoint)
  averages.set(endpoint, before === undefined ? value : before + newestShare * (value - before))
}
