/** Holds credit for a request, and tells the operator when it is not for lack of credit that this fails. */
import { Effect } from "effect"

import type { CreditLedger } from "../ledger/CreditLedger.ts"
import { describeFault, failedRequest } from "../observability/ErrorDescription.ts"
import type { LimitedLog } from "../observability/LimitedLog.ts"
import { errorFromLedger } from "./ErrorMapping.ts"

/** `ledger.hold` with the errors of the contract. */
export const creditHolder =
  (ledger: CreditLedger["Service"], write: LimitedLog) =>
  (...[request]: Parameters<CreditLedger["Service"]["hold"]>) =>
    Effect.catch(ledger.hold(request), (error) => {
      const { reason } = error
      const refused = Effect.fail(errorFromLedger(error))
      return reason._tag === "InsufficientCredits" || reason._tag === "BudgetExceeded"
        ? refused
        : Effect.andThen(
            write(
              failedRequest(
                "Credit could not be held",
                describeFault(reason._tag === "Unavailable" ? reason.cause : reason._tag)
              )
            ),
            refused
          )
    })
