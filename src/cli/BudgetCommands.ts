/** `tollgate budget`: what a key, a project or an organization may spend in a period. Amounts are exact USD text. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"

import { budgetPeriods } from "../domain/Budget.ts"
import { apiKeyId, budgetId } from "../domain/Ids.ts"
import { AdminClient } from "./AdminClient.ts"
import { adminCommandLayer, adminFlags, affirmed, given, responseMode, yes } from "./AdminCommand.ts"
import { organizationOf, projectOf } from "./AdminNames.ts"
import { type ListColumns, pageFlags, printAnswer, printList } from "./AdminOutput.ts"

const budget = Argument.String("budget").pipe(Argument.withDescription("The id of a budget."))

const amount = Argument.String("usd").pipe(Argument.withDescription("USD as an exact decimal, such as 25 or 0.5."))

/** What a budget is of. */
const owner = {
  org: Flag.String("org").pipe(Flag.withDescription("An organization, by id or name."), Flag.optional),
  project: Flag.String("project").pipe(
    Flag.withDescription("A project, by id or as ORGANIZATION/NAME."),
    Flag.optional
  ),
  key: Flag.String("key").pipe(Flag.withMetavar("ID"), Flag.withDescription("An API key, by its id."), Flag.optional)
} as const

const ownerOf = Effect.fnUntraced(function* ({ key, org, project }: Command.Command.Config.Infer<typeof owner>) {
  return given({
    organization_id: yield* Effect.transposeOption(Option.map(org, organizationOf)),
    project_id: yield* Effect.transposeOption(Option.map(project, projectOf)),
    api_key_id: Option.map(key, (id) => apiKeyId(id))
  })
})

const create = Command.make(
  "create",
  {
    amount,
    period: Flag.Literals("period", budgetPeriods).pipe(
      Flag.withDescription("How long it lasts. Weeks begin on Monday; a total never renews.")
    ),
    zone: Flag.String("zone").pipe(
      Flag.withDescription("The zone at whose midnight periods begin, such as Europe/Berlin; else UTC."),
      Flag.optional
    ),
    ...owner
  },
  Effect.fn(function* ({ amount, period, zone, ...flags }) {
    const { budgets } = yield* AdminClient
    const payload = { ...(yield* ownerOf(flags)), ...given({ time_zone: zone }), amount_usd: amount, period }
    yield* printAnswer(budgets.create({ payload, responseMode }))
  })
).pipe(Command.withDescription("Set a budget of an organization, a project or a key."))

const amounts = ["amount_usd", "left_usd"]

/** What is spent and held, and when it renews, is shown by `get`. */
export const budgetColumns: ListColumns = {
  columns: [
    "id",
    "subject",
    { title: "of", members: ["api_key_id", "project_id", "organization_id"], shows: "end" },
    "period",
    "time_zone",
    ...amounts
  ],
  numbers: amounts
}

const list = Command.make(
  "list",
  {
    ...owner,
    removed: Flag.Boolean("removed").pipe(
      Flag.withDescription("List those that were removed instead."),
      Flag.withDefault(false)
    ),
    ...pageFlags
  },
  Effect.fn(function* ({ key, org, project, removed, ...page }) {
    const { budgets } = yield* AdminClient
    const filter = { ...(yield* ownerOf({ key, org, project })), removed: removed ? "true" : "false" } as const
    yield* printList(page, budgetColumns, (query) => budgets.list({ query: { ...query, ...filter }, responseMode }))
  })
).pipe(Command.withDescription("List budgets and what is left of them, the latest first."))

const show = Command.make(
  "show",
  { budget },
  Effect.fn(function* ({ budget }) {
    const { budgets } = yield* AdminClient
    yield* printAnswer(budgets.get({ params: { id: budgetId(budget) }, responseMode }))
  })
).pipe(Command.withAlias("get"), Command.withDescription("Show a budget and what is left of it."))

const set = Command.make(
  "set",
  { budget, amount },
  Effect.fn(function* ({ amount, budget }) {
    const { budgets } = yield* AdminClient
    const payload = { amount_usd: amount }
    yield* printAnswer(budgets.update({ params: { id: budgetId(budget) }, payload, responseMode }))
  })
).pipe(Command.withDescription("Change the amount of a budget. It holds at once."))

const remove = Command.make(
  "remove",
  { budget, yes },
  Effect.fn(function* ({ budget, yes }) {
    const { budgets } = yield* AdminClient
    yield* affirmed(`This removes budget ${budget}, which then limits nothing`, yes)
    yield* printAnswer(budgets.remove({ params: { id: budgetId(budget) }, responseMode }))
  })
).pipe(Command.withAlias("delete"), Command.withDescription("Remove a budget."))

export const budgetCommands = Command.make("budget").pipe(
  Command.withSharedFlags(adminFlags),
  Command.withDescription("What a key, a project or an organization may spend in a period."),
  Command.withSubcommands([create, list, show, set, remove]),
  Command.provide(adminCommandLayer)
)
