/** What a broken connection means. The message names the system's own error code and nothing of the request. */
import type { HttpClientError } from "effect/http"

import { type Failure, transient } from "../../domain/Failure.ts"

const timeoutCodes: ReadonlySet<string> = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT", "UND_ERR_HEADERS_TIMEOUT"])

/** The failure behind an error of the HTTP client. */
export const connectionFailure = (error: HttpClientError.HttpClientError): Failure => {
  const code = codeOf(error.reason.cause)
  return timeoutCodes.has(code)
    ? transient("timeout", `The provider could not be reached in time (${code}).`)
    : transient("network", `The connection to the provider failed (${code}).`)
}

/** Node nests the telling error: a refused connection is a list of them, a lost one is a cause. */
const codeOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return "unknown"
  if ("code" in cause && typeof cause.code === "string") return cause.code
  return cause instanceof AggregateError ? codeOf(cause.errors[0]) : codeOf(cause.cause)
}
