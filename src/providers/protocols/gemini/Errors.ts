/**
 * What went wrong, from the details that Google puts beside its messages: a quota that waiting does not lift, an
 * invalid key behind a 400, the time to wait. Everything else is for the classifier that all protocols share.
 */
import { Duration } from "effect"

import type { Failure } from "../../../domain/Failure.ts"
import type { ErrorResponse } from "../Protocol.ts"
import * as ErrorClassifier from "../shared/ErrorClassifier.ts"
import type { Verdict } from "../shared/ErrorTables.ts"
import { asArray, asObject, asObjects, asText, type Fields, parsed } from "../shared/Field.ts"

/** The failure behind an answer with an error status. */
export const failureOf = (response: ErrorResponse): Failure =>
  refined(ErrorClassifier.failureOfResponse(response), parsed(response.body))

/** The failure that an event marked as an error carries. */
export const failureIn = (body: unknown): Failure => refined(ErrorClassifier.failureOfError(body), body)

/** The failure inside an answer that calls itself a success, if there is one. */
export const failureInside = (fields: Fields): Failure | undefined => {
  const failure = ErrorClassifier.failureInBody(fields)
  return failure && refined(failure, fields)
}

/** `body` is an error or, where a stream was asked for, sometimes a list of one. */
const refined = (failure: Failure, body: unknown): Failure => {
  const error = asObject(asObject(asArray(body)[0] ?? body)?.["error"])
  if (error === undefined) return failure
  const { message, reason, status } = failure
  const known = status === undefined ? {} : { status }
  const verdict = verdictOf(failure, error)
  if (verdict !== undefined) return ErrorClassifier.failed(verdict, message, known)
  const wait = waitIn(error)
  return reason._tag === "Transient" && wait !== undefined
    ? ErrorClassifier.failed(reason.kind, message, { ...known, wait })
    : failure
}

/** Texts about one model's abilities or about our own echo, which Google calls invalid arguments. */
const modelsOwn: ReadonlyArray<RegExp> = [
  /thought.?signature/i,
  /not enabled for|is unsupported|unsupported mime type/i,
  /only works in thinking mode|invalid function name/i
]

const verdictOf = ({ message, reason }: Failure, error: Fields): Verdict | undefined => {
  const details = asObjects(error["details"])
  if (details.some((detail) => detail["reason"] === "API_KEY_INVALID")) return "Credentials"
  // Billing that is switched off, or a region that is not served.
  if (error["status"] === "FAILED_PRECONDITION") return "Credentials"
  if (error["status"] === "RESOURCE_EXHAUSTED" && (details.some(isLasting) || /\blimit: 0\b/.test(message)))
    return "Credentials"
  return reason._tag === "Invalid" && modelsOwn.some((text) => text.test(message)) ? "Unsupported" : undefined
}

/** True for a quota per day: the short wait that stands beside it does not end it. */
const isLasting = (detail: Fields): boolean =>
  asObjects(detail["violations"]).some(({ quotaId }) => asText(quotaId)?.includes("PerDay") === true)

/** `37s`, `24.5s`. */
const waitIn = (error: Fields): Duration.Duration | undefined => {
  const delays = asObjects(error["details"]).map((detail) =>
    /^(\d{1,9}(?:\.\d+)?)s$/.exec(String(detail["retryDelay"]))
  )
  const seconds = delays.find((delay) => delay !== null)?.[1]
  return seconds === undefined ? undefined : Duration.millis(Math.ceil(Number(seconds) * 1_000))
}
