/**
 * How the gateway reports on itself: readable lines on a terminal, JSON lines anywhere else, and all of logs, metrics
 * and traces to an OTLP collector when there is one. Nothing here ever sees a prompt or a key.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Layer, Logger, type LogLevel, References } from "effect"
import { Otlp } from "effect/observability"

export interface TelemetryOptions {
  readonly logLevel: LogLevel.LogLevel
  /** Base URL of an OTLP/HTTP collector. */
  readonly otlpEndpoint: string | undefined
}

export const telemetryLayer = (options: TelemetryOptions): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson]),
    options.otlpEndpoint === undefined
      ? // Spans that nobody collects would still be made, several for every request.
        Layer.succeed(References.TracerEnabled, false)
      : Otlp.layerJson({
          baseUrl: options.otlpEndpoint,
          resource: { serviceName: "tollgate" },
          loggerMergeWithExisting: true
        }).pipe(Layer.provide(NodeHttpClient.layerUndici)),
    Layer.succeed(References.MinimumLogLevel, options.logLevel)
  )
