/**
 * Who ended a request before its end: its client, or the gateway. Only a client that left pays for what it was given;
 * a stream that the gateway cuts, as at the limit of its own shutdown, is the gateway's fault and costs nothing.
 *
 * The first interruption decides: when the gateway cuts a stream, the closed socket then looks like a client that left.
 */
import { Exit } from "effect"
import { HttpServerError } from "effect/http"

/** Whether a request whose scope closes with this exit was left by its client. */
export const leftByClient = (exit: Exit.Exit<unknown, unknown>): boolean => {
  if (Exit.isSuccess(exit)) return false
  const first = exit.cause.reasons.find((reason) => reason._tag === "Interrupt")
  return first !== undefined && first.annotations.has(HttpServerError.ClientAbort.key)
}
