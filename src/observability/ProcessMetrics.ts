/** Metrics of the process, under the names that exporters for Node use. They are read when somebody asks for them. */
import { monitorEventLoopDelay, performance } from "node:perf_hooks"

import { Clock, Effect, Layer } from "effect"

import { initialiseSeries, observed } from "./MetricSeries.ts"
import { metricTable } from "./MetricTable.ts"
import { tollgateVersion } from "./Version.ts"

/** How often a timer measures how late it is. Node counts the interval itself as part of the delay. */
const resolutionMillis = 10
/** A window of the event loop's lag lasts at least this long. */
const windowMillis = 10_000

interface Lag {
  readonly mean: number
  readonly p99: number
  readonly max: number
}

/** Reads the lag of the last window that is over, in seconds, whoever reads and however often. */
const eventLoopLag = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const delays = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: resolutionMillis })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => histogram.disable())
  )
  const secondsOf = (nanos: number): number => Math.max(0, nanos / 1e9 - resolutionMillis / 1_000)
  let endsAtMillis = 0
  let lag: Lag = { mean: 0, p99: 0, max: 0 }
  return (): Lag => {
    const now = clock.currentTimeMillisUnsafe()
    if (now < endsAtMillis || delays.count === 0) return lag
    lag = { mean: secondsOf(delays.mean), p99: secondsOf(delays.percentile(99)), max: secondsOf(delays.max) }
    delays.reset()
    endsAtMillis = now + windowMillis
    return lag
  }
})

const cpuSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

/** `catalog` is the version of the catalog in force. */
export const processMetricsLayer = ({ catalog }: { readonly catalog: string }) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      yield* initialiseSeries
      const lag = yield* eventLoopLag
      const build = { version: tollgateVersion, node: process.version, catalog }
      yield* observed(metricTable.build, () => 1, build)
      yield* observed(metricTable.eventLoopMean, () => lag().mean)
      yield* observed(metricTable.eventLoopP99, () => lag().p99)
      yield* observed(metricTable.eventLoopMax, () => lag().max)
      yield* observed(metricTable.cpu, cpuSeconds)
      yield* observed(metricTable.startTime, () => performance.timeOrigin / 1_000)
      yield* observed(metricTable.residentMemory, () => process.memoryUsage.rss())
      yield* observed(metricTable.heapTotal, () => process.memoryUsage().heapTotal)
      yield* observed(metricTable.heapUsed, () => process.memoryUsage().heapUsed)
      yield* observed(metricTable.externalMemory, () => process.memoryUsage().external)
    })
  )
