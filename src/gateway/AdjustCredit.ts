/** Books a payment of an operator, together with the record of who did it. */
import { Context, Effect, Layer } from "effect"

import type { AccessError } from "../access/AccessError.ts"
import { AuditTrail } from "../access/AuditTrail.ts"
import { Organizations } from "../access/Organizations.ts"
import { toUsd } from "../domain/Money.ts"
import type { LedgerError } from "../ledger/LedgerError.ts"
import { type BookedPayment, type Payment, Payments } from "../ledger/Payments.ts"

export class AdjustCredit extends Context.Service<
  AdjustCredit,
  {
    /** Fails with `NotFound` for an unknown organization. A payment that was booked before changes nothing. */
    readonly book: (payment: Payment) => Effect.Effect<BookedPayment, AccessError | LedgerError>
  }
>()("tollgate/gateway/AdjustCredit") {
  static readonly layer = Layer.effect(
    AdjustCredit,
    Effect.gen(function* () {
      const organizations = yield* Organizations
      const payments = yield* Payments
      const trail = yield* AuditTrail

      const book = Effect.fn("AdjustCredit.book")(function* (payment: Payment) {
        const { amount, isForced, kind, organization, payment: id, reason } = payment
        yield* organizations.get(organization)
        return yield* Effect.map(payments.book(payment), (value) => ({
          value,
          ...(value.isNew && {
            change: {
              action: `credit.${kind}`,
              subject: value.entry,
              organization,
              after: { payment_id: id, amount_usd: toUsd(amount), reason, ...(isForced === true && { force: true }) }
            }
          })
        })).pipe(trail.recorded)
      })

      return AdjustCredit.of({ book })
    })
  )
}
