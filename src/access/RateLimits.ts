/**
 * Limits the requests per minute of each API key, with token buckets: a burst up to the limit passes, and further
 * requests pass as the bucket refills evenly over the minute. Gateways on one PostgreSQL share the buckets: each leases
 * a few tokens at a time, ahead of need, and a request only counts in memory. A gateway on the embedded engine has its
 * database for itself, and counts in memory alone.
 */
import { Clock, Context, Data, Duration, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"

import type { Caller } from "../domain/Caller.ts"
import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { Database } from "../sql/Database.ts"
import { shareBuckets } from "./BucketLeases.ts"
import type { RateBucket } from "./RateBucket.ts"
import { RateBuckets, takeOf } from "./RateBuckets.ts"

/** How often buckets that are full are forgotten, where no other gateway shares them. */
const forgetInterval = Duration.minutes(1)

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

export interface RateLimitOptions {
  /** Applies to keys that have no limit of their own. */
  readonly requestsPerMinute: number
}

export class RateLimits extends Context.Service<
  RateLimits,
  {
    /**
     * Counts one request of this key, or fails when its bucket is empty. Waits for the database only when this gateway
     * has no part of the bucket at hand.
     */
    readonly consume: (caller: Caller) => Effect.Effect<RateLimitStatus, RateLimited>
  }
>()("tollgate/access/RateLimits") {
  /** Shares the limits with the other gateways, if there can be any. */
  static readonly layer = (options: RateLimitOptions): Layer.Layer<RateLimits, never, Database | SqlClient.SqlClient> =>
    Layer.unwrap(
      Effect.map(Database, ({ engine }) =>
        engine === "postgresql" ? RateLimits.layerShared(options) : RateLimits.layerMemory(options)
      )
    )

  static readonly layerShared = (options: RateLimitOptions) => Layer.effect(RateLimits, make(options, shareBuckets))

  /** Counts in this process alone. */
  static readonly layerMemory = (options: RateLimitOptions) => Layer.effect(RateLimits, make(options, keepAlone))
}

const keepAlone = Effect.fnUntraced(function* (buckets: RateBuckets) {
  const clock = yield* Clock.Clock
  yield* repeatInBackground({
    run: Effect.sync(() => buckets.forgetFull(clock.currentTimeMillisUnsafe())),
    every: forgetInterval,
    failureMessage: "Full rate limits could not be forgotten"
  })
})

const make = Effect.fnUntraced(function* <R>(
  options: RateLimitOptions,
  run: (buckets: RateBuckets) => Effect.Effect<void, never, R>
) {
  const buckets = new RateBuckets()
  yield* run(buckets)

  const consume = (caller: Caller): Effect.Effect<RateLimitStatus, RateLimited> =>
    Clock.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      const limit = caller.requestsPerMinute ?? options.requestsPerMinute
      const bucket = buckets.of({ subject: caller.key, resource: "requests" }, limit, now)
      const take = takeOf(bucket, 1)
      return Effect.mapBoth(buckets.admit([take], now), {
        onSuccess: () => statusOf(bucket, clock.currentTimeMillisUnsafe()),
        onFailure: () => {
          const retryMillis = bucket.retryMillis(take.units, clock.currentTimeMillisUnsafe())
          return new RateLimited({ limit, retryAfter: Duration.millis(retryMillis) })
        }
      })
    })

  return RateLimits.of({ consume })
})

const statusOf = (bucket: RateBucket, nowMillis: number): RateLimitStatus => ({
  limit: bucket.limit,
  remaining: bucket.remaining(nowMillis),
  resetMillis: bucket.resetMillis(nowMillis)
})
