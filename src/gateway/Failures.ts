/**
 * How the capabilities' errors become the contract's: total, and in one place. A fault of ours or of a provider is
 * never shown as the client's, and the client's own is never hidden behind a 500.
 */
import * as Errors from "../api/Errors.ts"
import type { Attempt } from "../domain/Attempt.ts"
import type { Failure } from "../domain/Failure.ts"
import type { LedgerError } from "../ledger/LedgerError.ts"
import type { Exhausted } from "../providers/dispatch/ProviderAnswer.ts"

export const errorFromLedger = (error: LedgerError): Errors.InsufficientCredits | Errors.InternalError => {
  switch (error.reason._tag) {
    case "InsufficientCredits":
      return Errors.InsufficientCredits.of("The organization has no credit left; add credit and try again")
    case "Unavailable":
    case "AmountOutOfRange":
      return Errors.InternalError.of("Credit could not be reserved; nothing was charged")
  }
}

export const errorFromExhausted = (
  exhausted: Exhausted
): Errors.InvalidRequest | Errors.RateLimitExceeded | Errors.InternalError => {
  if (exhausted.rateLimited !== undefined) {
    return Errors.RateLimitExceeded.of(
      "Every provider of this request is rate-limited",
      exhausted.rateLimited.retryAfter
    )
  }
  switch (exhausted.last.reason._tag) {
    case "Invalid":
    case "ContextTooLong":
    case "Refused":
      return Errors.InvalidRequest.of(exhausted.last.message)
    case "Unsupported":
      return isMissing(exhausted.last)
        ? Errors.InternalError.of(tried(exhausted.attempts))
        : Errors.InvalidRequest.of(exhausted.last.message)
    case "Transient":
    case "Credentials":
      return Errors.InternalError.of(tried(exhausted.attempts))
  }
}

/** The provider does not know a model that our catalog says it serves: our fault, not the request's. */
const isMissing = (failure: Failure): boolean => failure.status === 404

const tried = (attempts: ReadonlyArray<Attempt>): string => {
  const names = attempts
    .filter((attempt) => attempt.outcome !== "skipped")
    .map((attempt) => (attempt.status === undefined ? attempt.endpoint : `${attempt.endpoint} (${attempt.status})`))
  return `No provider answered; tried ${[...new Set(names)].join(", ")}. Nothing was charged`
}

/** A stream that broke after its first output. */
export const errorFromBrokenStream = (failure: Failure): Errors.InternalError =>
  Errors.InternalError.of(`The provider's stream broke: ${failure.message.replace(/\.$/, "")}. Nothing was charged`)

/** A fault of our own in the middle of a stream. */
export const errorFromDefect = Errors.InternalError.of("Unexpected server error. Nothing was charged")
