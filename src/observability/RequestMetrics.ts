/**
 * Counts each request once, when it has ended, from its record in the access log. The series of a model at a provider
 * are found with one look-up.
 */
import { type Context, Effect, type Metric } from "effect"

import type { Usage } from "../domain/Usage.ts"
import { type AccessRecord, type BilledCall, outcomeOf, type RequestEnd, statusOf } from "./AccessLog.ts"
import { counterOf, histogramOf, registerUnsafe } from "./MetricSeries.ts"
import { metricTable } from "./MetricTable.ts"

/** Counts a request that has ended. */
export type CountRequest = (record: AccessRecord, end: RequestEnd) => void

/** The name of every model that the catalog does not have, and of none. */
const otherModel = "other"
const noProvider = "none"

/** What is counted of the answers of one model at one provider on one route. */
interface CallSeries {
  readonly duration: Metric.Histogram<number>
  readonly firstOutput: Metric.Histogram<number>
}

/** What was charged for one model at one provider. */
interface ChargeSeries {
  readonly tokens: { readonly [K in TokenKind]: Metric.Counter<number> }
  /** Exact; a float only when it is read. */
  picodollars: bigint
}

const tokenKinds = ["input", "cache_read", "cache_write", "audio_input", "output"] as const
type TokenKind = (typeof tokenKinds)[number]

const tokensOf = (usage: Usage): { readonly [K in TokenKind]: number } => ({
  input: usage.input,
  cache_read: usage.cacheRead,
  cache_write: usage.cacheWrite5m + usage.cacheWrite1h,
  audio_input: usage.audioInput,
  output: usage.output
})

/** The series by text of their labels. Catalog, routes and codes bound them. */
const remembered = <A>(make: (...labels: ReadonlyArray<string>) => A) => {
  const known = new Map<string, A>()
  return (...labels: ReadonlyArray<string>): A => {
    const key = labels.join("\n")
    const found = known.get(key)
    if (found !== undefined) return found
    const made = make(...labels)
    known.set(key, made)
    return made
  }
}

/** `models` are the ids of the catalog; every other name counts as `other`. */
export const makeCountRequest = (models: ReadonlySet<string>): Effect.Effect<CountRequest> =>
  Effect.contextWith((context: Context.Context<never>) => Effect.sync(() => countIn(context, models)))

const countIn = (context: Context.Context<never>, models: ReadonlySet<string>): CountRequest => {
  const requests = remembered((route = "", status = "", outcome = "") =>
    counterOf(metricTable.httpRequests, { route, status, outcome })
  )
  const calls = remembered((route = "", model = "", provider = "", outcome = "") =>
    counterOf(metricTable.calls, { route, model, provider, outcome })
  )
  const callSeries = remembered((route = "", model = "", provider = ""): CallSeries => ({
    duration: histogramOf(metricTable.callDuration, { route, model, provider }),
    firstOutput: histogramOf(metricTable.firstOutput, { route, model, provider })
  }))
  const chargeSeries = remembered((model = "", provider = ""): ChargeSeries => {
    const tokens = (kind: TokenKind) => counterOf(metricTable.tokens, { model, provider, kind })
    const series: ChargeSeries = {
      tokens: {
        input: tokens("input"),
        cache_read: tokens("cache_read"),
        cache_write: tokens("cache_write"),
        audio_input: tokens("audio_input"),
        output: tokens("output")
      },
      picodollars: 0n
    }
    registerUnsafe(metricTable.cost, context, () => Number(series.picodollars) / 1e12, { model, provider })
    return series
  })
  const routing = histogramOf(metricTable.routing)

  const countCharge = ({ cost, usage }: BilledCall, model: string, provider: string): void => {
    if (usage === undefined) return
    const series = chargeSeries(model, provider)
    series.picodollars += cost
    const tokens = tokensOf(usage)
    for (const kind of tokenKinds) if (tokens[kind] > 0) series.tokens[kind].updateUnsafe(tokens[kind], context)
  }

  const countCall = (call: BilledCall, route: string, durationMillis: number): void => {
    const { firstOutputMillis, outcome, requestedModel = "", routingMillis, served, stream } = call
    const model = served?.model ?? (models.has(requestedModel) ? requestedModel : otherModel)
    const provider = served?.provider ?? noProvider
    calls(route, model, provider, outcome).updateUnsafe(1, context)
    if (routingMillis !== undefined) routing.updateUnsafe(routingMillis / 1_000, context)
    if (served === undefined) return
    const series = callSeries(route, model, provider)
    series.duration.updateUnsafe(durationMillis / 1_000, context)
    if (stream && firstOutputMillis !== undefined) series.firstOutput.updateUnsafe(firstOutputMillis / 1_000, context)
    countCharge(call, model, provider)
  }

  return (record, end) => {
    const { call, startedAtMillis } = record
    const route = end.route ?? "none"
    const status = statusOf(record, end)
    const { outcome } = outcomeOf(call, status, end.leftByClient)
    requests(route, String(status), outcome).updateUnsafe(1, context)
    if (call !== undefined) countCall(call, route, end.nowMillis - startedAtMillis)
  }
}
