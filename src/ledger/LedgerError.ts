/** The one error of the ledger. A call that failed with it had no effect, or its effect is undone automatically. */
import { Data } from "effect"
import type { SqlError } from "effect/sql"

import { isOutOfRange } from "../sql/SqlState.ts"
import type { Funds, Refusal, RefusingBudget } from "./HoldAccounts.ts"

export class LedgerError extends Data.TaggedError("LedgerError")<{
  readonly reason:
    /**
     * The available balance was zero or negative at this request's turn. `funds`, if known, say whether the money is
     * spent or held for other requests; with `isTooLittle`, they pay for no answer even once nothing is held.
     */
    | { readonly _tag: "InsufficientCredits"; readonly funds?: Funds; readonly isTooLittle?: true }
    /** A budget of the request is used up, or all of it is held for other requests. */
    | { readonly _tag: "BudgetExceeded"; readonly budget: RefusingBudget; readonly isTooLittle?: true }
    /** The database did not answer in time, or too many writes are waiting for it. Nothing was held. */
    | { readonly _tag: "Unavailable"; readonly cause?: unknown }
    /** The amount would take the account past what it can hold. */
    | { readonly _tag: "AmountOutOfRange" }
    /** The payment's id is booked with another amount or kind. */
    | { readonly _tag: "PaymentConflict" }
    /** The correction would take away more than is available, and the organization has a hard cap. */
    | { readonly _tag: "BelowZero" }
}> {}

/** The error of a hold that was refused. */
export const holdRefused = (refusal: Refusal | undefined, isTooLittle: boolean): LedgerError => {
  const cause = isTooLittle ? ({ isTooLittle } as const) : {}
  return new LedgerError({
    reason:
      refusal?.budget === undefined
        ? { _tag: "InsufficientCredits", ...(refusal && { funds: refusal.funds }), ...cause }
        : { _tag: "BudgetExceeded", budget: refusal.budget, ...cause }
  })
}

export const ledgerUnavailable = (cause: unknown): LedgerError =>
  new LedgerError({ reason: { _tag: "Unavailable", cause } })

export const amountOutOfRange = (): LedgerError => new LedgerError({ reason: { _tag: "AmountOutOfRange" } })

export const paymentConflict = (): LedgerError => new LedgerError({ reason: { _tag: "PaymentConflict" } })

export const belowZero = (): LedgerError => new LedgerError({ reason: { _tag: "BelowZero" } })

/** The error of a statement that failed. */
export const ledgerErrorOf = (error: SqlError.SqlError): LedgerError =>
  isOutOfRange(error) ? amountOutOfRange() : ledgerUnavailable(error)
