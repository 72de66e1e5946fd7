/** `/admin/v1/organizations/{id}/credit`. */
import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { Organizations } from "../../access/Organizations.ts"
import { AdminApi } from "../../api/admin/AdminApi.ts"
import type { BalanceBody, GrantPayload, HoldBody, JournalEntryBody } from "../../api/admin/Credit.ts"
import { InvalidRequest } from "../../api/Errors.ts"
import type { OrganizationId } from "../../domain/Ids.ts"
import { fromUsd, type Picodollars, toUsd } from "../../domain/Money.ts"
import { AdjustCredit } from "../../gateway/AdjustCredit.ts"
import type { Balance } from "../../ledger/Balance.ts"
import { type JournalEntry, type OpenHold, type Payment, Payments } from "../../ledger/Payments.ts"
import { listBody, pageRequestOf, timeOf } from "../edge/ListWire.ts"
import { orAdminError } from "./AdminErrors.ts"

export const creditHandlersLayer = HttpApiBuilder.group(AdminApi, "credit", (handlers) =>
  Effect.gen(function* () {
    const organizations = yield* Organizations
    const payments = yield* Payments
    const credit = yield* AdjustCredit

    const balanceOf = (organization: OrganizationId) =>
      Effect.map(payments.balance(organization), (balance) => balanceBody(organization, balance))

    /** Fails with `NotFound` for an unknown organization, which would otherwise look like one without credit. */
    const known = (organization: OrganizationId) => Effect.asVoid(organizations.get(organization))

    const book = Effect.fnUntraced(function* (
      kind: Payment["kind"],
      organization: OrganizationId,
      { amount_usd, force, payment_id, reason }: typeof GrantPayload.Type & { readonly force?: boolean }
    ) {
      const amount = yield* amountOf(amount_usd, kind)
      const booked = yield* orAdminError(
        credit.book({ organization, payment: payment_id, kind, amount, reason, isForced: force })
      )
      return {
        object: "payment" as const,
        id: booked.entry,
        payment_id,
        kind,
        amount_usd: toUsd(amount),
        reason,
        booked: booked.isNew,
        balance: yield* orAdminError(balanceOf(organization))
      }
    })

    return handlers
      .handle("balance", ({ params }) => orAdminError(Effect.andThen(known(params.id), balanceOf(params.id))))
      .handle("grant", ({ params, payload }) => book("grant", params.id, payload))
      .handle("correct", ({ params, payload }) => book("correction", params.id, payload))
      .handle("journal", ({ params, query }) =>
        Effect.andThen(known(params.id), payments.journal(params.id, pageRequestOf(query))).pipe(
          Effect.map((page) => listBody(page, entryBody)),
          orAdminError
        )
      )
      .handle("holds", ({ params, query }) =>
        Effect.andThen(known(params.id), payments.openHolds(params.id, pageRequestOf(query))).pipe(
          Effect.map((page) => listBody(page, holdBody)),
          orAdminError
        )
      )
  })
)

/** A grant adds credit; a correction may take it away. */
const amountOf = (text: string, kind: Payment["kind"]): Effect.Effect<Picodollars, InvalidRequest> =>
  fromUsd(text).pipe(
    Option.filter((amount) => (kind === "grant" ? amount > 0n : amount !== 0n)),
    Option.match({
      onNone: () =>
        Effect.fail(InvalidRequest.of(`amount_usd: must ${kind === "grant" ? "be more than" : "not be"} zero`)),
      onSome: Effect.succeed
    })
  )

const balanceBody = (organization: OrganizationId, { available, held }: Balance): typeof BalanceBody.Type => ({
  object: "credit_balance",
  organization_id: organization,
  available_usd: toUsd(available),
  held_usd: toUsd(held)
})

const entryBody = (entry: JournalEntry): typeof JournalEntryBody.Type => ({
  object: "journal_entry",
  id: entry.id,
  kind: entry.kind,
  amount_usd: toUsd(entry.amount),
  at: timeOf(entry.atMillis),
  payment_id: entry.payment?.id ?? null,
  reason: entry.payment?.reason ?? null
})

const holdBody = (hold: OpenHold): typeof HoldBody.Type => ({
  object: "hold",
  request_id: hold.request,
  amount_usd: toUsd(hold.amount),
  age_seconds: hold.ageMillis / 1_000
})
