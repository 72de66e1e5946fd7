/** The flags by which commands narrow what was requested: the span, whose it is, what answered, and the labels. */
import { Duration, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"

import { Time } from "../api/RequestRules.ts"
import { apiKeyId } from "../domain/Ids.ts"
import { timeOf } from "../http/edge/ListWire.ts"
import { given } from "./AdminCommand.ts"
import { environmentOf, organizationOf, projectOf } from "./AdminNames.ts"

/** A time, or how long ago it was, such as `7d` or `90m`. */
const units = { m: Duration.minutes(1), h: Duration.hours(1), d: Duration.days(1) } as const

const ago = /^(\d{1,5})([mhd])$/

const isTime = Schema.is(Schema.toEncoded(Time))
const parses = (text: string): boolean => ago.test(text) || (isTime(text) && !Number.isNaN(Date.parse(text)))

const Moment = Schema.String.check(
  Schema.makeFilter(parses, {
    expected: "a time such as 2026-11-01T00:00:00Z, or how long ago, such as 90m, 12h or 7d"
  })
)

/** The point in time that a flag names. */
export const timeIn = (text: string, nowMillis: number) => {
  const [, count, unit] = ago.exec(text) ?? []
  if (count === undefined) return timeOf(Date.parse(text))
  return timeOf(nowMillis - Number(count) * Duration.toMillis(units[unit as keyof typeof units]))
}

const moment = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("TIME"),
    Flag.withSchema(Moment),
    Flag.withDescription(description),
    Flag.optional
  )

export const spanFlags = {
  from: moment("from", "From when on: a time such as 2026-11-01T00:00:00Z, or how long ago, such as 90m, 12h or 7d."),
  to: moment("to", "Up to when, in the same forms; else now.")
} as const

const text = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)

export const owners = {
  org: text("org", "Only those of this organization, by id or name."),
  project: text("project", "Only those of this project, by id or as Acme/shop."),
  environment: text("environment", "Only those of this environment, by id or as Acme/shop/production."),
  key: text("key", "Only those of the key with this id.")
} as const

export const labels = {
  model: text("model", "Only those that this model answered."),
  provider: text("provider", "Only those that this provider answered."),
  outcome: text("outcome", "Only those that ended so: completed, client_left, broken, or the code of an error."),
  callName: text("call-name", "Only those with this call_name."),
  endUser: text("end-user", "Only those with this end_user_id.")
} as const

export const csv = Flag.Boolean("csv").pipe(
  Flag.withDescription("Print CSV for spreadsheets, in which no label is a formula."),
  Flag.withDefault(false)
)

interface Owners {
  readonly org: Option.Option<string>
  readonly project: Option.Option<string>
  readonly environment: Option.Option<string>
  readonly key: Option.Option<string>
}

/** The ids of those that were given. */
export const idsOf = Effect.fnUntraced(function* ({ environment, key, org, project }: Owners) {
  return given({
    organization_id: yield* Effect.transposeOption(Option.map(org, organizationOf)),
    project_id: yield* Effect.transposeOption(Option.map(project, projectOf)),
    environment_id: yield* Effect.transposeOption(Option.map(environment, environmentOf)),
    api_key_id: Option.map(key, apiKeyId)
  })
})
