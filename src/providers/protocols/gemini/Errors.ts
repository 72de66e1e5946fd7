/**
 * Errors of Gemini: `{error: {code, message, status, details}}`, or a list of one where a stream was asked for.
 * Google's details say more than its status: a quota that waiting does not lift, an invalid key behind a 400, the time
 * to wait. Everything else is decided by the general rules.
 */
import { Duration } from "effect"

import type { Failure } from "../../../domain/Failure.ts"
import type { ErrorResponse, ProviderFrame } from "../Protocol.ts"
import { classifyBody, classifyErrorEvent, classifyResponse, withKind } from "../shared/errors/ErrorClassifier.ts"
import type { FailureKind } from "../shared/errors/FailureKind.ts"
import { asArray, asObject, asObjects, asText, type Fields, parsed } from "../shared/Field.ts"

/** The failure behind a response with an error status. */
export const failureOfResponse = (response: ErrorResponse): Failure =>
  withDetails(classifyResponse(response), parsed(response.body))

/** The failure that a body or chunk reports. */
export const failureInBody = (fields: Fields): Failure | undefined => {
  const failure = classifyBody(fields)
  return failure && withDetails(failure, fields)
}

/** The failure that a frame of a stream stands for. */
export const failureOfEvent = (frame: ProviderFrame): Failure | undefined => {
  const failure = classifyErrorEvent(frame)
  return failure && withDetails(failure, parsed(frame.data))
}

const withDetails = (failure: Failure, body: unknown): Failure => {
  const error = asObject(asObject(asArray(body)[0] ?? body)?.["error"])
  if (error === undefined) return failure
  const kind = kindOf(failure, error)
  if (kind !== undefined) return withKind(failure, kind)
  const delay = retryDelayOf(error)
  const { reason } = failure
  return reason._tag === "Transient" && delay !== undefined ? withKind(failure, reason.kind, delay) : failure
}

/**
 * Google calls these invalid arguments, but another model may accept them, and signatures never go to another model.
 */
const modelLimitations: ReadonlyArray<RegExp> = [
  /thought.?signature/i,
  /not enabled for|is unsupported|unsupported mime type/i,
  /only works in thinking mode|invalid function name|nesting depth/i
]

/** A quota that no wait lifts: the account has none for this model, or its money is spent. */
const spentText = /\blimit: 0\b|spending cap|prepayment credits/i

const kindOf = ({ message, reason }: Failure, error: Fields): FailureKind | undefined => {
  const details = asObjects(error["details"])
  if (details.some((detail) => detail["reason"] === "API_KEY_INVALID")) return "Credentials"
  // Billing is switched off, or the region is not served.
  if (error["status"] === "FAILED_PRECONDITION") return "Credentials"
  if (error["status"] === "RESOURCE_EXHAUSTED" && (details.some(isDailyQuota) || spentText.test(message)))
    return "Credentials"
  return reason._tag === "Invalid" && modelLimitations.some((text) => text.test(message)) ? "Unsupported" : undefined
}

/** The short delay that Google sends beside a daily quota does not end it. */
const isDailyQuota = (detail: Fields): boolean =>
  asObjects(detail["violations"]).some(({ quotaId }) => asText(quotaId)?.includes("PerDay") === true)

/** Reads `retryDelay`: `37s`, `24.5s`. */
const retryDelayOf = (error: Fields): Duration.Duration | undefined => {
  const delays = asObjects(error["details"]).map((detail) =>
    /^(\d{1,9}(?:\.\d+)?)s$/.exec(String(detail["retryDelay"]))
  )
  const seconds = delays.find((delay) => delay !== null)?.[1]
  return seconds === undefined ? undefined : Duration.millis(Math.ceil(Number(seconds) * 1_000))
}
