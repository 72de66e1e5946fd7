/**
 * How the gateway reports on itself: readable log lines on a terminal and JSON lines elsewhere; with an OTLP collector
 * also its metrics, traces and the same logs. No prompt, no answer and no key may ever be reported.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Layer, Option, References } from "effect"
import { Otlp } from "effect/observability"

import { collectorWatchLayer } from "./CollectorWatch.ts"
import { stdoutLogLayer, type StdoutLogOptions } from "./StdoutLog.ts"
import { tollgateVersion } from "./Version.ts"

/** A collector that takes longer does not answer. */
const answerTimeoutMillis = 10_000

export interface TelemetryOptions extends StdoutLogOptions {
  /** The base URL of an OTLP/HTTP collector; without one, only logs are written. */
  readonly otlpEndpoint: Option.Option<string>
  /** What tells this process from others of the same gateway. */
  readonly labels: { readonly [name: string]: string | number }
}

/** Must be provided to the gateway rather than merged beside it, or the gateway would keep its default logger. */
export const telemetryLayer = ({ labels, logLevel, otlpEndpoint }: TelemetryOptions): Layer.Layer<never> => {
  const stdout = Layer.merge(stdoutLogLayer({ logLevel }), Layer.succeed(References.CurrentLogAnnotations, labels))
  return Option.match(otlpEndpoint, {
    // Without a collector, several spans per request would be created in vain.
    onNone: () => Layer.merge(stdout, Layer.succeed(References.TracerEnabled, false)),
    onSome: (baseUrl) =>
      // Provided with the logger of stdout, which it keeps beside its own, and to which it reports of the collector.
      collectorLayer(baseUrl, labels).pipe(Layer.provideMerge(stdout))
  })
}

const collectorLayer = (baseUrl: string, attributes: TelemetryOptions["labels"]) =>
  Otlp.layerJson({
    baseUrl,
    resource: { serviceName: "tollgate", serviceVersion: tollgateVersion, attributes },
    loggerMergeWithExisting: true
  }).pipe(
    Layer.provide(collectorWatchLayer),
    Layer.provide(NodeHttpClient.layerUndiciNoDispatcher),
    Layer.provide(
      NodeHttpClient.layerDispatcherOptions({
        headersTimeout: answerTimeoutMillis,
        bodyTimeout: answerTimeoutMillis,
        connect: { timeout: answerTimeoutMillis }
      })
    )
  )
