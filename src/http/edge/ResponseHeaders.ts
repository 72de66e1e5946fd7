/**
 * Headers for the response to the current request. They are added whether the response will be an answer or an error
 * that is made from a failure.
 */
import { Clock, Duration, Effect } from "effect"
import { HttpEffect, type HttpServerRequest, HttpServerResponse } from "effect/http"

import { BudgetExceeded, RateLimitExceeded } from "../../api/Errors.ts"
import type { AccessRecord } from "../../observability/AccessLog.ts"

/** Adds headers to the response of the current request. */
export const addHeaders = (headers: Record<string, string>) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeaders(response, headers))
  )

/** The same for the request of this record, at once. */
export const addTo = (access: AccessRecord | undefined, headers: Record<string, string>): void => {
  if (access !== undefined) access.responseHeaders = { ...access.responseHeaders, ...headers }
}

/** Adds headers that are not known before the response begins. */
export const addHeadersLater = (headers: Effect.Effect<Record<string, string>>) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.map(headers, (added) => HttpServerResponse.setHeaders(response, added))
  )

/** Names the parameters that the model did not get as they were asked for, if there are any. */
export const adjustedHeader = (serviceName: string, adjusted: string | undefined): Record<string, string> =>
  adjusted === undefined ? {} : { [`x-${serviceName}-adjusted`]: adjusted }

/**
 * Adds `retry-after` to a 429, in whole seconds, which is the unit of that header. A client is not to try again by
 * itself where a budget is spent.
 */
export const withRetryAfter = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.tapError(effect, addRetryAfter)

/** Does so for this error. */
export const addRetryAfter = (error: unknown): Effect.Effect<void, never, HttpServerRequest.HttpServerRequest> => {
  if (error instanceof RateLimitExceeded && error.retryAfter !== undefined)
    return addHeaders(retryAfter(Duration.toMillis(error.retryAfter)))
  if (error instanceof BudgetExceeded && error.spent !== undefined) return addRenewal(error.spent.renewsAtMillis)
  return Effect.void
}

const retryAfter = (millis: number): Record<string, string> => ({
  "retry-after": String(Math.max(1, Math.ceil(millis / 1_000)))
})

const addRenewal = (renewsAtMillis: number | undefined) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    addHeaders({
      "x-should-retry": "false",
      ...(renewsAtMillis !== undefined && retryAfter(renewsAtMillis - now))
    })
  )
