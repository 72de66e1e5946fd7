/**
 * What this gateway runs on, and how its operator learns of it: from `/health/ready`, from a response header and from
 * the log at start. `main.ts` fills it in; the handlers only report it.
 */
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"

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
      yield* Effect.log(`Tollgate listens on ${HttpServer.formatAddress(address)}; the API reference is at /docs`)
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
