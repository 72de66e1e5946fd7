/**
 * How the gateway reports on itself: readable log lines on a terminal and JSON lines elsewhere; with an OTLP collector
 * also its metrics, traces and the same logs. No prompt, no answer and no key may ever be reported.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Layer, Logger, type LogLevel, Option, References } from "effect"
import { Otlp } from "effect/observability"

export interface TelemetryOptions {
  readonly logLevel: LogLevel.LogLevel
  /** The base URL of an OTLP/HTTP collector; without one, only logs are written. */
  readonly otlpEndpoint: Option.Option<string>
}

/** Must be provided to the gateway rather than merged beside it, or the gateway would keep its default logger. */
export const telemetryLayer = ({ logLevel, otlpEndpoint }: TelemetryOptions): Layer.Layer<never> =>
  Layer.mergeAll(
    Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson]),
    Option.match(otlpEndpoint, {
      // Without a collector, several spans per request would be created in vain.
      onNone: () => Layer.succeed(References.TracerEnabled, false),
      onSome: (baseUrl) =>
        Otlp.layerJson({ baseUrl, resource: { serviceName: "tollgate" }, loggerMergeWithExisting: true }).pipe(
          Layer.provide(NodeHttpClient.layerUndici)
        )
    }),
    Layer.succeed(References.MinimumLogLevel, logLevel)
  )
