/**
 * `tollgate usage`: what was used and what it cost, as the API answers it, and the count anew, which is for the
 * database.
 */
import { Clock, Console, Duration, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"

import { timeOf } from "../http/edge/ListWire.ts"
import { rebuildUsage } from "../receipts/UsageRebuild.ts"
import { type UsageDimension, usageDimensions } from "../receipts/UsageReports.ts"
import { AdminClient } from "./AdminClient.ts"
import { adminCommandLayer, adminFlags, given, responseMode } from "./AdminCommand.ts"
import { Refused } from "./AdminFailure.ts"
import { printRows } from "./AdminOutput.ts"
import * as Connection from "./Connection.ts"
import { csv, idsOf, labels, owners, spanFlags, timeIn } from "./SearchFlags.ts"

/** What commands call what a report is grouped by. */
const dimensionNames: { readonly [name: string]: UsageDimension } = {
  org: "organization_id",
  project: "project_id",
  environment: "environment_id",
  key: "api_key_id",
  model: "model",
  provider: "provider",
  outcome: "outcome",
  "call-name": "call_name",
  "end-user": "end_user_id"
}

const usualSpan = Duration.days(30)

const flags = {
  ...adminFlags,
  ...spanFlags,
  interval: Flag.Literals("interval", ["hour", "day", "month"]).pipe(
    Flag.withDescription("A row for each; without it, one row stands for the whole span."),
    Flag.optional
  ),
  zone: Flag.String("zone").pipe(
    Flag.withDescription("Whose hours, days and months: an IANA name such as Europe/Berlin; else UTC."),
    Flag.optional
  ),
  by: Flag.String("by").pipe(
    Flag.withMetavar("NAMES"),
    Flag.withDescription(`What has rows of its own, with commas between: ${Object.keys(dimensionNames).join(", ")}.`),
    Flag.optional
  ),
  ...owners,
  ...labels,
  csv
} as const

/** The names of the API, in the order in which they were given. */
const groupsOf = Effect.fnUntraced(function* (text: string) {
  const groups: Array<UsageDimension> = []
  for (const name of text.split(",").map((part) => part.trim())) {
    const dimension = Object.hasOwn(dimensionNames, name) ? dimensionNames[name] : undefined
    const known = dimension ?? usageDimensions.find((each) => each === name)
    if (known === undefined) {
      return yield* new Refused({
        message: `invalid_request: by: "${name}" is none of ${Object.keys(dimensionNames).join(", ")}`
      })
    }
    groups.push(known)
  }
  return groups
})

const sums = [
  "requests",
  "input_tokens",
  "cache_read_tokens",
  "output_tokens",
  "audio_seconds",
  "margin_usd",
  "cost_usd"
]

const groupsOfFlag = Option.match({
  onNone: () => Effect.succeed<ReadonlyArray<UsageDimension>>([]),
  onSome: groupsOf
})

const rebuild = Command.make(
  "rebuild",
  { json: Flag.Boolean("json").pipe(Flag.withDescription("Print JSON."), Flag.withDefault(false)) },
  Effect.fn(function* ({ json }) {
    const { days, requests } = yield* rebuildUsage
    yield* Console.log(
      json
        ? JSON.stringify({ days, requests: Number(requests) }, null, 2)
        : `${requests} requests of ${days} days counted anew`
    )
  })
).pipe(
  Command.withShortDescription("Count usage anew from the request log."),
  Command.withDescription(
    "Count usage anew from the request log, for all days whose receipts are kept. Usage of other days stays."
  ),
  Command.provide(Connection.connectionLayer)
)

export const usageCommands = Command.make(
  "usage",
  flags,
  Effect.fn(function* (input) {
    const { usage } = yield* AdminClient
    const nowMillis = yield* Clock.currentTimeMillis
    const groups = yield* groupsOfFlag(input.by)
    const query = {
      from: Option.match(input.from, {
        onNone: () => timeOf(nowMillis - Duration.toMillis(usualSpan)),
        onSome: (text) => timeIn(text, nowMillis)
      }),
      ...given({
        to: Option.map(input.to, (text) => timeIn(text, nowMillis)),
        interval: input.interval,
        time_zone: input.zone,
        model: input.model,
        provider: input.provider,
        outcome: input.outcome,
        call_name: input.callName,
        end_user_id: input.endUser
      }),
      ...(yield* idsOf(input)),
      ...(groups.length > 0 && { group_by: groups.join(",") })
    }
    if (input.csv)
      return yield* Console.log(String(yield* usage.report({ query: { ...query, format: "csv" } })).trimEnd())
    const columns = [
      ...(Option.isSome(input.interval) ? ["start"] : []),
      ...groups.map((name) => `group.${name}`),
      ...sums
    ]
    yield* printRows({ columns, numbers: sums }, usage.report({ query, responseMode }))
  })
).pipe(
  Command.withShortDescription("Requests, tokens and cost, by model, key, label and time."),
  Command.withDescription("Requests, tokens and cost, of the last 30 days if nothing else is said."),
  Command.provide((input) => adminCommandLayer(input)),
  Command.withSubcommands([rebuild])
)
