/**
 * Limits the requests per minute of each API key, with a token bucket: a burst up to the limit passes, and further
 * requests pass as the bucket refills evenly over the minute. Each gateway process counts for itself, so N replicas
 * together allow a key up to N times its limit.
 */
import { Context, Data, Duration, Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence"

import type { Caller } from "../domain/Caller.ts"

/** The bucket of the key is empty. */
export class RateLimited extends Data.TaggedError("RateLimited")<{
  readonly limit: number
  /** How long until the next request of this key will pass. */
  readonly retryAfter: Duration.Duration
}> {}

/** The values of the `x-ratelimit-*-requests` headers. */
export interface RateLimitStatus {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the bucket is full again. */
  readonly resetMillis: number
}

export class RateLimits extends Context.Service<
  RateLimits,
  {
    /** Counts one request of this key, or fails when its bucket is empty. */
    readonly consume: (caller: Caller) => Effect.Effect<RateLimitStatus, RateLimited>
  }
>()("tollgate/access/RateLimits") {
  /** `requestsPerMinute` applies to keys that have no limit of their own. */
  static readonly layer = (options: { readonly requestsPerMinute: number }) =>
    Layer.effect(
      RateLimits,
      Effect.gen(function* () {
        const limiter = yield* RateLimiter.RateLimiter
        const consume = Effect.fnUntraced(
          function* (caller: Caller) {
            const limit = caller.requestsPerMinute ?? options.requestsPerMinute
            const key = caller.key
            const result = yield* limiter.consume({ key, limit, window: "1 minute", algorithm: "token-bucket" })
            return { limit, remaining: result.remaining, resetMillis: Duration.toMillis(result.resetAfter) }
          },
          Effect.catchTag("RateLimiterError", ({ reason }) =>
            reason._tag === "RateLimitExceeded"
              ? Effect.fail(new RateLimited({ limit: reason.limit, retryAfter: reason.retryAfter }))
              : Effect.die(reason)
          )
        )
        return RateLimits.of({ consume })
      })
    ).pipe(Layer.provide(RateLimiter.layer), Layer.provide(RateLimiter.layerStoreMemory))
}
