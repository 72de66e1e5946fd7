/** What all commands of operators share: their flags, what they need, and the question before access is ended. */
import { Console, Effect, Layer, Option, Schema, Stdio, Terminal } from "effect"
import { Argument, Flag } from "effect/cli"

import { GatewayUrl } from "../config/Values.ts"
import { adminClientLayer } from "./AdminClient.ts"
import { Refused } from "./AdminFailure.ts"
import { Output, printable } from "./AdminOutput.ts"

/** The flags of every command of operators. */
export const adminFlags = {
  url: Flag.String("url").pipe(
    Flag.withMetavar("URL"),
    Flag.withSchema(GatewayUrl),
    Flag.withDescription("The gateway; else that of TOLLGATE_URL, or the one at HOST and PORT, or its database."),
    Flag.optional
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Print the JSON of the API. Amounts are exact decimal text."),
    Flag.withDefault(false)
  )
} as const

export interface AdminFlags {
  readonly url: Option.Option<string>
  readonly json: boolean
}

/** What those commands need. */
export const adminCommandLayer = ({ json, url }: AdminFlags) =>
  Layer.merge(adminClientLayer(url), Layer.succeed(Output, { json }))

/** The client gives what it decoded, and the JSON as it came. */
export const responseMode = "decoded-and-response"

export const organization = Argument.String("organization").pipe(
  Argument.withDescription("The id of an organization, or its name if no other has it.")
)

export const name = Argument.String("name").pipe(Argument.withDescription("A name of 1 to 200 characters."))

export const yes = Flag.Boolean("yes").pipe(
  Flag.withAlias("y"),
  Flag.withDescription("Do not ask whether it is meant."),
  Flag.withDefault(false)
)

const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

/** A flag for a span of time, for `secondsOf`. */
export const timeFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar("TIME"),
    Flag.withDescription(description),
    Flag.withSchema(
      Schema.String.check(
        Schema.isPattern(/^\d{1,9}[smhd]$/, { expected: "a number with a unit, such as 30m, 24h or 7d" })
      )
    )
  )

/** The seconds of such a span. */
export const secondsOf = (text: string): number => {
  const unit = text.slice(-1)
  return Number(text.slice(0, -1)) * (unit === "s" || unit === "m" || unit === "h" ? unitSeconds[unit] : unitSeconds.d)
}

/**
 * Asks on the terminal whether something that ends access is meant. Fails with `Refused` if it is not, and where
 * nobody can be asked. The question is on standard error, so that it is seen when the result is piped.
 */
export const affirmed = Effect.fnUntraced(function* (what: string, yes: boolean) {
  if (yes) return
  const stdio = yield* Stdio.Stdio
  const canAsk = (yield* stdio.stdinIsTerminal) && (yield* stdio.stderrIsTerminal)
  if (!canAsk) return yield* new Refused({ message: `${what}: give --yes if that is meant` })
  yield* Console.error(`${printable(what)}. Is that meant? (y/N)`)
  const answer = yield* (yield* Terminal.Terminal).readLine
  if (!/^\s*y(es)?\s*$/i.test(answer)) return yield* new Refused({ message: "Nothing was changed" })
})

/** The members that were given, for a request in which what is left out is not there. */
export const given = <Members extends { readonly [name: string]: Option.Option<unknown> }>(members: Members) =>
  // The type says the same as the filter: a member is there if it has a value.
  Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : []))
  ) as { readonly [Name in keyof Members]?: Members[Name] extends Option.Option<infer Value> ? Value : never }
