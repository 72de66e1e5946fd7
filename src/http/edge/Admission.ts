/**
 * The checks that need nothing of a request's body, in the order of the contract: the API key (401), the key's endpoint
 * allowlist (403), its rate limit and its limit of concurrent requests (429).
 */
import { Context, Duration, Effect, Layer, type Redacted, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"

import { ApiKeys } from "../../access/ApiKeys.ts"
import { concurrencyMessage, ConcurrencyLimits, hasConcurrencyLimit } from "../../access/ConcurrencyLimits.ts"
import type { LimitedResource } from "../../access/RateBucket.ts"
import {
  hasTokenLimit,
  type RateLimited,
  rateLimitMessage,
  RateLimits,
  type RateLimitStatus
} from "../../access/RateLimits.ts"
import { EndpointNotAllowed, InternalError, RateLimitExceeded, Unauthorized } from "../../api/Errors.ts"
import type { Caller, EndpointName } from "../../domain/Caller.ts"
import { type AccessRecord, CurrentAccessRecord } from "../../observability/AccessLog.ts"
import { describeFault, failedRequest } from "../../observability/ErrorDescription.ts"
import { makeLimitedLog } from "../../observability/LimitedLog.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"

/** What a request has to identify itself by, of which the second counts where the first is no valid key. */
export type Credentials = readonly [Redacted.Redacted, Redacted.Redacted?]

type Admitted = Effect.Effect<Caller, AdmissionError, Scope.Scope | HttpServerRequest.HttpServerRequest>

/** Why a request was not admitted. */
export type AdmissionError = Unauthorized | EndpointNotAllowed | RateLimitExceeded | InternalError

export class Admission extends Context.Service<
  Admission,
  {
    /**
     * The caller behind these credentials. Every response to a request that got so far has the rate-limit headers.
     * Takes five operations where the key is known and nothing has to be waited for.
     */
    readonly admit: (credentials: Credentials, endpoint: EndpointName | undefined) => Admitted
  }
>()("tollgate/http/edge/Admission") {
  static readonly layer = Layer.effect(
    Admission,
    Effect.suspend(() => make)
  )
}

/** Nobody knows when a request ends, so this is only a moment. */
const retryAfter = Duration.seconds(1)

const make = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const limits = yield* RateLimits
  const concurrency = yield* ConcurrencyLimits
  const write = makeLimitedLog()

  /** Eager: what is known is not run as an effect. */
  const callerOf = ([credential, other]: Credentials): Effect.Effect<Caller, Unauthorized | InternalError> =>
    Effect.catchEager(keys.authenticate(credential), ({ reason }): ReturnType<typeof callerOf> => {
      if (reason._tag === "Unavailable")
        return Effect.andThen(
          write(failedRequest("API keys could not be looked up", describeFault(reason.cause))),
          Effect.fail(InternalError.of("The API key could not be checked; try again"))
        )
      return other === undefined ? Effect.fail(Unauthorized.of("Missing or invalid API key")) : callerOf([other])
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

  /** The limits that only some callers have. What is left of the tokens is read when the request has taken its own. */
  const limitFurther = Effect.fnUntraced(function* (caller: Caller, endpoint: EndpointName | undefined) {
    if (hasTokenLimit(caller))
      yield* ResponseHeaders.addHeadersLater(Effect.map(limits.tokenStatus(caller), tokenHeaders))
    if (endpoint !== undefined && hasConcurrencyLimit(caller)) yield* limitConcurrency(caller)
    return caller
  })

  const limit = (caller: Caller, endpoint: EndpointName | undefined, access: AccessRecord | undefined) =>
    Effect.matchEffect(limits.consume(caller), {
      onFailure: (limited) => {
        ResponseHeaders.addTo(access, rateLimitHeaders("requests", statusOf(limited)))
        return Effect.fail(RateLimitExceeded.of(rateLimitMessage(limited), limited.retryAfter))
      },
      onSuccess: (status) => {
        ResponseHeaders.addTo(access, rateLimitHeaders("requests", status))
        return hasTokenLimit(caller) || hasConcurrencyLimit(caller)
          ? limitFurther(caller, endpoint)
          : Effect.succeed(caller)
      }
    })

  return Admission.of({
    admit: (credentials, endpoint) =>
      Effect.withFiber((fiber) => {
        const access = Context.get(fiber.context, CurrentAccessRecord)
        return Effect.flatMapEager(callerOf(credentials), (caller): Admitted => {
          if (access !== undefined) {
            access.caller = { organization: caller.organization, key: caller.key }
            access.annotations.organization = caller.organization
          }
          return endpoint !== undefined && caller.endpoints?.has(endpoint) === false
            ? Effect.fail(EndpointNotAllowed.of(`This API key may not use ${endpoint}`))
            : limit(caller, endpoint, access)
        })
      })
  })
})

const statusOf = (limited: RateLimited): RateLimitStatus => ({
  limit: limited.limit,
  remaining: 0,
  resetMillis: Duration.toMillis(limited.retryAfter)
})

const rateLimitHeaders = (resource: LimitedResource, status: RateLimitStatus): Record<string, string> => ({
  [`x-ratelimit-limit-${resource}`]: String(status.limit),
  [`x-ratelimit-remaining-${resource}`]: String(status.remaining),
  [`x-ratelimit-reset-${resource}`]: durationText(status.resetMillis)
})

const tokenHeaders = (status: RateLimitStatus | undefined): Record<string, string> =>
  status === undefined ? {} : rateLimitHeaders("tokens", status)

/** A duration in the format that OpenAI uses in these headers: `120ms`, `6s`, `1m2s`. */
const durationText = (millis: number): string => {
  if (millis < 1_000) return `${Math.ceil(millis)}ms`
  const seconds = Math.ceil(millis / 1_000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
