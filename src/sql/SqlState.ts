/**
 * What PostgreSQL's error codes say about a failed statement. Whether a statement is worth sending again is decided
 * here and nowhere else. The codes are the five characters of SQLSTATE (PostgreSQL manual, appendix A).
 */
import { Predicate } from "effect"
import type { SqlError } from "effect/sql"

/** The code, if the server sent one. A lost connection has none. */
const sqlStateOf = (error: SqlError.SqlError): string | undefined => {
  const { cause } = error.reason
  return Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : undefined
}

/** Data exceptions, violated constraints, and statements that are wrong or not permitted. */
const permanentClasses = ["22", "23", "42"]

/**
 * Whether the server rejected the statement for good: it wrote nothing, and would reject the statement again. After any
 * other failure the same statement may succeed later, or may already have succeeded.
 */
export const isPermanent = (error: SqlError.SqlError): boolean =>
  permanentClasses.includes(sqlStateOf(error)?.slice(0, 2) ?? "")

/** Whether a number did not fit its type, such as an amount past the range of BIGINT. */
export const isOutOfRange = (error: SqlError.SqlError): boolean => sqlStateOf(error) === "22003"

/** Whether neither the server nor the connection failed, so that the fault must be in this program. */
export const isProgramFault = (error: SqlError.SqlError): boolean =>
  error.reason._tag === "UnknownError" && sqlStateOf(error) === undefined

/** The server's own words for why it rejected a statement, without the statement and its parameters. */
export const rejectionText = ({ message, reason: { cause } }: SqlError.SqlError): string =>
  Predicate.hasProperty(cause, "message") && typeof cause.message === "string" ? cause.message : message
