/**
 * How the gateway reports on itself: readable log lines on a terminal and JSON lines elsewhere; with an OTLP collector
 * also its metrics, traces and the same logs. No prompt, no answer and no key may ever be reported.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Layer, Logger, type LogLevel, Option, References } from "effect"
import { Otlp } from "effect/observability"

import { collectorWatchLayer } from "./CollectorWatch.ts"
import { tollgateVersion } from "./Version.ts"

/** A collector that takes longer does not answer. */
const answerTimeoutMillis = 10_000

export interface TelemetryOptions {
  readonly logLevel: LogLevel.LogLevel
  /** The base URL of an OTLP/HTTP collector; without one, only logs are written. */
  readonly otlpEndpoint: Option.Option<string>
}

/** Must be provided to the gateway rather than merged beside it, or the gateway would keep its default logger. */
export const telemetryLayer = ({ logLevel, otlpEndpoint }: TelemetryOptions): Layer.Layer<never> => {
  const stdout = Layer.merge(
    Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson]),
    Layer.succeed(References.MinimumLogLevel, logLevel)
  )
  return Option.match(otlpEndpoint, {
    // Without a collector, several spans per request would be created in vain.
    onNone: () => Layer.merge(stdout, Layer.succeed(References.TracerEnabled, false)),
    onSome: (baseUrl) =>
      // Provided with the logger of stdout, which it keeps beside its own, and to which it reports of the collector.
      collectorLayer(baseUrl).pipe(Layer.provideMerge(stdout))
  })
}

const collectorLayer = (baseUrl: string) =>
  Otlp.layerJson({
    baseUrl,
    resource: { serviceName: "tollgate", serviceVersion: tollgateVersion },
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
