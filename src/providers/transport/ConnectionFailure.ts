/**
 * Classifies errors of the connection. The message contains the error code of the system and nothing of the request.
 */
import { type Failure, transient } from "../../domain/Failure.ts"

const timeoutCodes: ReadonlySet<string> = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT", "UND_ERR_HEADERS_TIMEOUT"])

/** Errors that come before there is a connection: of the name, of the route, of the port, of the certificate. */
const unreachable = new RegExp(
  "^(?:ECONNREFUSED|ENOTFOUND|EAI_|E(?:HOST|NET)(?:UNREACH|DOWN)|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT" +
    "|EPROTO|ERR_TLS|ERR_SSL|UNABLE_TO_|.*CERT)"
)

/** The transient failure for an error of the HTTP client: a timeout or a network error. */
export const connectionFailure = (error: unknown): Failure => {
  const code = codeOf(error)
  const detail = unreachable.test(code) ? { unreachable: true as const } : {}
  return timeoutCodes.has(code)
    ? transient("timeout", `The provider could not be reached in time (${code}).`, detail)
    : transient("network", `The connection to the provider failed (${code}).`, detail)
}

/** Node nests the error that has the code: for a refused connection in a list of errors, for a lost one in a cause. */
const codeOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return "unknown"
  if ("code" in cause && typeof cause.code === "string") return cause.code
  return cause instanceof AggregateError ? codeOf(cause.errors[0]) : codeOf(cause.cause)
}
