/**
 * Makes a `Failure` of what a provider reports: an error status, an error inside a success, or an error event of a
 * stream. The order of what decides is the same for all of them: the few texts that mean more than their code, a code
 * with one meaning, the other texts, the status, and last the types that mean no more than a status does. What only its
 * status calls invalid is so for this target alone, if it is about a parameter. The message is the provider's own,
 * without anything that looks like a key.
 */
import type { Duration } from "effect"

import { Failure, type FailureReason } from "../../../../domain/Failure.ts"
import { withoutSecrets } from "../../../../domain/Redaction.ts"
import type { ErrorResponse, ProviderFrame } from "../../Protocol.ts"
import { type Fields, parsed } from "../Field.ts"
import { type ProviderError, providerErrorIn, reportsError } from "./ErrorBody.ts"
import { errorCodes, generalErrorCodes } from "./ErrorCodes.ts"
import { concernsParameter, decisiveTextRules, statusKinds, type TextRule, textRules } from "./ErrorRules.ts"
import { type FailureKind, isTransientKind } from "./FailureKind.ts"
import { retryDelayIn } from "./RetryDelay.ts"

type Headers = ErrorResponse["headers"]

interface FailureDetails {
  readonly status?: number | undefined
  /** Kept only by transient failures. */
  readonly retryAfter?: Duration.Duration | undefined
  readonly parameter?: string | undefined
}

/** A failure of this kind. The message is shown in one line of at most 500 characters, and keys in it are redacted. */
export const failureOfKind = (kind: FailureKind, message: string, details: FailureDetails = {}): Failure =>
  new Failure({
    reason: reasonOf(kind, details.retryAfter),
    message: presentable(message),
    ...(details.status !== undefined && { status: details.status }),
    ...(details.parameter !== undefined && { parameter: details.parameter })
  })

/** The same failure as one of another kind, for protocols that know more about an error than the general rules. */
export const withKind = (
  { message, parameter, reason, status }: Failure,
  kind: FailureKind,
  retryAfter = reason._tag === "Transient" ? reason.retryAfter : undefined
): Failure => failureOfKind(kind, message, { status, retryAfter, parameter })

/** A request that this target cannot serve, found out before anything is sent. */
export const unsupported = (message: string): Failure => failureOfKind("Unsupported", message)

/** The failure behind a response with an error status. */
export const classifyResponse = ({ body, headers, status }: ErrorResponse): Failure => {
  if (/^\s*<(?:!doctype|html|\?xml)/i.test(body.slice(0, 200))) return classifyPage(status, headers)
  if (body.trim() === "") return classifyEmptyBody(status, headers)
  const json = parsed(body)
  return classified(json === undefined ? { codes: [], message: body } : providerErrorIn(json), status, headers)
}

/** The failure that a body or chunk reports although its response has a success status. */
export const classifyBody = (fields: Fields): Failure | undefined =>
  reportsError(fields) ? classifyError(fields) : undefined

/** The failure of a body that is known to be an error. */
export const classifyError = (body: unknown): Failure => {
  const error = providerErrorIn(body)
  return classified(error, error.status, {})
}

/** The failure of a frame whose event is named `error`. */
export const classifyErrorEvent = ({ data, event }: ProviderFrame): Failure | undefined =>
  event === "error" ? classifyError(parsed(data) ?? data) : undefined

/**
 * A web page comes from a proxy on the way, so a status that would blame the request or the model means nothing about
 * them.
 */
const classifyPage = (status: number, headers: Headers): Failure => {
  const kind = kindOfStatus(status) ?? "server"
  const isMeant = isTransientKind(kind) || kind === "ContextTooLong" || status === 401 || status === 402
  return failureOfKind(isMeant ? kind : "server", `The provider answered ${status} with a web page.`, {
    status,
    retryAfter: retryDelayIn(headers, "")
  })
}

/** Cerebras answers a prompt that is too long with a bare 400. */
const classifyEmptyBody = (status: number, headers: Headers): Failure =>
  status === 400
    ? failureOfKind("ContextTooLong", "The provider answered 400 without a reason.", { status })
    : classified({ codes: [], message: `The provider answered ${status} without a reason.` }, status, headers)

const classified = (error: ProviderError, status: number | undefined, headers: Headers): Failure =>
  failureOfKind(kindOf(error, status, headers), error.message, {
    status,
    retryAfter: retryDelayIn(headers, error.message),
    parameter: error.parameter
  })

const kindOf = (error: ProviderError, status: number | undefined, headers: Headers): FailureKind => {
  if (status === 413) return "ContextTooLong"
  const specific =
    kindOfText(decisiveTextRules, error.message, status) ??
    kindOfCodes(error, errorCodes) ??
    kindOfText(textRules, error.message, status)
  if (specific !== undefined) return specific
  const kind = kindOfStatus(status) ?? kindOfCodes(error, generalErrorCodes) ?? "server"
  if (kind === "Invalid" && concernsParameter(error.message, error.parameter)) return "Unsupported"
  const shouldRetry = headers["x-should-retry"]
  if (shouldRetry === "true" && !isTransientKind(kind)) return "server"
  // A rate limit that does not end by waiting is a limit of our account.
  return shouldRetry === "false" && kind === "rate_limited" ? "Credentials" : kind
}

const kindOfCodes = ({ codes }: ProviderError, table: ReadonlyMap<string, FailureKind>): FailureKind | undefined => {
  for (const code of codes) {
    const kind = table.get(code)
    if (kind !== undefined) return kind
  }
  return undefined
}

const kindOfText = (
  rules: ReadonlyArray<TextRule>,
  message: string,
  status: number | undefined
): FailureKind | undefined => rules.find((rule) => countsAt(rule, status) && rule.pattern.test(message))?.kind

/** An error without a status is inside a success: only its text shows what it is. */
const countsAt = ({ exceptAt, statuses }: TextRule, status: number | undefined): boolean =>
  status === undefined || (exceptAt?.includes(status) !== true && (statuses === undefined || statuses.includes(status)))

const kindOfStatus = (status: number | undefined): FailureKind | undefined => {
  if (status === undefined || status < 400) return undefined
  return statusKinds[status] ?? (status >= 500 ? "server" : "Invalid")
}

const reasonOf = (kind: FailureKind, retryAfter: Duration.Duration | undefined): FailureReason =>
  isTransientKind(kind)
    ? { _tag: "Transient", kind, ...(retryAfter && { retryAfter }) }
    : kind === "Missing"
      ? { _tag: "Unsupported", isModelMissing: true }
      : { _tag: kind }

/** Characters of a provider's message that are shown. */
const maxMessageLength = 500

/** Characters that are looked at; a message that is longer is cut before its white space is collapsed. */
const maxScannedLength = 8 * maxMessageLength

const presentable = (message: string): string => {
  const line = withoutSecrets(message.slice(0, maxScannedLength).replaceAll(/\s+/g, " ")).trim()
  return line.length <= maxMessageLength ? line : `${line.slice(0, maxMessageLength - 1)}…`
}
