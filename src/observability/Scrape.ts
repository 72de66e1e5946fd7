/** How the metrics of this gateway are read. A gateway of several processes answers with those of all of them. */
import { Context, Effect, type Scope } from "effect"

/** Given what formats the metrics of this process, makes what a scrape is answered with. */
export type MakeScrape = (own: () => string) => Effect.Effect<Effect.Effect<string>, never, Scope.Scope>

/** By default, the process is the whole gateway. */
export const Scrape = Context.Reference<MakeScrape>("tollgate/observability/Scrape", {
  defaultValue: () => (own) => Effect.succeed(Effect.sync(own))
})
