/**
 * `/health/live` answers as long as the process does. `/health/ready` is 200 only while the database answers; its
 * schema was migrated before the server opened. The facts in the body are for people, because probes cannot act on
 * them.
 */
import { Duration, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api } from "../../api/Api.ts"
import type { NotReady, Readiness } from "../../api/Health.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import { Deployment, servingProviders } from "../Deployment.ts"

const pingTimeout = Duration.seconds(2)

export const healthHandlersLayer = HttpApiBuilder.group(Api, "health", (handlers) =>
  Effect.gen(function* () {
    const catalog = yield* Catalog
    const { engine, pingDatabase, sandbox } = yield* Deployment
    const facts = { engine, sandbox, models: catalog.models.length, providers: servingProviders(catalog) }
    const ready: typeof Readiness.Type = { status: "ok", ...facts }
    const notReady: typeof NotReady.Type = {
      status: "unavailable",
      error: { code: "internal_error", message: "The database does not answer" },
      ...facts
    }
    const probe = pingDatabase.pipe(
      Effect.timeout(pingTimeout),
      Effect.as(HttpServerResponse.jsonUnsafe(ready)),
      Effect.orElseSucceed(() => HttpServerResponse.jsonUnsafe(notReady, { status: 503 }))
    )
    return handlers
      .handleRaw("live", () => Effect.succeed(HttpServerResponse.jsonUnsafe({ status: "ok" })))
      .handleRaw("ready", () => probe)
  })
)
