/**
 * Why a command of operators failed, and whether it was refused by the rules. Errors of the gateway are reported in its
 * own words.
 */
import { Data, Predicate, Schema } from "effect"

import { type ErrorCode, errorTable } from "../api/ErrorTable.ts"
import { firstIssue } from "../http/edge/SchemaIssues.ts"
import { printable } from "./AdminOutput.ts"

/** The rules refuse a command before the gateway is asked. Nothing was changed. */
export class Refused extends Data.TaggedError("Refused")<{ readonly message: string }> {}

export interface AdminFailure {
  readonly message: string
  /** False if the gateway could not be asked, or could not answer. */
  readonly isRefusal: boolean
}

interface ApiError {
  readonly error: { readonly code: ErrorCode; readonly message: string }
}

const isApiError = (error: unknown): error is ApiError =>
  Predicate.hasProperty(error, "error") &&
  Predicate.hasProperty(error.error, "code") &&
  Object.hasOwn(errorTable, String(error.error.code)) &&
  Predicate.hasProperty(error.error, "message")

/** A key that opens nothing, and a gateway that fails, say nothing about what was asked. */
const isRefusal = (code: ErrorCode): boolean => errorTable[code] < 500 && code !== "unauthorized"

/** `undefined` for every other error. */
export const adminFailureOf = (error: unknown): AdminFailure | undefined => {
  if (error instanceof Refused) return { message: printable(error.message), isRefusal: true }
  // Only requests are encoded with a schema that can refuse them.
  if (Schema.isSchemaError(error)) {
    return { message: printable(`invalid_request: ${firstIssue(error) ?? error.message}`), isRefusal: true }
  }
  if (!isApiError(error)) return undefined
  const { code, message } = error.error
  return { message: printable(`${code}: ${message}`), isRefusal: isRefusal(code) }
}
