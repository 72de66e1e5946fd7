/** `tollgate project` and `tollgate env`: what groups the keys and the usage of an organization. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"

import { AdminClient } from "./AdminClient.ts"
import { adminCommandLayer, adminFlags, name, organization, responseMode } from "./AdminCommand.ts"
import { environmentOf, organizationOf, projectOf } from "./AdminNames.ts"
import { pageFlags, printAnswer, printList } from "./AdminOutput.ts"

const columns = ["id", "name", "created_at"]

const project = Argument.String("project").pipe(
  Argument.withDescription("The id of a project, or its name behind that of its organization: Acme/shop.")
)

const environment = Argument.String("environment").pipe(
  Argument.withDescription("The id of an environment, or its name behind that of its project: Acme/shop/production.")
)

const listProjects = Command.make(
  "list",
  { organization, ...pageFlags },
  Effect.fn(function* ({ organization, ...page }) {
    const { tenants } = yield* AdminClient
    const id = yield* organizationOf(organization)
    yield* printList(page, { columns }, (query) => tenants.listProjects({ params: { id }, query, responseMode }))
  })
).pipe(Command.withDescription("List the projects of an organization."))

const createProject = Command.make(
  "create",
  { organization, name },
  Effect.fn(function* ({ name, organization }) {
    const { tenants } = yield* AdminClient
    const id = yield* organizationOf(organization)
    yield* printAnswer(tenants.createProject({ params: { id }, payload: { name }, responseMode }))
  })
).pipe(Command.withDescription("Create a project."))

const renameProject = Command.make(
  "rename",
  { project, name },
  Effect.fn(function* ({ name, project }) {
    const { tenants } = yield* AdminClient
    const id = yield* projectOf(project)
    yield* printAnswer(tenants.renameProject({ params: { id }, payload: { name }, responseMode }))
  })
).pipe(Command.withDescription("Rename a project."))

const listEnvironments = Command.make(
  "list",
  { project, ...pageFlags },
  Effect.fn(function* ({ project, ...page }) {
    const { tenants } = yield* AdminClient
    const id = yield* projectOf(project)
    yield* printList(page, { columns }, (query) => tenants.listEnvironments({ params: { id }, query, responseMode }))
  })
).pipe(Command.withDescription("List the environments of a project."))

const createEnvironment = Command.make(
  "create",
  { project, name },
  Effect.fn(function* ({ name, project }) {
    const { tenants } = yield* AdminClient
    const id = yield* projectOf(project)
    yield* printAnswer(tenants.createEnvironment({ params: { id }, payload: { name }, responseMode }))
  })
).pipe(Command.withDescription("Create an environment."))

const renameEnvironment = Command.make(
  "rename",
  { environment, name },
  Effect.fn(function* ({ environment, name }) {
    const { tenants } = yield* AdminClient
    const id = yield* environmentOf(environment)
    yield* printAnswer(tenants.renameEnvironment({ params: { id }, payload: { name }, responseMode }))
  })
).pipe(Command.withDescription("Rename an environment."))

export const projectCommands = Command.make("project").pipe(
  Command.withSharedFlags(adminFlags),
  Command.withDescription("Projects of an organization."),
  Command.withSubcommands([listProjects, createProject, renameProject]),
  Command.provide(adminCommandLayer)
)

export const environmentCommands = Command.make("env").pipe(
  Command.withSharedFlags(adminFlags),
  Command.withDescription("Environments of a project, for which keys are issued."),
  Command.withSubcommands([listEnvironments, createEnvironment, renameEnvironment]),
  Command.provide(adminCommandLayer)
)
