/**
 * `/health/live`: the process answers. `/health/ready`: it can serve, that is, its database answers and its schema is
 * the one it needs; what a probe cannot act on (which providers are on) is there to read.
 */
import { Duration, Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

import type { ErrorCode } from "../../api/Errors.ts"
import { Catalog } from "../../catalog/Catalog.ts"

export interface HealthOptions {
  /** Fails when the database does not answer. */
  readonly database: Effect.Effect<void, unknown>
  readonly engine: string
  readonly sandbox: boolean
}

const pingTimeout = Duration.seconds(2)

export const healthRoutesLayer = (options: HealthOptions) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { models } = yield* Catalog
      const providers = [...new Set(models.flatMap((model) => model.endpoints.map((endpoint) => endpoint.provider)))]
      const facts = { engine: options.engine, sandbox: options.sandbox, models: models.length, providers }
      yield* router.add("GET", "/health/live", HttpServerResponse.jsonUnsafe({ status: "ok" }))
      yield* router.add(
        "GET",
        "/health/ready",
        options.database.pipe(
          Effect.timeout(pingTimeout),
          Effect.as(HttpServerResponse.jsonUnsafe({ status: "ok", ...facts })),
          Effect.catch(() => Effect.succeed(unready(facts)))
        )
      )
    })
  )

const unready = (facts: object) => {
  const code: ErrorCode = "internal_error"
  return HttpServerResponse.jsonUnsafe(
    { status: "unavailable", error: { code, message: "The database does not answer" }, ...facts },
    { status: unreadyStatus }
  )
}

/** What orchestrators expect of a probe; it is not an answer of the API, whose own status would be a 500. */
const unreadyStatus = 503
