/**
 * The series of the metrics in `MetricTable`. On the path of a request they are updated synchronously, in a registry
 * that is captured when a layer starts: an update is one look-up and no Effect. What is known anyway, such as the
 * length of a queue, is read when somebody asks for the metrics.
 */
import { type Context, Effect, Metric, type Scope } from "effect"

import { type MetricDefinition, metricTable } from "./MetricTable.ts"

/** Which series of a metric, by its labels. */
export type MetricLabels = { readonly [label: string]: string }

type OfType<T extends MetricDefinition["type"]> = MetricDefinition & { readonly type: T }

export const counterOf = ({ help, name }: OfType<"counter">, labels?: MetricLabels): Metric.Counter<number> =>
  Metric.counter(name, { description: help, incremental: true, attributes: labels })

export const histogramOf = (
  { boundaries = [], help, name }: OfType<"histogram">,
  labels?: MetricLabels
): Metric.Histogram<number> => Metric.histogram(name, { description: help, boundaries, attributes: labels })

/** A counter or gauge whose value is read when it is asked for, for as long as the scope is open. */
export const observed = (
  definition: OfType<"counter" | "gauge">,
  read: () => number,
  labels?: MetricLabels
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.sync(() => registerUnsafe(definition, context, read, labels))
    ),
    ({ remove }) => Effect.sync(remove)
  )

/** The same until the returned registration is removed, or for ever. */
export const registerUnsafe = (
  { help, name, type }: OfType<"counter" | "gauge">,
  context: Context.Context<never>,
  read: () => number,
  labels?: MetricLabels
): Metric.Registration => {
  const options = { description: help, attributes: labels }
  const ignored = { update: () => {}, modify: () => {} }
  return type === "gauge"
    ? Metric.registerUnsafe(Metric.gauge(name, options), context, { get: () => ({ value: read() }), ...ignored })
    : Metric.registerUnsafe(Metric.counter(name, options), context, {
        get: () => ({ count: read(), incremental: true }),
        ...ignored
      })
}

/**
 * Makes the series without labels begin at zero rather than with their first update: no program that watches them could
 * tell the first event from a counter that was not there before.
 */
export const initialiseSeries: Effect.Effect<void> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.sync(() => {
    for (const definition of Object.values<MetricDefinition>(metricTable)) {
      if (definition.labels !== undefined) continue
      if (definition.type === "counter") counterOf({ ...definition, type: "counter" }).valueUnsafe(context)
      if (definition.type === "histogram") histogramOf({ ...definition, type: "histogram" }).valueUnsafe(context)
    }
  })
)
