/**
 * Prepaid credit. Money is held before a provider is called and settled after it answered; a hold that is left without
 * a charge is refunded, whatever the reason. See `README` for the rule of who pays when things break.
 */
import { Context, Deferred, Effect, Layer, type Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { type HeldRequestId, heldRequestId, type OrganizationId, type RequestId } from "../domain/Ids.ts"
import { maximum, type Picodollars, picodollars, zero } from "../domain/Money.ts"
import { Database } from "../sql/Database.ts"
import { type Backlog, newHold, type PendingSettlement } from "./Backlog.ts"
import { isOutOfRange } from "./BatchStatement.ts"
import * as GroupCommit from "./GroupCommit.ts"
import * as Lease from "./Lease.ts"
import { amountOutOfRange, insufficientCredits, type LedgerError, ledgerUnavailable } from "./LedgerError.ts"
import * as Sweeper from "./Sweeper.ts"

/** Money set aside for one request. */
export interface Hold {
  readonly request: HeldRequestId
  readonly amount: Picodollars
  /**
   * Charges the request exactly once; the first amount wins. Returns when the charge is durable or after about a
   * second, whichever is first; it is retried for as long as the process lives.
   */
  readonly settle: (actual: Picodollars) => Effect.Effect<void>
}

export interface Balance {
  /** What can be spent: settled money minus open holds. May be negative. */
  readonly available: Picodollars
  readonly held: Picodollars
}

interface HoldOptions {
  readonly request: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
}

interface GrantOptions {
  readonly payment: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
}

export class CreditLedger extends Context.Service<
  CreditLedger,
  {
    /** Holds `amount`; closing the scope without `settle` refunds it. */
    readonly hold: (options: HoldOptions) => Effect.Effect<Hold, LedgerError, Scope.Scope>
    /** Adds credit and opens the account if need be. Idempotent: `false` when this payment was already booked. */
    readonly grant: (options: GrantOptions) => Effect.Effect<boolean, LedgerError>
    readonly balance: (organization: OrganizationId) => Effect.Effect<Balance, LedgerError>
  }
>()("tollgate/ledger/CreditLedger") {
  /** Closing the layer writes the settlements that are still on their way, then gives back the holds that are left. */
  static readonly layer: Layer.Layer<CreditLedger, SqlError.SqlError, Database | SqlClient.SqlClient> = Layer.effect(
    CreditLedger,
    Effect.gen(function* () {
      const { ledger } = yield* Database
      const sql = yield* SqlClient.SqlClient
      // Finalizers run last to first: the lane drains, the lease is given up, and then all that is left is stale.
      yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(Sweeper.sweep, patience)))
      const gateway = yield* Lease.acquireLease
      const backlog = yield* GroupCommit.openGroupCommit({ sql: ledger, gateway })
      yield* Sweeper.runSweeper(gateway, backlog)
      return CreditLedger.of({
        hold: (options) => hold(backlog, options),
        grant: (options) => grant(sql, options),
        balance: (organization) => balance(sql, organization)
      })
    })
  )
}

/** How long `grant`, `balance` and the last sweep wait for the database. */
const patience = "5 seconds"

const hold = Effect.fnUntraced(function* (backlog: Backlog, { request, organization, amount }: HoldOptions) {
  if (amount < 0n) return yield* Effect.die(new Error(`A hold of ${amount} picodollars`))
  if (amount > maximum) return yield* amountOutOfRange()
  const pending = newHold({ id: request, organization, amount })
  let settlement: PendingSettlement | undefined
  const end = (charge: Picodollars | undefined): Effect.Effect<void> =>
    Effect.suspend(() => {
      settlement ??= backlog.settle({ id: request, organization, charge })
      return Deferred.await(settlement.acknowledged)
    })
  // First the refund, then the hold: wherever the caller is stopped, closing its scope finds what was granted.
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => (pending.state === "granted" && settlement === undefined ? end(undefined) : Effect.void))
  )
  const granted = yield* backlog.hold(pending)
  if (!granted) return yield* insufficientCredits()
  const settle = (actual: Picodollars): Effect.Effect<void> =>
    actual < 0n || actual > maximum ? Effect.die(new Error(`A charge of ${actual} picodollars`)) : end(actual)
  return { request: heldRequestId(request), amount, settle } satisfies Hold
})

const toLedgerError = (error: SqlError.SqlError): LedgerError =>
  isOutOfRange(error) ? amountOutOfRange() : ledgerUnavailable(error)

/** Fails with `LedgerError`, within bounded time. */
const bounded = <A>(statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, LedgerError> =>
  statement.pipe(
    Effect.mapError(toLedgerError),
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.fail(ledgerUnavailable("the database does not answer"))
    })
  )

const grant = Effect.fn("CreditLedger.grant")(function* (
  sql: SqlClient.SqlClient,
  { payment, organization, amount }: GrantOptions
) {
  if (amount <= 0n || amount > maximum) return yield* amountOutOfRange()
  // Only an entry that is new moves the balance, so a payment that is booked already changes nothing. The sum with what
  // is held is taken on the way because it must fit as well, or the holds could not be given back.
  const booked = yield* bounded(sql`
    WITH entry AS (
      INSERT INTO credit_entry (id, organization_id, kind, amount)
      VALUES (${payment}::uuid, ${organization}::uuid, 'grant', ${amount}::bigint)
      ON CONFLICT DO NOTHING
      RETURNING organization_id, amount
    )
    INSERT INTO credit_account (organization_id, balance)
    SELECT organization_id, amount FROM entry
    ON CONFLICT (organization_id) DO UPDATE
      SET balance = (credit_account.balance + credit_account.held + excluded.balance) - credit_account.held
    RETURNING organization_id`)
  return booked.length > 0
})

const balance = Effect.fn("CreditLedger.balance")(function* (sql: SqlClient.SqlClient, organization: OrganizationId) {
  const [account] = yield* bounded(sql<{ readonly balance: bigint; readonly held: bigint }>`
    SELECT balance, held FROM credit_account WHERE organization_id = ${organization}::uuid`)
  return account === undefined
    ? { available: zero, held: zero }
    : { available: picodollars(account.balance), held: picodollars(account.held) }
})
