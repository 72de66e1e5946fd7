/**
 * The log on standard output: readable lines on a terminal, and JSON lines elsewhere.
 *
 * JSON lines are collected during a turn of the event loop and written with one call. Effect's `Logger.consoleJson`
 * writes each of them by itself, and looks at every value for what may have to be left out; with a line for every
 * request, that took a twentieth of the gateway's time.
 */
import { Layer, Logger, type LogLevel, References } from "effect"

export interface StdoutLogOptions {
  readonly logLevel: LogLevel.LogLevel
}

export const stdoutLogLayer = ({ logLevel }: StdoutLogOptions) =>
  Layer.merge(
    Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : jsonLogger()]),
    Layer.succeed(References.MinimumLogLevel, logLevel)
  )

/** Characters that are kept until the end of a turn at most. */
const maxPending = 65_536

/** Writes texts in their order, together where they come in one turn. What is left at the exit is written then. */
const makeWriter = (write: (text: string) => void): ((text: string) => void) => {
  let pending = ""
  const flush = (): void => {
    const text = pending
    pending = ""
    if (text !== "") write(text)
  }
  process.once("exit", flush)
  return (text) => {
    if (pending === "") setImmediate(flush)
    pending += text
    if (pending.length > maxPending) flush()
  }
}

/** One for the process, so that the lines of all its loggers keep their order. */
const writeStdout = makeWriter((text) => void process.stdout.write(text))

const jsonLogger = (): Logger.Logger<unknown, void> =>
  Logger.make((options) => writeStdout(`${plainLine(options) ?? Logger.formatJson.log(options)}\n`))

/**
 * The line that `Logger.formatJson` makes, if its message and annotations are nothing but texts, numbers and the like;
 * otherwise `undefined`.
 */
export const plainLine = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): string | undefined => {
  const text: unknown = Array.isArray(message) && message.length === 1 ? message[0] : message
  const annotations = fiber.getRef(References.CurrentLogAnnotations)
  if (typeof text !== "string" || cause.reasons.length > 0 || !Object.values(annotations).every(isPlain))
    return undefined
  if (fiber.getRef(References.CurrentLogSpans).length > 0) return undefined
  return JSON.stringify({
    message: text,
    level: logLevel.toUpperCase(),
    timestamp: date.toISOString(),
    annotations,
    spans: {},
    fiberId: `#${fiber.id}`
  })
}

const isPlain = (value: unknown): boolean =>
  typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))
