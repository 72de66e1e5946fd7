/**
 * Prepaid credit. Money is held before a provider is called and settled after it answered; a hold that is left without
 * a charge is refunded, whatever the reason. See `README` for the rule of who pays when things break.
 */
import { Context, Data, type Effect, type Scope } from "effect"

import type { OrganizationId, RequestId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"

export class LedgerError extends Data.TaggedError("LedgerError")<{
  readonly reason:
    /** The available balance was zero or negative at this request's turn. */
    | { readonly _tag: "InsufficientCredits" }
    /** The database did not answer in time, or too many writes wait for it. Nothing was held. */
    | { readonly _tag: "Unavailable"; readonly cause?: unknown }
    /** The amount would take the account past what it can hold. */
    | { readonly _tag: "AmountOutOfRange" }
}> {}

/** Money set aside for one request. */
export interface Hold {
  readonly request: RequestId
  readonly amount: Picodollars
  /**
   * Charges the request exactly once; the first amount wins. Returns when the charge is durable or after about a second,
   * whichever is first; it is retried for as long as the process lives.
   */
  readonly settle: (actual: Picodollars) => Effect.Effect<void>
}

export interface Balance {
  /** What can be spent: settled money minus open holds. May be negative. */
  readonly available: Picodollars
  readonly held: Picodollars
}

export class CreditLedger extends Context.Service<
  CreditLedger,
  {
    /** Holds `amount`; closing the scope without `settle` refunds it. */
    readonly hold: (options: {
      readonly request: RequestId
      readonly organization: OrganizationId
      readonly amount: Picodollars
    }) => Effect.Effect<Hold, LedgerError, Scope.Scope>
    /** Adds credit. Idempotent by `payment`: `false` when this payment was already booked. Opens the account if need be. */
    readonly grant: (options: {
      readonly payment: RequestId
      readonly organization: OrganizationId
      readonly amount: Picodollars
    }) => Effect.Effect<boolean, LedgerError>
    readonly balance: (organization: OrganizationId) => Effect.Effect<Balance, LedgerError>
  }
>()("tollgate/ledger/CreditLedger") {}
