/**
 * Errors in one line for an operator, who can do something about a port that is already in use, but nothing about a
 * stack trace.
 */
import { Cause, Effect, Predicate } from "effect"

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
    ? Effect.logFatal("Tollgate stopped", cause)
    : Effect.logFatal(`Tollgate cannot start: ${describeError(failure.error)}`)
}
