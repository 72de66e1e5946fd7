/**
 * Limits the requests and the tokens per minute of API keys and of organizations, with token buckets: a burst up to the
 * limit passes, and further requests pass as the bucket refills evenly over the minute. Gateways on one PostgreSQL
 * share the buckets: each leases a few tokens at a time, ahead of need, and a request only counts in memory. A gateway
 * on the embedded engine has its database for itself, and counts in memory alone.
 */
import { Clock, Context, Data, Duration, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"

import type { Caller } from "../domain/Caller.ts"
import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { Database } from "../sql/Database.ts"
import { shareBuckets } from "./BucketLeases.ts"
import type { LimitedResource, RateBucket } from "./RateBucket.ts"
import { RateBuckets, type Take, takeOf } from "./RateBuckets.ts"

/** How often buckets that are full are forgotten, where no other gateway shares them. */
const forgetInterval = Duration.minutes(1)

/** A bucket of the key or of its organization is empty. */
export class RateLimited extends Data.TaggedError("RateLimited")<{
  readonly limit: number
  readonly of: "key" | "organization"
  readonly resource: LimitedResource
  /** How long until a request like this can pass. */
  readonly retryAfter: Duration.Duration
}> {}

/** The values of the `x-ratelimit-*` headers, for the bucket in which least is left. */
export interface RateLimitStatus {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the bucket is full again. */
  readonly resetMillis: number
}

/** Tokens that count against the limits of a request as long as nobody knows how many it takes. */
export interface HeldTokens {
  /** Counts these in their place: gives back the others, or takes the further ones. */
  readonly settle: (tokens: number) => Effect.Effect<void>
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
    /** Counts these tokens, at most the whole limit, until they are settled; or fails when a bucket is empty. */
    readonly holdTokens: (caller: Caller, tokens: number) => Effect.Effect<HeldTokens, RateLimited>
    /** What is left of the tokens of a caller for whom they are limited. */
    readonly tokenStatus: (caller: Caller) => Effect.Effect<RateLimitStatus | undefined>
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
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  yield* run(buckets)

  const bucketsOf = (caller: Caller, resource: LimitedResource, nowMillis: number): ReadonlyArray<RateBucket> => {
    const { key, organization, organizationLimits: shared } = caller
    const isOfRequests = resource === "requests"
    const own = isOfRequests ? (caller.requestsPerMinute ?? options.requestsPerMinute) : caller.tokensPerMinute
    const common = isOfRequests ? shared?.requestsPerMinute : shared?.tokensPerMinute
    return [
      ...(own === undefined ? [] : [buckets.of({ subject: key, resource }, own, nowMillis)]),
      ...(common === undefined ? [] : [buckets.of({ subject: organization, resource }, common, nowMillis)])
    ]
  }

  /** Takes from all of these buckets, each of which gives at most what it holds when it is full. */
  const admit = (caller: Caller, takes: ReadonlyArray<Take>): Effect.Effect<void, RateLimited> =>
    Effect.mapErrorEager(buckets.admit(takes, now()), (empty) => {
      const units = takes.find(({ bucket }) => bucket === empty)?.units ?? 0
      const retryMillis = empty.retryMillis(units, now())
      const { resource, subject } = empty.owner
      const of = subject === caller.key ? "key" : "organization"
      return new RateLimited({ limit: empty.limit, of, resource, retryAfter: Duration.millis(retryMillis) })
    })

  const consume: RateLimits["Service"]["consume"] = (caller) =>
    Effect.suspend(() => {
      const limiting = bucketsOf(caller, "requests", now())
      const takes = limiting.map((bucket) => takeOf(bucket, 1))
      return Effect.mapEager(admit(caller, takes), () => statusOf(limiting, now()))
    })

  const holdTokens: RateLimits["Service"]["holdTokens"] = (caller, tokens) =>
    Effect.suspend(() => {
      const takes = bucketsOf(caller, "tokens", now()).map((bucket) => takeOf(bucket, Math.min(tokens, bucket.limit)))
      const settle = (settled: number) =>
        Effect.sync(() => {
          for (const { bucket, units } of takes) {
            // A bucket that was full in the meantime may have been forgotten.
            const current = buckets.of(bucket.owner, bucket.limit, now())
            current.correct(units - takeOf(current, settled).units, now())
          }
        })
      return Effect.mapEager(admit(caller, takes), () => ({ settle }))
    })

  const tokenStatus: RateLimits["Service"]["tokenStatus"] = (caller) =>
    Effect.sync(() => {
      const limiting = bucketsOf(caller, "tokens", now())
      return limiting.length === 0 ? undefined : statusOf(limiting, now())
    })

  return RateLimits.of({ consume, holdTokens, tokenStatus })
})

/** The status of the bucket in which least is left. */
const statusOf = (buckets: ReadonlyArray<RateBucket>, nowMillis: number): RateLimitStatus => {
  const [first, ...others] = buckets
  if (first === undefined) throw new Error("requests of every caller are limited")
  return others.reduce(
    (least, bucket) => {
      const status = statusOfBucket(bucket, nowMillis)
      return status.remaining < least.remaining ? status : least
    },
    statusOfBucket(first, nowMillis)
  )
}

const statusOfBucket = (bucket: RateBucket, nowMillis: number): RateLimitStatus => ({
  limit: bucket.limit,
  remaining: bucket.remaining(nowMillis),
  resetMillis: bucket.resetMillis(nowMillis)
})

/** Whether this caller's tokens are limited. */
export const hasTokenLimit = ({ organizationLimits, tokensPerMinute }: Caller): boolean =>
  tokensPerMinute !== undefined || organizationLimits?.tokensPerMinute !== undefined

/** Names the limit, its value, and when to try again. */
export const rateLimitMessage = ({ limit, of, resource, retryAfter }: RateLimited): string => {
  const subject = of === "key" ? "This API key" : "All API keys of this organization together"
  const what = resource === "requests" ? `make ${limit} requests` : `use ${limit} tokens`
  const seconds = Math.ceil(Duration.toSeconds(retryAfter))
  return `${subject} may ${what} per minute; try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}`
}
