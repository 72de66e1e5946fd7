/** `tollgate usage`: what was used, as the database has it. It works whether gateways run or not. */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"

import { rebuildUsage } from "../receipts/UsageRebuild.ts"
import * as Connection from "./Connection.ts"

const rebuild = Command.make(
  "rebuild",
  {},
  Effect.fn(function* () {
    const { days, requests } = yield* rebuildUsage
    yield* Console.log(`${requests} requests of ${days} days counted anew`)
  })
).pipe(
  Command.withDescription(
    "Count usage anew from the request log, for all days whose receipts are kept. Usage of other days stays."
  )
)

export const usageCommands = Command.make("usage").pipe(
  Command.withDescription("Requests, tokens and cost by quarter hours"),
  Command.withSubcommands([rebuild]),
  Command.provide(Connection.connectionLayer)
)
