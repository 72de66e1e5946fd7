/**
 * Errors in one line for an operator, who can do something about a port that is already in use, but nothing about a
 * stack trace.
 */
import { Cause, Effect, Predicate } from "effect"

import { withoutSecrets } from "../domain/Redaction.ts"
import type { LimitedLine } from "./LimitedLog.ts"

/** The messages of an error and of its causes, joined by colons. A message that repeats an earlier one is left out. */
export const describeError = (error: unknown): string => {
  const messages: Array<string> = []
  for (
    let current = error;
    Predicate.hasProperty(current, "message");
    current = Predicate.hasProperty(current, "cause") ? current.cause : undefined
  ) {
    const message = String(current.message).replaceAll(/\s+/g, " ").trim()
    if (message !== "" && !messages.some((earlier) => earlier.includes(message))) messages.push(message)
  }
  return messages.join(": ")
}

/** Logs why the gateway stopped: a failure in one line, a defect with its whole cause, an interruption not at all. */
export const logFatal = (cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")
  return failure === undefined
    ? Effect.annotateLogs(Effect.logFatal("Tollgate stopped"), { exitCode: 1, cause: describeCause(cause) })
    : Effect.annotateLogs(Effect.logFatal(`Tollgate cannot start: ${describeError(failure.error)}`), { exitCode: 1 })
}

/** Longer causes are cut: what went wrong stands at their beginning. */
const longestCause = 4_000

/** V8 quotes the text that it could not parse, and other errors the value that they complain about. */
const quotations = /Unexpected (?:token|non-whitespace)[\s\S]{0,200}?JSON|(?<!\[)"(?:[^"\\\n]|\\.)*"/g

/** What went wrong and where, without keys and without quoted text. For the annotation `cause` of a log line. */
export const describeCause = (cause: Cause.Cause<unknown>): string =>
  withoutSecrets(
    Cause.pretty(cause)
      .slice(0, longestCause)
      .replaceAll(quotations, (quoted) => (quoted.startsWith('"') ? '"…"' : "Malformed JSON"))
  )

/** The same for an error whose stack says nothing, such as one of the database. */
export const describeFault = (error: unknown): string =>
  Cause.isCause(error)
    ? describeCause(error)
    : withoutSecrets((describeError(error) || String(error)).slice(0, longestCause))

/** Errors that a request met: up to sixty lines a minute for each message. */
const perMinute = 60

/** The line for a request that failed here, and not at a provider. */
export const failedRequest = (
  message: string,
  cause: string,
  annotations: { readonly [name: string]: unknown } = {}
): LimitedLine => ({
  key: `${message} ${cause.split("\n", 1)[0]}`,
  level: "Error",
  message,
  perMinute,
  annotations: () => ({ ...annotations, cause })
})
