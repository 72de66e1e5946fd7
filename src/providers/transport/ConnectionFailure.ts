/**
 * Classifies errors of the connection. The message contains the error code of the system and nothing of the request.
 */
import type { HttpClientError } from "effect/http"

import { type Failure, transient } from "../../domain/Failure.ts"

const timeoutCodes: ReadonlySet<string> = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT", "UND_ERR_HEADERS_TIMEOUT"])

/** The transient failure for an error of the HTTP client: a timeout or a network error. */
export const connectionFailure = (error: HttpClientError.HttpClientError): Failure => {
  const code = codeOf(error.reason.cause)
  return timeoutCodes.has(code)
    ? transient("timeout", `The provider could not be reached in time (${code}).`)
    : transient("network", `The connection to the provider failed (${code}).`)
}

/** Node nests the error that has the code: for a refused connection in a list of errors, for a lost one in a cause. */
const codeOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return "unknown"
  if ("code" in cause && typeof cause.code === "string") return cause.code
  return cause instanceof AggregateError ? codeOf(cause.errors[0]) : codeOf(cause.cause)
}
