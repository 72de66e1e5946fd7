/** `tollgate org`: organizations, to which credit belongs. */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"

import type { OrganizationId } from "../domain/Ids.ts"
import { AdminClient } from "./AdminClient.ts"
import {
  adminCommandLayer,
  adminFlags,
  affirmed,
  given,
  name,
  organization,
  responseMode,
  yes
} from "./AdminCommand.ts"
import { Refused } from "./AdminFailure.ts"
import { organizationOf } from "./AdminNames.ts"
import { pageFlags, printAnswer, printList, printObject } from "./AdminOutput.ts"

const list = Command.make(
  "list",
  {
    ...pageFlags,
    name: Flag.String("name").pipe(Flag.withDescription("Only names that contain this."), Flag.optional),
    closed: Flag.Literals("closed", ["true", "false"]).pipe(
      Flag.withDescription("Only those that are closed, or only those that are not."),
      Flag.optional
    )
  },
  Effect.fn(function* ({ closed, name, ...page }) {
    const { tenants } = yield* AdminClient
    yield* printList(page, { columns: ["id", "name", "created_at", "closed_at"] }, (query) =>
      tenants.listOrganizations({ query: { ...query, ...given({ name, closed }) }, responseMode })
    )
  })
).pipe(Command.withDescription("List organizations, the latest first."))

const get = Command.make(
  "get",
  { organization },
  Effect.fn(function* ({ organization }) {
    const { tenants } = yield* AdminClient
    const id = yield* organizationOf(organization)
    yield* printAnswer(tenants.getOrganization({ params: { id }, responseMode }))
  })
).pipe(Command.withAlias("show"), Command.withDescription("Show one organization."))

const withKey = Flag.Boolean("with-key").pipe(
  Flag.withDescription("Also make a project, an environment and a key in it, each named default."),
  Flag.withDefault(false)
)

const create = Command.make(
  "create",
  { name, withKey },
  Effect.fn(function* ({ name, withKey }) {
    const { tenants } = yield* AdminClient
    const answer = tenants.createOrganization({ payload: { name }, responseMode })
    if (!withKey) return yield* printAnswer(answer)
    const [{ id }, response] = yield* answer
    const key = yield* firstKey(id).pipe(
      Effect.tapError(() => Console.error(`Organization ${id} was opened, but it has no key yet`))
    )
    yield* printObject({ organization: yield* response.json, ...key })
  })
).pipe(Command.withDescription("Open an organization."))

/** A project, an environment in it, and a key for that. */
const firstKey = Effect.fnUntraced(function* (organization: OrganizationId) {
  const { apiKeys, tenants } = yield* AdminClient
  const payload = { name: "default" }
  const [project, projectAnswer] = yield* tenants.createProject({ params: { id: organization }, payload, responseMode })
  const [environment, environmentAnswer] = yield* tenants.createEnvironment({
    params: { id: project.id },
    payload,
    responseMode
  })
  const [, keyAnswer] = yield* apiKeys.issue({
    payload: { ...payload, environment_id: environment.id },
    responseMode
  })
  return {
    project: yield* projectAnswer.json,
    environment: yield* environmentAnswer.json,
    api_key: yield* keyAnswer.json
  }
})

/** Changes an organization and prints it. */
const changed = Effect.fnUntraced(function* (
  organization: string,
  payload: Parameters<AdminClient["Service"]["tenants"]["updateOrganization"]>[0]["payload"]
) {
  const { tenants } = yield* AdminClient
  const id = yield* organizationOf(organization)
  yield* printAnswer(tenants.updateOrganization({ params: { id }, payload, responseMode }))
})

const rename = Command.make("rename", { organization, name }, ({ name, organization }) =>
  changed(organization, { name })
).pipe(Command.withDescription("Rename an organization."))

const close = Command.make(
  "close",
  { organization, yes },
  Effect.fn(function* ({ organization, yes }) {
    yield* affirmed(`This refuses every key of organization ${organization}`, yes)
    yield* changed(organization, { closed: true })
  })
).pipe(Command.withDescription("Close an organization: none of its keys is valid until it is reopened."))

const reopen = Command.make("reopen", { organization }, ({ organization }) =>
  changed(organization, { closed: false })
).pipe(Command.withDescription("Make the keys of a closed organization valid again."))

const modelFactors = Flag.String("model").pipe(
  Flag.withMetavar("MODEL=FACTOR"),
  Flag.withDescription("A factor for one model, which comes before the other. Can be given several times."),
  Flag.atLeast(0)
)

