/**
 * Maps the errors of the ledger and of the providers to those of the contract. The mapping is total. A fault of the
 * gateway or of a provider is never reported as the client's, and a fault of the client is never hidden behind a 500.
 */
import * as Errors from "../api/Errors.ts"
import type { Attempt } from "../domain/Attempt.ts"
import { type Failure, isBlamedOnClient } from "../domain/Failure.ts"
import { picodollars, toUsd } from "../domain/Money.ts"
import { type Funds, settledMoney } from "../ledger/HoldAccounts.ts"
import type { LedgerError } from "../ledger/LedgerError.ts"
import type { Exhausted } from "../providers/dispatch/ProviderAnswer.ts"
import { budgetRefusal } from "./BudgetRefusal.ts"

/** The error when credit could not be held. */
export const errorFromLedger = (
  error: LedgerError
): Errors.InsufficientCredits | Errors.BudgetExceeded | Errors.InternalError => {
  switch (error.reason._tag) {
    case "InsufficientCredits":
      return Errors.InsufficientCredits.of(noCreditText(error.reason.funds, error.reason.isTooLittle))
    case "BudgetExceeded":
      return budgetRefusal(error.reason.budget, error.reason.isTooLittle)
    case "Unavailable":
    case "AmountOutOfRange":
    case "PaymentConflict":
    case "BelowZero":
      return Errors.InternalError.of("Credit could not be reserved; nothing was charged")
  }
}

const noCreditText = (funds: Funds | undefined, isTooLittle = false): string => {
  if (funds === undefined || settledMoney(funds) <= 0n)
    return "The organization has no credit left; add credit and try again"
  return funds.held <= 0n || isTooLittle
    ? `The organization has ${usd(settledMoney(funds))} USD left and may not owe anything, and this request with a ` +
        "short answer may cost more; shorten it, or add credit"
    : "Other requests of the organization hold its credit, which is not spent: " +
        `it has ${usd(settledMoney(funds))} USD, ` +
        `and ${usd(funds.held)} USD are held until those requests end. Try again then, or add credit`
}

const usd = (amount: bigint): string => toUsd(picodollars(amount))

/**
 * The error when no target answered; the last failure decides which one it is. `wasCharged`: an earlier try of the same
 * request was charged.
 */
export const errorFromExhausted = (
  exhausted: Exhausted,
  wasCharged = false
): Errors.InvalidRequest | Errors.RateLimitExceeded | Errors.InternalError => {
  if (exhausted.rateLimited !== undefined) {
    return Errors.RateLimitExceeded.of(
      "Every provider of this request is rate-limited",
      exhausted.rateLimited.retryAfter
    )
  }
  const { attempts, last } = exhausted
  if (isBlamedOnClient(last)) return Errors.InvalidRequest.of(last.message)
  const isNonconforming = last.reason._tag === "Nonconforming"
  return Errors.InternalError.of(
    (isNonconforming ? "No model answered in the JSON that response_format asks for. " : "") +
      noProviderAnswered(attempts, wasCharged)
  )
}

const charged = (wasCharged: boolean): string =>
  wasCharged ? "Nothing more was charged than an earlier try of this request" : "Nothing was charged"

const noProviderAnswered = (attempts: ReadonlyArray<Attempt>, wasCharged: boolean): string => {
  const names = attempts
    .filter((attempt) => attempt.outcome !== "skipped")
    .map((attempt) => (attempt.status === undefined ? attempt.endpoint : `${attempt.endpoint} (${attempt.status})`))
  return `No provider answered; tried ${[...new Set(names)].join(", ")}. ${charged(wasCharged)}`
}

/** The error of a stream that broke after its first output. */
export const errorFromBrokenStream = (failure: Failure, wasCharged = false): Errors.InternalError =>
  Errors.InternalError.of(`The provider's stream broke: ${failure.message.replace(/\.$/, "")}. ${charged(wasCharged)}`)

/** The error of a stream that ended because of a defect in the gateway. */
export const unexpectedStreamError = (wasCharged: boolean): Errors.InternalError =>
  Errors.InternalError.of(`Unexpected server error. ${charged(wasCharged)}`)
