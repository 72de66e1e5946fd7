/**
 * Prepaid credit. Money is held before a provider is called and settled after it has answered. The rule: a hold that
 * ends without a charge is refunded, whatever the reason.
 */
import { Context, Deferred, Effect, Layer, Scope } from "effect"
import type { SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError } from "effect/sql"

import { type BudgetId, type HeldRequestId, heldRequestId, type OrganizationId, type RequestId } from "../domain/Ids.ts"
import { maximum, type Picodollars, zero } from "../domain/Money.ts"
import type { Database } from "../sql/Database.ts"
import { type Balance, findBalance } from "./Balance.ts"
import { settlementOf } from "./BatchRows.ts"
import { cappedLeast } from "./CappedCharges.ts"
import { type Charge, findCharges } from "./Charge.ts"
import { databaseTimeout, withinTimeout } from "./DatabaseTimeout.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { isTooDear } from "./HoldShare.ts"
import * as Lease from "./Lease.ts"
import { amountOutOfRange, holdRefused, type LedgerError } from "./LedgerError.ts"
import { addEntries, bookEntries } from "./MoneySql.ts"
import {
  type HardCap,
  newPendingHold,
  type PendingHold,
  type PendingSettlement,
  type ReduceHold,
  type Settled
} from "./PendingWrite.ts"
import * as Sweeper from "./Sweeper.ts"

/** Money set aside for one request. */
export interface Hold {
  readonly request: HeldRequestId
  readonly amount: Picodollars
  /** Whether `amount` is less than what was asked for, because the rest of the credit is held for other requests. */
  readonly isReduced?: boolean
  /** Whether the charge is never more than the hold, whatever the request cost. */
  readonly isCapped?: boolean
  /** What an earlier try of the same request was charged. Then nothing is held, and nothing more is charged. */
  readonly charged?: Charge
  /**
   * Charges the request exactly once; the first amount counts, with its facts. Returns when the charge is durable or
   * after about a second, whichever comes first; the charge is retried for as long as the process lives.
   */
  readonly settle: (actual: Picodollars, facts?: string) => Effect.Effect<Settled>
}

export interface HoldOptions {
  readonly request: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
  /** An earlier try of the request may have been charged under the same id. This costs a statement of its own. */
  readonly mayBeCharged?: boolean
  /**
   * With it, the hold waits where only other holds of the organization are in its way, at most half a minute, and is
   * then cut by this function. Without it, the hold is refused at once.
   */
  readonly reduce?: ReduceHold
  /** The budgets that limit the request, longest period first. Absent where there are none. */
  readonly budgets?: ReadonlyArray<BudgetId>
  /**
   * Present for an organization whose balance can never go below zero. Its hold is granted only where all of it is
   * available, and its charge is never more than the hold.
   */
  readonly hardCap?: HardCap
}

interface GrantOptions {
  readonly payment: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
}

export class CreditLedger extends Context.Service<
  CreditLedger,
  {
    /** The id of this process, under which its holds are stored. Every start has its own. */
    readonly gateway: Effect.Effect<string>
    /** Holds `amount`, or what `reduce` makes of it. Closing the scope without `settle` refunds it. */
    readonly hold: (options: HoldOptions) => Effect.Effect<Hold, LedgerError, Scope.Scope>
    /** Adds credit, and opens the account if there is none. Idempotent: `false` if this payment was booked before. */
    readonly grant: (options: GrantOptions) => Effect.Effect<boolean, LedgerError>
    /** Zero for an organization without an account. */
    readonly balance: (organization: OrganizationId) => Effect.Effect<Balance, LedgerError>
  }
