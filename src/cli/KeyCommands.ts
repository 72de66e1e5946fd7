/** `tollgate key`: API keys and their limits. A secret is printed once, by the command that makes it. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"

import { Time } from "../api/RequestRules.ts"
import { endpointNames } from "../domain/Caller.ts"
import { apiKeyId, modelId } from "../domain/Ids.ts"
import { AdminClient } from "./AdminClient.ts"
import {
  adminCommandLayer,
  adminFlags,
  affirmed,
  given,
  responseMode,
  secondsOf,
  timeFlag,
  yes
} from "./AdminCommand.ts"
import { environmentOf, organizationOf } from "./AdminNames.ts"
import { type ListColumns, pageFlags, printAnswer, printList } from "./AdminOutput.ts"

const key = Argument.String("key").pipe(Argument.withDescription("The id of a key."))

const environment = Flag.String("environment").pipe(
  Flag.withMetavar("ENVIRONMENT"),
  Flag.withDescription("The id of an environment, or its name behind that of its project: Acme/shop/production.")
)

const name = Flag.String("name").pipe(Flag.withDescription("A name by which people know the key."))

const limits = {
  label: Flag.String("label").pipe(Flag.withDescription("A note, such as who has the key."), Flag.optional),
  model: Flag.String("model").pipe(
    Flag.withMetavar("MODEL"),
    Flag.withDescription("A model that the key may use; without any it may use all. Can be given several times."),
    Flag.atLeast(0)
  ),
  endpoint: Flag.Literals("endpoint", endpointNames).pipe(
    Flag.withDescription("An endpoint that the key may use; without any it may use all. Can be given several times."),
    Flag.atLeast(0)
  ),
  rpm: Flag.Int("rpm").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("Requests per minute, in place of the limit of the gateway."),
    Flag.optional
  ),
  tpm: Flag.Int("tpm").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("Tokens of prompts and answers per minute."),
    Flag.optional
  ),
  concurrent: Flag.Int("concurrent").pipe(
    Flag.withMetavar("N"),
    Flag.withDescription("Requests that may run at a time."),
    Flag.optional
  ),
  expires: Flag.String("expires").pipe(
    Flag.withMetavar("TIME"),
    Flag.withSchema(Time),
    Flag.withDescription("When the key expires, such as 2027-01-01T00:00:00Z."),
    Flag.optional
  )
} as const

type Limits = Command.Command.Config.Infer<typeof limits>

/** Those that were given, as members of a request. */
const limitsOf = ({ concurrent, endpoint, expires, label, model, rpm, tpm }: Limits) => ({
  ...given({
    label,
    requests_per_minute: rpm,
    tokens_per_minute: tpm,
    concurrent_requests: concurrent,
    expires_at: expires
  }),
  ...(model.length > 0 && { models: model.map((id) => modelId(id)) }),
  ...(endpoint.length > 0 && { endpoints: endpoint })
})

/** What a key may do is shown by `get`. */
export const keyColumns: ListColumns = {
  columns: [
    "id",
    "name",
    "display_prefix",
    { title: "last_used", members: ["last_used_at"], shows: "minute" },
    { title: "expires", members: ["expires_at"], shows: "day" },
    { title: "revoked", members: ["revoked_at"], shows: "day" }
  ]
}

const list = Command.make(
  "list",
  {
    ...pageFlags,
    org: Flag.String("org").pipe(
      Flag.withDescription("Only those of this organization, by id or name."),
      Flag.optional
    ),
    environment: Flag.optional(environment),
    valid: Flag.Literals("valid", ["true", "false"]).pipe(
      Flag.withDescription("Only those that open something now, or only those that do not."),
      Flag.optional
    )
  },
  Effect.fn(function* ({ environment, org, valid, ...page }) {
    const { apiKeys } = yield* AdminClient
    const filter = given({
      organization_id: yield* Effect.transposeOption(Option.map(org, organizationOf)),
      environment_id: yield* Effect.transposeOption(Option.map(environment, environmentOf)),
      valid
    })
    yield* printList(page, keyColumns, (query) => apiKeys.list({ query: { ...query, ...filter }, responseMode }))
  })
).pipe(Command.withDescription("List keys, the latest first."))

const get = Command.make(
  "get",
  { key },
  Effect.fn(function* ({ key }) {
    const { apiKeys } = yield* AdminClient
    yield* printAnswer(apiKeys.get({ params: { id: apiKeyId(key) }, responseMode }))
  })
).pipe(Command.withAlias("show"), Command.withDescription("Show one key, without its secret."))

const issue = Command.make(
  "issue",
  { environment, name, ...limits },
  Effect.fn(function* ({ environment, name, ...limits }) {
    const { apiKeys } = yield* AdminClient
    const environment_id = yield* environmentOf(environment)
    yield* printAnswer(apiKeys.issue({ payload: { environment_id, name, ...limitsOf(limits) }, responseMode }))
  })
).pipe(Command.withDescription("Issue a key. The secret is printed only this once."))

/** The members of a key that can be taken away, by the flags that set them. */
const clearable = {
  label: "label",
  model: "models",
  endpoint: "endpoints",
  rpm: "requests_per_minute",
  tpm: "tokens_per_minute",
  concurrent: "concurrent_requests",
  expires: "expires_at"
} as const

const clear = Flag.Literals("clear", ["label", "model", "endpoint", "rpm", "tpm", "concurrent", "expires"]).pipe(
  Flag.withDescription("A limit to take away. Can be given several times."),
  Flag.atLeast(0)
)

const update = Command.make(
  "update",
  { key, name: Flag.optional(name), clear, ...limits },
  Effect.fn(function* ({ clear, key, name, ...limits }) {
    const { apiKeys } = yield* AdminClient
    const cleared = Object.fromEntries(clear.map((limit) => [clearable[limit], null]))
    const payload = { ...given({ name }), ...limitsOf(limits), ...cleared }
    yield* printAnswer(apiKeys.update({ params: { id: apiKeyId(key) }, payload, responseMode }))
  })
).pipe(Command.withDescription("Change a key. What is not given stays as it is."))

const revoke = Command.make(
  "revoke",
  { key, yes },
  Effect.fn(function* ({ key, yes }) {
    const { apiKeys } = yield* AdminClient
    yield* affirmed(`This revokes key ${key} for good`, yes)
    yield* printAnswer(apiKeys.revoke({ params: { id: apiKeyId(key) }, responseMode }))
  })
).pipe(Command.withDescription("Revoke a key for good."))

const overlap = timeFlag("overlap", "How long the old key stays valid beside the new one, such as 0s, 30m, 24h or 7d.")

const rotate = Command.make(
  "rotate",
  { key, overlap },
  Effect.fn(function* ({ key, overlap }) {
    const { apiKeys } = yield* AdminClient
    const payload = { overlap_seconds: secondsOf(overlap) }
    yield* printAnswer(apiKeys.rotate({ params: { id: apiKeyId(key) }, payload, responseMode }))
  })
).pipe(Command.withDescription("Issue a new key with the limits of this one, which expires after the overlap."))

export const keyCommands = Command.make("key").pipe(
  Command.withSharedFlags(adminFlags),
  Command.withDescription("API keys and their limits."),
  Command.withSubcommands([list, get, issue, update, revoke, rotate]),
  Command.provide(adminCommandLayer)
)
