/**
 * `tollgate ledger`: the audit and the balances. Both are read from the database itself, so they work whether gateways
 * run or not.
 */
import { Console, Data, Effect, Stream } from "effect"
import { Command, Flag } from "effect/cli"

import { auditReporting, differences, type AuditReport, unexplainedCharges } from "../audit/Audit.ts"
import { type CheckName, checks, type Finding } from "../audit/RequestChecks.ts"
import { toUsd } from "../domain/Money.ts"
import { type CreditAccount, creditAccounts } from "../ledger/CreditAccounts.ts"
import * as Connection from "./Connection.ts"
import { progress } from "./Progress.ts"

/** The audit has found differences, which have been printed. */
export class BooksDiffer extends Data.TaggedError("BooksDiffer") {}

const jsonFlag = (description: string) =>
  Flag.Boolean("json").pipe(Flag.withDescription(description), Flag.withDefault(false))

const strict = Flag.Boolean("strict").pipe(
  Flag.withDescription("Fail on unexplained charges too; killed gateways of version 0.1.0 may have left some."),
  Flag.withDefault(false)
)

const verify = Command.make(
  "verify",
  { json: jsonFlag("Print JSON. What differs is in picodollars (10^-12 USD), as in the text."), strict },
  Effect.fn(function* ({ json, strict }) {
    const report = yield* Effect.scoped(Effect.flatMap(progress("requests"), auditReporting))
    const clean = differences(report) === 0 && (!strict || unexplainedCharges(report) === 0)
    yield* Console.log(json ? JSON.stringify({ clean, ...report }, null, 2) : reportText(report).join("\n"))
    if (!clean) return yield* new BooksDiffer()
  })
).pipe(
  Command.withShortDescription("Recompute every charge, and check every account and every hold."),
  Command.withDescription(
    "Recompute every charge from its receipt and the price in force then, and check every account and every hold. " +
      "Exits with 0 when all agrees, 1 when something differs, 2 when it could not be checked."
  )
)

const reportText = (report: AuditReport): ReadonlyArray<string> => [
  `${report.accounts} accounts, ${report.holds} open holds, ${report.receipts} receipts, ${report.charges} charges` +
    (report.settling > 0 ? `, ${report.settling} requests of the last minute` : ""),
  ...report.findings.map(findingText),
  ...Object.entries(report.counts).map(([check, count]) => `${check}: ${count} (${checks[check as CheckName]})`),
  `${differences(report)} differences, ${unexplainedCharges(report)} unexplained charges`
]

const findingText = ({ check, expected, found, organization, request }: Finding): string =>
  [
    `  ${check}`,
    ...(request === undefined ? [] : [`request ${request}`]),
    `organization ${organization}`,
    ...(expected === undefined ? [] : [`expected ${expected}`]),
    ...(found === undefined ? [] : [`found ${found}`])
  ].join("; ")

const balance = Command.make(
  "balance",
  { json: jsonFlag("Print JSON. Amounts are exact USD, and in picodollars (10^-12 USD) beside it.") },
  Effect.fn(function* ({ json }) {
    yield* Stream.runForEach(creditAccounts, (account) =>
      Console.log(json ? accountJson(account) : accountText(account))
    )
  })
).pipe(Command.withDescription("Print what every organization can spend and what is held, one per line."))

const accountJson = ({ available, held, organization }: CreditAccount): string =>
  JSON.stringify({
    organization_id: organization,
    available_usd: toUsd(available),
    held_usd: toUsd(held),
    available_picodollars: String(available),
    held_picodollars: String(held)
  })

const accountText = ({ available, held, organization }: CreditAccount): string =>
  `${organization}  ${toUsd(available)} USD available, ${toUsd(held)} USD held`

export const ledgerCommands = Command.make("ledger").pipe(
  Command.withDescription("Check the books, and list every balance, on the database itself."),
  Command.withSubcommands([verify, balance]),
  Command.provide(Connection.connectionLayer)
)
