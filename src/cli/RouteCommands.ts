/** `tollgate route`: what the router decides, why, and what it would have decided with another catalog. */
import { Command } from "effect/cli"

import { explain } from "./RouteExplain.ts"
import { rank } from "./RouteRank.ts"
import { replay } from "./RouteReplay.ts"

export const route = Command.make("route").pipe(
  Command.withDescription("The choice of models"),
  Command.withSubcommands([rank, explain, replay])
)
