/** `tollgate route`: what the router decides, why, and what it would have decided with another catalog. */
import { Command } from "effect/cli"

import { explainCommand } from "./RouteExplain.ts"
import { rankCommand } from "./RouteRank.ts"
import { replayCommand } from "./RouteReplay.ts"

export const routeCommands = Command.make("route").pipe(
  Command.withDescription("The choice of models"),
  Command.withSubcommands([rankCommand, explainCommand, replayCommand])
)
