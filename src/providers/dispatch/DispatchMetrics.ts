/** The metrics of providers: calls and failovers as they happen, and the state of breakers when it is read. */
import { type Context, Effect, Layer, type Metric } from "effect"

import { Catalog } from "../../catalog/Catalog.ts"
import type { Endpoint } from "../../catalog/Model.ts"
import { type Failure, failureClass } from "../../domain/Failure.ts"
import { counterOf, observed } from "../../observability/MetricSeries.ts"
import { metricTable } from "../../observability/MetricTable.ts"
import { accountRefusedSince, ProviderHealth } from "./ProviderHealth.ts"
import type { Target } from "./Target.ts"

export interface DispatchCounts {
  /** A call of a target that ended, with its failure if it failed. */
  readonly called: (target: Target, failure: Failure | undefined) => void
  /** A target that was not called because of its breaker. */
  readonly skipped: (target: Target) => void
  /** A target that failed and is followed by another. */
  readonly failedOver: (target: Target, failure: Failure) => void
}

/** Synchronous, because it counts on the path of every request. */
export const makeDispatchCounts: Effect.Effect<DispatchCounts> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.sync(() => {
    const attempts = countsBy(metricTable.attempts, context)
    const failovers = countsBy(metricTable.failovers, context)
    return {
      called: (target, failure) => attempts(target, failure === undefined ? "answered" : failureClass(failure)),
      skipped: (target) => attempts(target, "skipped"),
      failedOver: (target, failure) => failovers(target, failureClass(failure))
    }
  })
)

const countsBy = (
  definition: typeof metricTable.attempts | typeof metricTable.failovers,
  context: Context.Context<never>
) => {
  const series = new Map<string, Metric.Counter<number>>()
  return ({ endpoint, model }: Target, outcome: string): void => {
    const key = `${endpoint.id}\n${outcome}`
    let counter = series.get(key)
    if (counter === undefined) {
      counter = counterOf(definition, { provider: endpoint.provider, model: model.id, class: outcome })
      series.set(key, counter)
    }
    counter.updateUnsafe(1, context)
  }
}

const breakerValues = { closed: 0, half_open: 1, open: 2 } as const

/** Of every endpoint that is served, called or not. */
export const healthMetricsLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { models } = yield* Catalog
    const health = yield* ProviderHealth
    const byProvider = new Map<string, Array<Endpoint>>()
    for (const model of models)
      for (const endpoint of model.endpoints) {
        const { id, provider } = endpoint
        byProvider.set(provider, [...(byProvider.get(provider) ?? []), endpoint])
        const read = () => breakerValues[health.endpoint(id).breaker]
        yield* observed(metricTable.breakers, read, { provider, model: model.id })
      }
    for (const [provider, endpoints] of byProvider) {
      const isRefused = () => accountRefusedSince(endpoints.map(({ id }) => health.endpoint(id))) !== undefined
      yield* observed(metricTable.refusedAccounts, () => Number(isRefused()), { provider })
    }
  })
)
