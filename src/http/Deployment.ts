/**
 * What this gateway runs on, and how its operator learns of it: from `/health/ready`, from a response header and from
 * the log at start. `main.ts` fills it in; the handlers only report it.
 */
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"

import { Catalog } from "../catalog/Catalog.ts"
import type { ProviderId } from "../domain/Ids.ts"
import { tollgateVersion } from "../observability/Version.ts"

/** The providers that serve at least one model of a catalog. */
export const servingProviders = ({ models }: Pick<Catalog["Service"], "models">): ReadonlyArray<ProviderId> => [
  ...new Set(models.flatMap((model) => model.endpoints.map((endpoint) => endpoint.provider)))
]

export class Deployment extends Context.Service<
  Deployment,
  {
    readonly engine: "postgresql" | "embedded"
    /** Fails when the database does not answer. */
    readonly pingDatabase: Effect.Effect<void, unknown>
    /** True when no provider is switched on, so that the built-in sandbox answers every request. */
    readonly sandbox: boolean
  }
>()("tollgate/http/Deployment") {}

/**
 * Logs where the gateway listens, and warns of what is not fit for production. `dataDir` is the embedded database's.
 */
export const startUpReportLayer = ({ dataDir }: { readonly dataDir: string }) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { engine, sandbox } = yield* Deployment
      const { address } = yield* HttpServer.HttpServer
      const catalog = yield* Catalog
      const url = HttpServer.formatAddress(address)
      yield* Effect.logInfo(`Tollgate listens on ${url}; the API reference is at /docs`).pipe(
        Effect.annotateLogs({
          address: url,
          version: tollgateVersion,
          engine,
          sandbox,
          providers: servingProviders(catalog),
          models: catalog.models.length,
          catalogVersion: catalog.version
        })
      )
      if (sandbox) {
        yield* Effect.logWarning("No provider key is set: every model is SIMULATED. Set one, such as OPENAI_API_KEY")
      }
      if (engine === "embedded") {
        yield* Effect.logWarning(
          `The embedded database in ${dataDir} survives a killed process, not a power cut. ` +
            "Set DATABASE_URL for money that matters"
        )
      }
    })
  )
