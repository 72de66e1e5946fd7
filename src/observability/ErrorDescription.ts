/** Errors as one line for an operator, who can mend a port that is taken but not a stack trace. */
import { Predicate } from "effect"

/** The messages of an error and of what caused it. What a message repeats is said once. */
export const describeError = (error: unknown): string => {
  const messages: Array<string> = []
  for (
    let at = error;
    Predicate.hasProperty(at, "message");
    at = Predicate.hasProperty(at, "cause") ? at.cause : undefined
  ) {
    const message = String(at.message).replaceAll(/\s+/g, " ").trim()
    if (message !== "" && !messages.some((said) => said.includes(message))) messages.push(message)
  }
  return messages.join(": ")
}
