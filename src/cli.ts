#!/usr/bin/env node
/**
 * `tollgate`: the commands of an operator. Each file of commands in `src/cli` is about one noun; this file lists them.
 *
 * Results go to standard output and everything else to standard error. The exit code is 0 when all is well, 1 when a
 * command found something wrong or was refused by the rules, and 2 when it could not do its work.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, ConfigProvider, Console, Effect, Exit, Layer, Logger, References } from "effect"
import { CliError, Command } from "effect/cli"

import { adminFailureOf } from "./cli/AdminFailure.ts"
import { budgetCommands } from "./cli/BudgetCommands.ts"
import { catalogCommand, providersCommand } from "./cli/CatalogCommands.ts"
import { creditCommands } from "./cli/CreditCommands.ts"
import { keyCommands } from "./cli/KeyCommands.ts"
import { BooksDiffer, ledgerCommands } from "./cli/LedgerCommands.ts"
import { adminKeyCommands, auditCommand } from "./cli/OperatorCommands.ts"
import { organizationCommands } from "./cli/OrganizationCommands.ts"
import { environmentCommands, projectCommands } from "./cli/ProjectCommands.ts"
import { BillDiffers, reconcileCommand } from "./cli/ReconcileCommand.ts"
import { requestCommands } from "./cli/RequestCommands.ts"
import { explainCommand } from "./cli/RouteExplain.ts"
import { InvalidLines, rankCommand } from "./cli/RouteRank.ts"
import { replayCommand } from "./cli/RouteReplay.ts"
import { usageCommands } from "./cli/UsageCommands.ts"
import { webhookCommands } from "./cli/WebhookCommands.ts"
import { environment } from "./Config.ts"
import { describeError } from "./observability/ErrorDescription.ts"
import { tollgateVersion } from "./observability/Version.ts"

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

const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return 0
  const error = Cause.squash(exit.cause)
  if (isFinding(error) || adminFailureOf(error)?.isRefusal === true) return 1
  const isHelp = CliError.isCliError(error) && error._tag === "ShowHelp" && error.errors.length === 0
  return isHelp ? 0 : 2
}

const run = Command.run(tollgate, { version: tollgateVersion }).pipe(
  Effect.tapCause(report),
  Effect.provide(
    Layer.mergeAll(
      NodeServices.layer,
      ConfigProvider.layer(environment),
      Logger.layer([Logger.withConsoleError(Logger.formatSimple)]),
      Layer.succeed(References.MinimumLogLevel, "Warn")
    )
  )
)

NodeRuntime.runMain(run, {
  disableErrorReporting: true,
  teardown: (exit, onExit) => onExit(exitCodeOf(exit))
})
