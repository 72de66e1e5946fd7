/**
 * Who ended a request early: the client or the gateway. Only a client that left pays for what was delivered to it; a
 * stream that the gateway cuts off, for example at the limit of its own shutdown, costs nothing.
 *
 * The first interruption decides, because a stream that the gateway cuts off closes the socket, and that looks like a
 * client that left.
 */
import { Exit } from "effect"
import { HttpServerError } from "effect/http"

/** True when the scope of a request closes with this exit because its client disconnected. */
export const leftByClient = (exit: Exit.Exit<unknown, unknown>): boolean => {
  if (Exit.isSuccess(exit)) return false
  const first = exit.cause.reasons.find((reason) => reason._tag === "Interrupt")
  return first !== undefined && first.annotations.has(HttpServerError.ClientAbort.key)
}
