/**
 * The checks that need nothing of a request's body, in the order of the contract: the API key (401), the key's endpoint
 * allowlist (403), its rate limit and its limit of concurrent requests (429).
 */
import { Context, Duration, Effect, Layer, Redacted, References } from "effect"
import { HttpServerRequest } from "effect/http"

import { ApiKeys } from "../../access/ApiKeys.ts"
import { concurrencyMessage, ConcurrencyLimits, hasConcurrencyLimit } from "../../access/ConcurrencyLimits.ts"
import type { LimitedResource } from "../../access/RateBucket.ts"
import { hasTokenLimit, rateLimitMessage, RateLimits, type RateLimitStatus } from "../../access/RateLimits.ts"
import { Authorization, CurrentCaller } from "../../api/Api.ts"
import { EndpointNotAllowed, InternalError, RateLimitExceeded, Unauthorized } from "../../api/Errors.ts"
import { type Caller, type EndpointName, endpointNames } from "../../domain/Caller.ts"
import { type AccessRecord, CurrentAccessRecord } from "../../observability/AccessLog.ts"
import { describeFault, failedRequest } from "../../observability/ErrorDescription.ts"
import { makeLimitedLog } from "../../observability/LimitedLog.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"

/** Nobody knows when a request ends, so this is only a moment. */
const retryAfter = Duration.seconds(1)

/** Identifies the caller for the handlers, and adds the rate-limit headers to every response that got so far. */
export const authorizationLayer = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const limits = yield* RateLimits
    const concurrency = yield* ConcurrencyLimits
    const write = makeLimitedLog()

    /** What is left of the tokens is read when the response begins: by then the request has taken its own. */
    const addTokenHeaders = (caller: Caller) =>
      ResponseHeaders.addHeadersLater(
        Effect.map(limits.tokenStatus(caller), (status) => (status ? rateLimitHeaders("tokens", status) : {}))
      )

    const limitRate = Effect.fnUntraced(function* (caller: Caller) {
      const status = yield* limits.consume(caller).pipe(
        Effect.catchTag("RateLimited", (limited) =>
          Effect.andThen(
            ResponseHeaders.addHeaders(
              rateLimitHeaders("requests", {
                limit: limited.limit,
                remaining: 0,
                resetMillis: Duration.toMillis(limited.retryAfter)
              })
            ),
            Effect.fail(RateLimitExceeded.of(rateLimitMessage(limited), limited.retryAfter))
          )
        )
      )
      yield* ResponseHeaders.addHeaders(rateLimitHeaders("requests", status))
      if (hasTokenLimit(caller)) yield* addTokenHeaders(caller)
    })

    /** Until the scope of the request closes, after everything that the request itself has to end. */
    const limitConcurrency = (caller: Caller) =>
      concurrency.occupy(caller).pipe(
        Effect.catchTags({
          ConcurrencyLimited: (limited) => Effect.fail(RateLimitExceeded.of(concurrencyMessage(limited), retryAfter)),
          SlotsUnavailable: () =>
            Effect.fail(InternalError.of("The limit of concurrent requests could not be checked; try again"))
        })
      )

    return Authorization.of({
      bearer: Effect.fnUntraced(function* (httpEffect, { credential, endpoint, group }) {
        const caller = yield* authenticate(keys, credential, group.identifier).pipe(
          Effect.catchReasons("AccessError", {
            Unavailable: ({ cause }) =>
              Effect.andThen(
                write(failedRequest("API keys could not be looked up", describeFault(cause))),
                Effect.fail(InternalError.of("The API key could not be checked; try again"))
              )
          }),
          Effect.catchTag("AccessError", () => Effect.fail(Unauthorized.of("Missing or invalid API key")))
        )
        const access = yield* CurrentAccessRecord
        if (access !== undefined) access.caller = { organization: caller.organization, key: caller.key }
        const name = endpointNameOf(group.identifier, endpoint.identifier)
        if (name !== undefined && caller.endpoints?.has(name) === false) {
          return yield* EndpointNotAllowed.of(`This API key may not use ${name}`)
        }
        yield* limitRate(caller)
        if (name !== undefined && hasConcurrencyLimit(caller)) yield* limitConcurrency(caller)
        return yield* Effect.provideContext(httpEffect, aboutCaller(caller, access))
      }, ResponseHeaders.withRetryAfter)
    })
  })
)

/** The groups of endpoints that clients of Anthropic call. */
const keysInOwnHeader: ReadonlySet<string> = new Set(["messages", "models"])

/**
 * Clients of Anthropic send a key in a header of their own, and may send a token of another service beside it. So that
 * header is read where the other one has no valid key.
 */
const authenticate = (keys: ApiKeys["Service"], credential: Redacted.Redacted, group: string) =>
  keysInOwnHeader.has(group)
    ? Effect.catch(keys.authenticate(credential), (error) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
          const key = headers["x-api-key"]
          return key === undefined || error.reason._tag !== "InvalidKey"
            ? Effect.fail(error)
            : keys.authenticate(Redacted.make(key))
        })
      )
    : keys.authenticate(credential)

/** The name by which an allowlist knows an endpoint: a group has one name, or each endpoint of it has its own. */
const endpointNameOf = (group: string, endpoint: string): EndpointName | undefined =>
  endpointNames.find((known) => known === group || known === `${group}.${endpoint}`)

/** Tells the handlers who calls them, and log lines the organization. */
const aboutCaller = (caller: Caller, access: AccessRecord | undefined) =>
  Context.make(CurrentCaller, caller).pipe(
    Context.add(References.CurrentLogAnnotations, {
      ...(access !== undefined && { request: access.request }),
      organization: caller.organization
    })
  )

const rateLimitHeaders = (resource: LimitedResource, status: RateLimitStatus): Record<string, string> => ({
  [`x-ratelimit-limit-${resource}`]: String(status.limit),
  [`x-ratelimit-remaining-${resource}`]: String(status.remaining),
  [`x-ratelimit-reset-${resource}`]: durationText(status.resetMillis)
})

/** A duration in the format that OpenAI uses in these headers: `120ms`, `6s`, `1m2s`. */
const durationText = (millis: number): string => {
  if (millis < 1_000) return `${Math.ceil(millis)}ms`
  const seconds = Math.ceil(millis / 1_000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
