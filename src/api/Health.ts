/**
 * `GET /health/live` and `GET /health/ready`, for the probes of an orchestrator. They are not part of the published
 * API: they need no key, and the document at `/openapi.json` leaves them out.
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** The process answers. */
export const Liveness = Schema.Struct({ status: Schema.Literal("ok") })

/** What the gateway runs on. Probes look at the status code alone; this is for people. */
const facts = {
  engine: Schema.Literals(["postgresql", "embedded"]),
  /** True when the built-in sandbox answers in place of the providers. */
  sandbox: Schema.Boolean,
  /** How many models can be called. */
  models: Schema.Int,
  /** The providers that are switched on. */
  providers: Schema.Array(Schema.String)
}

/** The database answers too. */
export const Readiness = Schema.Struct({ status: Schema.Literal("ok"), ...facts })

/** A 503, as orchestrators expect of a probe, although the same fault is a 500 in an answer of the API. */
export const NotReady = Schema.Struct({
  status: Schema.Literal("unavailable"),
  error: Schema.Struct({ code: Schema.Literal("internal_error"), message: Schema.String }),
  ...facts
}).pipe(HttpApiSchema.status(503))