>()("tollgate/ledger/CreditLedger") {
  /** Closing the layer writes the settlements that are still queued, then gives back the holds that are left. */
  static readonly layer: Layer.Layer<
    CreditLedger,
    SqlError.SqlError,
    Database | SqlClient.SqlClient | SecureRandom.SecureRandom
  > = Layer.effect(
    CreditLedger,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // Finalizers run last to first: the queue drains, the lease is released, and then all holds that are left are
      // those of a dead gateway.
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(Sweeper.sweep, databaseTimeout)))
      const gateway = yield* Lease.acquireLease
      const writes = yield* GroupCommit.openGroupCommit(gateway)
      yield* Sweeper.runSweeper(gateway, writes)

      /** In place of a hold, if an earlier try of the request was charged. */
      const chargedHold = Effect.fnUntraced(function* ({ organization, request }: HoldOptions) {
        const found = yield* withinTimeout(findCharges(sql, [request]))
        const charged = found(request, organization)
        return charged && paidHold(heldRequestId(request), charged)
      })

      const takeHold = (options: HoldOptions): Effect.Effect<Hold, LedgerError, Scope.Scope> =>
        Effect.contextWith((context: Context.Context<Scope.Scope>) => {
          if (options.amount < 0n) return Effect.die(new Error(`A hold cannot be ${options.amount} picodollars`))
          if (options.amount > maximum) return amountOutOfRange()
          const pending = pendingHoldOf(options)
          let settlement: PendingSettlement | undefined
          const end = (charge: Charge | undefined): Effect.Effect<Settled> =>
            Effect.suspend(() => {
              settlement ??= writes.settle(settlementOf(pending.row, charge))
              const { answered, booked } = settlement
              return booked === undefined ? Deferred.await(answered) : Effect.succeed(booked)
            })
          const refund = Scope.addFinalizerExit(Context.get(context, Scope.Scope), () =>
            pending.state === "granted" && settlement === undefined ? end(undefined) : Effect.void
          )
          // The refund is registered before the hold is taken: wherever the caller is interrupted, closing its scope
          // releases what was granted.
          return Effect.flatMap(refund, () =>
            Effect.flatMap(writes.hold(pending), (granted) =>
              granted ? Effect.succeed(grantedHold(options, pending.row.amount, end)) : refusedHold(pending)
            )
          )
        })

      const hold = (options: HoldOptions): Effect.Effect<Hold, LedgerError, Scope.Scope> =>
        options.mayBeCharged === true
          ? Effect.flatMap(chargedHold(options), (paid) => (paid ? Effect.succeed(paid) : takeHold(options)))
          : takeHold(options)

      const grant = Effect.fn("CreditLedger.grant")(function* ({ payment, organization, amount }: GrantOptions) {
        if (amount <= 0n || amount > maximum) return yield* amountOutOfRange()
        const booked = yield* withinTimeout(sql.unsafe(grantStatement, [payment, organization, amount]))
        return booked.length > 0
      })

      const balance = Effect.fn("CreditLedger.balance")((organization: OrganizationId) =>
        withinTimeout(findBalance(sql, organization))
      )

      return CreditLedger.of({ gateway: Effect.succeed(gateway), hold, grant, balance })
    })
  )
}

const pendingHoldOf = ({ amount, budgets, hardCap, organization, reduce, request }: HoldOptions) => {
  const capped = hardCap && ({ least: cappedLeast, isCapped: true } as const)
  return newPendingHold({ id: request, organization, amount, ...(budgets && { budgets }), ...capped }, reduce, hardCap)
}

const refusedHold = (hold: PendingHold): LedgerError =>
  holdRefused(hold.refusal, hold.refusal !== undefined && isTooDear(hold, hold.refusal.funds))

const paidHold = (request: HeldRequestId, charged: Charge): Hold => {
  const settled = Effect.succeed<Settled>({ charge: charged })
  return { request, amount: zero, charged, settle: () => settled }
}

const grantedHold = (
  { amount, hardCap, request }: HoldOptions,
  held: Picodollars,
  end: (charge: Charge) => Effect.Effect<Settled>
): Hold => ({
  request: heldRequestId(request),
  amount: held,
  isReduced: held < amount,
  isCapped: hardCap !== undefined,
  settle: (actual, facts) =>
    actual < 0n || actual > maximum
      ? Effect.die(new Error(`A charge cannot be ${actual} picodollars`))
      : end({ amount: actual, ...(facts !== undefined && { facts }) })
})

/*
 * Parameters: the payment, the organization, the amount. Only a new entry moves the balance, so a payment that is
 * booked already changes nothing.
 */
const grantStatement = `
WITH entry AS (${bookEntries("VALUES ($1::uuid, $2::uuid, 'grant', $3::bigint, NULL::jsonb)")}
)${addEntries}`
