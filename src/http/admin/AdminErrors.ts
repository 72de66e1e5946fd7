/** Turns the errors of access control and of the ledger into those of the operator's routes. */
import { Effect } from "effect"

import type { AccessError } from "../../access/AccessError.ts"
import { ResourceConflict, IdempotencyConflict, InternalError, InvalidRequest, NotFound } from "../../api/Errors.ts"
import type { LedgerError } from "../../ledger/LedgerError.ts"
import { describeFault } from "../../observability/ErrorDescription.ts"

type AdminError = ResourceConflict | IdempotencyConflict | InternalError | InvalidRequest | NotFound

const unavailable = (cause: unknown) =>
  Effect.andThen(
    Effect.annotateLogs(Effect.logError("The database did not answer an operator's request"), {
      cause: describeFault(cause)
    }),
    Effect.fail(InternalError.of("The database did not answer; nothing was changed. Try again"))
  )

const failed = (error: AdminError) => Effect.fail(error)

const ofAccess = ({ reason }: AccessError): Effect.Effect<never, AdminError> => {
  switch (reason._tag) {
    case "NotFound":
      return failed(NotFound.of(`There is no such ${reason.what}`))
    case "NameTaken":
      return failed(ResourceConflict.of(`name: "${reason.name}" is taken`))
    case "BudgetExists":
      return failed(ResourceConflict.of(`period: there is such a budget by ${reason.period}; change its amount`))
    case "KeyEnded":
      return failed(ResourceConflict.of("The key is revoked or expired; issue a new one"))
    case "WebhookDisabled":
      return failed(ResourceConflict.of("The webhook is disabled; enable it first"))
    case "Unavailable":
    case "InvalidKey":
      return unavailable("cause" in reason ? reason.cause : reason._tag)
  }
}

const ofLedger = ({ reason }: LedgerError): Effect.Effect<never, AdminError> => {
  switch (reason._tag) {
    case "PaymentConflict":
      return failed(IdempotencyConflict.of("payment_id: was booked with another amount, or as another kind"))
    case "AmountOutOfRange":
      return failed(InvalidRequest.of("amount_usd: would take the balance past what an account can hold"))
    case "BelowZero":
      return failed(
        InvalidRequest.of(
          "amount_usd: takes away more than is available, and the organization has a hard cap; force does it anyway"
        )
      )
    case "Unavailable":
    case "InsufficientCredits":
    case "BudgetExceeded":
      return unavailable("cause" in reason ? reason.cause : reason._tag)
  }
}

/** For every handler of an operator's route. Which of the errors a route can have is declared with it. */
export const orAdminError = <A, R>(
  effect: Effect.Effect<A, AccessError | LedgerError, R>
): Effect.Effect<A, AdminError, R> =>
  Effect.catch(effect, (error) => (error._tag === "AccessError" ? ofAccess(error) : ofLedger(error)))
