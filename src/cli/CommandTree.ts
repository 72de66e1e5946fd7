/**
 * The tree of all commands, how a failure is reported, and the exit code. Each file of commands is about one noun; this
 * file lists them.
 *
 * Results go to standard output and everything else to standard error. The exit code is 0 when all is well, 1 when a
 * command found something wrong or was refused by the rules, and 2 when it could not do its work.
 */
import { Cause, Console, Effect, Exit } from "effect"
import { CliError, Command } from "effect/cli"

import { describeError } from "../observability/ErrorDescription.ts"
import { tollgateVersion } from "../observability/Version.ts"
import { adminFailureOf } from "./AdminFailure.ts"
import { budgetCommands } from "./BudgetCommands.ts"
import { catalogCommand, providersCommand } from "./CatalogCommands.ts"
import { creditCommands } from "./CreditCommands.ts"
import { keyCommands } from "./KeyCommands.ts"
import { BooksDiffer, ledgerCommands } from "./LedgerCommands.ts"
import { adminKeyCommands, auditCommand } from "./OperatorCommands.ts"
import { organizationCommands } from "./OrganizationCommands.ts"
import { environmentCommands, projectCommands } from "./ProjectCommands.ts"
import { BillDiffers, reconcileCommand } from "./ReconcileCommand.ts"
import { requestCommands } from "./RequestCommands.ts"
import { explainCommand } from "./RouteExplain.ts"
import { InvalidLines, rankCommand } from "./RouteRank.ts"
import { replayCommand } from "./RouteReplay.ts"
import { usageCommands } from "./UsageCommands.ts"
import { webhookCommands } from "./WebhookCommands.ts"

const routeCommands = Command.make("route").pipe(
  Command.withDescription("Which models the router chooses, and why."),
  Command.withSubcommands([rankCommand, explainCommand, replayCommand])
)

const commands = [
  organizationCommands,
  projectCommands,
  environmentCommands,
  keyCommands,
  creditCommands,
  budgetCommands,
  adminKeyCommands,
  webhookCommands,
  auditCommand,
  ledgerCommands,
  routeCommands,
  usageCommands,
  requestCommands,
  providersCommand,
  catalogCommand,
  reconcileCommand
] as const

const tollgate = Command.make("tollgate").pipe(
  Command.withDescription("Looks after a Tollgate gateway. Reads the same environment variables as the gateway."),
  Command.withSubcommands(commands)
)

/** True when a command did its work and found something wrong, which it has already printed. */
const isFinding = (error: unknown): boolean =>
  error instanceof BooksDiffer || error instanceof BillDiffers || error instanceof InvalidLines

const isReported = (error: unknown): boolean => isFinding(error) || CliError.isCliError(error)

const report = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  if (isReported(error) || Cause.hasInterruptsOnly(cause)) return Effect.void
  const isFailure = cause.reasons[0]?._tag === "Fail"
  const message = adminFailureOf(error)?.message ?? (isFailure ? describeError(error) : Cause.pretty(cause))
  return Console.error(`tollgate: ${message}`)
}

/** The exit code of a command that ended so. */
export const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return 0
  const error = Cause.squash(exit.cause)
  if (isFinding(error) || adminFailureOf(error)?.isRefusal === true) return 1
  const isHelp = CliError.isCliError(error) && error._tag === "ShowHelp" && error.errors.length === 0
  return isHelp ? 0 : 2
}

/** Runs the command that these words name, and prints why it failed if it does. */
export const runCommand = (words: ReadonlyArray<string>) =>
  Command.runWith(tollgate, { version: tollgateVersion })(words).pipe(Effect.tapCause(report))
