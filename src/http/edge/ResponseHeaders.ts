/** Headers for the response to the request in hand, whichever that will be: an answer or an error made of a failure. */
import { Duration, Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"

import { RateLimitExceeded } from "../../api/Errors.ts"

/** Adds to the response. */
export const addHeaders = (headers: Record<string, string>) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeaders(response, headers))
  )

/** A 429 says when to come back, in whole seconds as the header wants them. */
export const withRetryAfter = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tapError(effect, (error) =>
    error instanceof RateLimitExceeded && error.retryAfter !== undefined
      ? addHeaders({ "retry-after": String(Math.max(1, Math.ceil(Duration.toSeconds(error.retryAfter)))) })
      : Effect.void
  )
