/** The log on standard output: readable lines on a terminal, and JSON lines elsewhere. */
import { Layer, Logger, type LogLevel, References } from "effect"

export interface StdoutLogOptions {
  readonly logLevel: LogLevel.LogLevel
}

export const stdoutLogLayer = ({ logLevel }: StdoutLogOptions) =>
  Layer.merge(
    Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson]),
    Layer.succeed(References.MinimumLogLevel, logLevel)
  )
