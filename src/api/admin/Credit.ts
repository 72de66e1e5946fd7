/** The routes for credit: the balance, payments, the journal and open holds of an organization. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import { OrganizationId } from "../../domain/Ids.ts"
import { RequestValidation, strictBodies, Time } from "../RequestRules.ts"
import { AdminAuthorization, listOf, PageQuery, summary, UsdAmount } from "./AdminRoutes.ts"

const Usd = Schema.String.annotate({ description: "USD as an exact decimal." })

export const BalanceBody = Schema.Struct({
  object: Schema.Literal("credit_balance"),
  organization_id: OrganizationId,
  available_usd: Usd.annotate({ description: "What can be spent: settled money minus open holds." }),
  held_usd: Usd.annotate({ description: "What is set aside for requests that are under way." })
}).annotate({ identifier: "CreditBalance" })

const PaymentId = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,255}$/, { expected: "1 to 255 visible ASCII characters" })
).annotate({ description: "The id of the payment where it comes from. It is booked once under this id." })

const Reason = Schema.String.check(
  Schema.makeFilter((text) => text.trim() !== "" && [...text].length <= 1_000, {
    expected: "text of 1 to 1000 characters that is not only white space"
  })
).annotate({ description: "Why; it is kept in the journal." })

export const GrantPayload = Schema.Struct({
  payment_id: PaymentId,
  amount_usd: UsdAmount.annotate({ description: "More than zero." }),
  reason: Reason
})

export const CorrectionPayload = Schema.Struct({
  payment_id: PaymentId,
  amount_usd: UsdAmount.annotate({ description: "What is added; a negative amount is taken away. Not zero." }),
  reason: Reason,
  force: Schema.optionalKey(Schema.Boolean).annotateKey({
    description: "Whether it may take an organization with a hard cap below zero."
  })
})

export const PaymentBody = Schema.Struct({
  object: Schema.Literal("payment"),
  id: Schema.String.annotate({ description: "The id of its entry in the journal." }),
  payment_id: Schema.String,
  kind: Schema.Literals(["grant", "correction"]),
  amount_usd: Usd,
  reason: Schema.String,
  booked: Schema.Boolean.annotate({ description: "False if it had been booked before, so that nothing was changed." }),
  balance: BalanceBody
}).annotate({ identifier: "Payment" })

export const JournalEntryBody = Schema.Struct({
  object: Schema.Literal("journal_entry"),
  id: Schema.String.annotate({ description: "For a charge, the id of its request." }),
  kind: Schema.Literals(["charge", "grant", "correction"]),
  amount_usd: Usd.annotate({ description: "Negative for a charge." }),
  at: Time,
  payment_id: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String)
}).annotate({ identifier: "JournalEntry" })

export const HoldBody = Schema.Struct({
  object: Schema.Literal("hold"),
  request_id: Schema.String,
  amount_usd: Usd,
  age_seconds: Schema.Finite
}).annotate({ identifier: "Hold" })

const creditPath = "/admin/v1/organizations/:id/credit"
const params = { id: OrganizationId }

export const CreditRoutes = HttpApiGroup.make("credit")
  .add(
    HttpApiEndpoint.get("balance", creditPath, { params, success: BalanceBody }).annotateMerge(
      summary("The balance of an organization")
    ),
    HttpApiEndpoint.post("grant", `${creditPath}/grants`, {
      params,
      payload: GrantPayload,
      success: PaymentBody
    }).annotateMerge(summary("Grant credit")),
    HttpApiEndpoint.post("correct", `${creditPath}/corrections`, {
      params,
      payload: CorrectionPayload,
      success: PaymentBody
    }).annotateMerge(summary("Correct the balance")),
    HttpApiEndpoint.get("journal", `${creditPath}/journal`, {
      params,
      query: PageQuery,
      success: listOf(JournalEntryBody)
    }).annotateMerge(summary("List the journal, the latest entry first")),
    HttpApiEndpoint.get("holds", `${creditPath}/holds`, {
      params,
      query: PageQuery,
      success: listOf(HoldBody)
    }).annotateMerge(summary("List open holds, the oldest first"))
  )
  .middleware(RequestValidation)
  .middleware(AdminAuthorization)
  .annotateMerge(strictBodies)
  .annotate(OpenApi.Title, "Admin: credit")
