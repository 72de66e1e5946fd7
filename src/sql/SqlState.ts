/** What PostgreSQL's five-character error code says about a failed statement. */
import { Predicate } from "effect"
import type { SqlError } from "effect/sql"

/** The code, when the server gave one; a lost connection has none. */
export const sqlStateOf = (error: SqlError.SqlError): string | undefined => {
  const { cause } = error.reason
  return Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : undefined
}

/** Bad data, a violated constraint, a statement that makes no sense: trying again cannot help. */
const hopeless = ["22", "23", "42"]

/** True when the same statement may succeed later, or its outcome is not known. */
export const isTransient = (error: SqlError.SqlError): boolean =>
  !hopeless.includes(sqlStateOf(error)?.slice(0, 2) ?? "")
