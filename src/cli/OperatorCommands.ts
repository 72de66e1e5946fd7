/** `tollgate admin-key` and `tollgate audit`: who may do all this, and who did what. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"

import { adminKeyId } from "../domain/Ids.ts"
import { AdminClient } from "./AdminClient.ts"
import { adminCommandLayer, adminFlags, affirmed, given, name, responseMode, yes } from "./AdminCommand.ts"
import { organizationOf } from "./AdminNames.ts"
import { type ListColumns, pageFlags, printAnswer, printList } from "./AdminOutput.ts"

const key = Argument.String("key").pipe(Argument.withDescription("The id of an admin key."))

const list = Command.make(
  "list",
  pageFlags,
  Effect.fn(function* (page) {
    const { operators } = yield* AdminClient
    yield* printList(page, { columns: ["id", "name", "display_prefix", "created_at", "revoked_at"] }, (query) =>
      operators.listAdminKeys({ query, responseMode })
    )
  })
).pipe(Command.withDescription("List admin keys, the latest first."))

const issue = Command.make(
  "issue",
  { name },
  Effect.fn(function* ({ name }) {
    const { operators } = yield* AdminClient
    yield* printAnswer(operators.issueAdminKey({ payload: { name }, responseMode }))
  })
).pipe(Command.withDescription("Issue an admin key. The secret is printed only this once."))

const revoke = Command.make(
  "revoke",
  { key, yes },
  Effect.fn(function* ({ key, yes }) {
    const { operators } = yield* AdminClient
    yield* affirmed(`This revokes admin key ${key} for good`, yes)
    yield* printAnswer(operators.revokeAdminKey({ params: { id: adminKeyId(key) }, responseMode }))
  })
).pipe(Command.withDescription("Revoke an admin key for good."))

export const adminKeyCommands = Command.make("admin-key").pipe(
  Command.withSharedFlags(adminFlags),
  Command.withDescription("The keys of operators."),
  Command.withSubcommands([list, issue, revoke]),
  Command.provide(adminCommandLayer)
)

export const auditColumns: ListColumns = {
  columns: [
    { title: "at", members: ["at"], shows: "minute" },
    "actor.name",
    "action",
    "subject_id",
    { title: "organization", members: ["organization_id"], shows: "end" }
  ]
}

export const auditCommand = Command.make(
  "audit",
  {
    ...adminFlags,
    ...pageFlags,
    org: Flag.String("org").pipe(
      Flag.withDescription("Only changes of this organization, by id or name."),
      Flag.optional
    ),
    subject: Flag.String("subject").pipe(
      Flag.withMetavar("ID"),
      Flag.withDescription("Only changes of what has this id."),
      Flag.optional
    )
  },
  Effect.fn(function* ({ org, subject, ...page }) {
    const { operators } = yield* AdminClient
    const filter = given({
      organization_id: yield* Effect.transposeOption(Option.map(org, organizationOf)),
      subject_id: subject
    })
    yield* printList(page, auditColumns, (query) =>
      operators.listAuditEvents({ query: { ...query, ...filter }, responseMode })
    )
  })
).pipe(
  Command.withShortDescription("List the changes that operators made."),
  Command.withDescription("List the changes that operators made, the latest first; --json has each before and after."),
  Command.provide((flags) => adminCommandLayer(flags))
)
