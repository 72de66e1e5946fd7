/** `tollgate credit`: the balance of an organization and what moved it. Amounts are exact USD text. */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"

import { AdminClient } from "./AdminClient.ts"
import { adminCommandLayer, adminFlags, organization, responseMode } from "./AdminCommand.ts"
import { organizationOf } from "./AdminNames.ts"
import { pageFlags, printAnswer, printList } from "./AdminOutput.ts"

const payment = {
  organization,
  amount: Argument.String("usd").pipe(Argument.withDescription("USD as an exact decimal, such as 25 or -0.5.")),
  payment: Flag.String("payment").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("The id of the payment where it comes from. It is booked once under this id.")
  ),
  reason: Flag.String("reason").pipe(Flag.withDescription("Why; it is kept in the journal."))
} as const

const payloadOf = ({
  amount,
  payment: payment_id,
  reason
}: {
  readonly [K in "amount" | "payment" | "reason"]: string
}) => ({
  payment_id,
  amount_usd: amount,
  reason
})

const balance = Command.make(
  "balance",
  { organization },
  Effect.fn(function* ({ organization }) {
    const { credit } = yield* AdminClient
    const id = yield* organizationOf(organization)
    yield* printAnswer(credit.balance({ params: { id }, responseMode }))
  })
).pipe(Command.withDescription("Show what an organization can spend and what is held."))

const grant = Command.make(
  "grant",
  payment,
  Effect.fn(function* (input) {
    const { credit } = yield* AdminClient
    const id = yield* organizationOf(input.organization)
    yield* printAnswer(credit.grant({ params: { id }, payload: payloadOf(input), responseMode }))
  })
).pipe(Command.withDescription("Grant credit. A repeat with the same payment id changes nothing."))

const force = Flag.Boolean("force").pipe(
  Flag.withDescription("Take an organization with a hard cap below zero, if need be."),
  Flag.withDefault(false)
)

const correct = Command.make(
  "correct",
  { ...payment, force },
  Effect.fn(function* (input) {
    const { credit } = yield* AdminClient
    const id = yield* organizationOf(input.organization)
    const payload = { ...payloadOf(input), ...(input.force && { force: true }) }
    yield* printAnswer(credit.correct({ params: { id }, payload, responseMode }))
  })
).pipe(Command.withDescription("Correct the balance; a negative amount is taken away."))

const journal = Command.make(
  "journal",
  { organization, ...pageFlags },
  Effect.fn(function* ({ organization, ...page }) {
    const { credit } = yield* AdminClient
    const id = yield* organizationOf(organization)
    const columns = ["at", "kind", "amount_usd", "payment_id", "reason", "id"]
    yield* printList(page, { columns, numbers: ["amount_usd"] }, (query) =>
      credit.journal({ params: { id }, query, responseMode })
    )
  })
).pipe(Command.withDescription("List every movement of money, the latest first."))

const holds = Command.make(
  "holds",
  { organization, ...pageFlags },
  Effect.fn(function* ({ organization, ...page }) {
    const { credit } = yield* AdminClient
    const id = yield* organizationOf(organization)
    const columns = ["request_id", "amount_usd", "age_seconds"]
    yield* printList(page, { columns, numbers: columns.slice(1) }, (query) =>
      credit.holds({ params: { id }, query, responseMode })
    )
  })
).pipe(Command.withDescription("List what is held for open requests, the oldest first."))

export const creditCommands = Command.make("credit").pipe(
  Command.withSharedFlags(adminFlags),
  Command.withDescription("The balance of an organization and what moved it."),
  Command.withSubcommands([balance, grant, correct, journal, holds]),
  Command.provide(adminCommandLayer)
)