const pricingFlags = {
  factor: Flag.String("factor").pipe(
    Flag.withDescription('What it is charged, as a multiple of what the providers bill, such as "1.25".'),
    Flag.optional
  ),
  model: modelFactors,
  clear: Flag.Boolean("clear").pipe(
    Flag.withDescription("Charge it what the catalog says again."),
    Flag.withDefault(false)
  )
} as const

/** The pricing that the flags say, as a whole; `null` takes it away. The factors themselves are checked by the API. */
const pricingOf = ({ clear, factor, model }: Command.Command.Config.Infer<typeof pricingFlags>) => {
  const isGiven = Option.isSome(factor) || model.length > 0
  if (clear === isGiven) return Effect.fail(new Refused({ message: "Give --factor or --model, or else --clear" }))
  if (clear) return Effect.succeed(null)
  const models = model.map((text) => {
    const end = text.lastIndexOf("=")
    return [text.slice(0, end), { factor: text.slice(end + 1) }] as const
  })
  return Effect.succeed({ ...given({ factor }), ...(models.length > 0 && { models: Object.fromEntries(models) }) })
}

const pricing = Command.make(
  "pricing",
  { organization, ...pricingFlags },
  Effect.fn(function* ({ organization, ...flags }) {
    yield* changed(organization, { pricing: yield* pricingOf(flags) })
  })
).pipe(Command.withDescription("Set what an organization is charged. It takes the place of an earlier pricing."))

const aliasFlags = {
  alias: Flag.String("alias").pipe(
    Flag.withMetavar("NAME=MODEL"),
    Flag.withDescription("A name for a model, or for auto, which lets the gateway choose. Can be given several times."),
    Flag.atLeast(0)
  ),
  clear: Flag.Boolean("clear").pipe(Flag.withDescription("Take all names away."), Flag.withDefault(false))
} as const

const aliases = Command.make(
  "aliases",
  { organization, ...aliasFlags },
  Effect.fn(function* ({ alias, clear, organization }) {
    if (clear === alias.length > 0) return yield* new Refused({ message: "Give --alias, or else --clear" })
    const names = alias.map((text) => {
      const end = text.lastIndexOf("=")
      return [text.slice(0, end), text.slice(end + 1)] as const
    })
    yield* changed(organization, { aliases: clear ? null : Object.fromEntries(names) })
  })
).pipe(
  Command.withDescription("Set the names that an organization gives to models. They take the place of earlier ones.")
)

/** `--clear` by the member that it sets to null. */
const clearable = {
  rpm: "requests_per_minute",
  tpm: "tokens_per_minute",
  concurrent: "concurrent_requests",
  "low-balance": "low_balance_usd"
} as const

const numberFlag = (name: string, what: string) =>
  Flag.Int(name).pipe(Flag.withMetavar("N"), Flag.withDescription(what), Flag.optional)

const settings = {
  rpm: numberFlag("rpm", "Requests per minute of all its keys together."),
  tpm: numberFlag("tpm", "Tokens of prompts and answers per minute of all its keys together."),
  concurrent: numberFlag("concurrent", "Requests of all its keys together that may run at a time."),
  lowBalance: Flag.String("low-balance").pipe(
    Flag.withMetavar("USD"),
    Flag.withDescription("Below it the organization is alerted."),
    Flag.optional
  ),
  hardCap: Flag.Literals("hard-cap", ["true", "false"]).pipe(
    Flag.withDescription("Whether its balance can never go below zero, whatever a provider counts."),
    Flag.optional
  ),
  clear: Flag.Literals("clear", ["rpm", "tpm", "concurrent", "low-balance"]).pipe(
    Flag.withDescription("A setting to take away. Can be given several times."),
    Flag.atLeast(0)
  )
} as const

const set = Command.make(
  "set",
  { organization, ...settings },
  Effect.fn(function* ({ clear, concurrent, hardCap, lowBalance, organization, rpm, tpm }) {
    const numbers = given({ requests_per_minute: rpm, tokens_per_minute: tpm, concurrent_requests: concurrent })
    const others = given({ low_balance_usd: lowBalance, hard_cap: Option.map(hardCap, (text) => text === "true") })
    const cleared = Object.fromEntries(clear.map((name) => [clearable[name], null]))
    yield* changed(organization, { ...numbers, ...others, ...cleared })
  })
).pipe(Command.withDescription("Change limits and settings of an organization. What is not given stays as it is."))

export const organizationCommands = Command.make("org").pipe(
  Command.withSharedFlags(adminFlags),
  Command.withDescription("Organizations, their limits and what they are charged."),
  Command.withSubcommands([list, get, create, rename, set, pricing, aliases, close, reopen]),
  Command.provide(adminCommandLayer)
)
