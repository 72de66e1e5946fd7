/**
 * Leases from the token buckets that all gateways share, in the table `rate_bucket`. All that this process asks for at
 * a time is one statement, outside of any request; requests that find their bucket empty here wait for the same one.
 *
 * A bucket is refilled when it is asked, by the time that the gateway gives. A gateway whose clock is slow only leaves
 * the refill to the others, and one whose clock is fast takes it once and not again. What a gateway leased is gone from
 * the bucket: if the gateway dies, the refill of at most a minute makes up for it.
 *
 * The rule: limits never stop the traffic because of the database. When it does not answer, every gateway goes on from
 * what it last knew, and counts for itself until the database is back.
 */
import { Cause, Clock, Duration, Effect, Exit, Fiber, Queue } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { describeCause } from "../observability/ErrorDescription.ts"
import type { LeaseOrder, RateBucket } from "./RateBucket.ts"
import { unitsPerToken } from "./RateBucket.ts"
import type { RateBuckets } from "./RateBuckets.ts"

/** Buckets to ask with one statement. */
const maxOrders = 500
/** A statement without an answer after this long counts as failed. Nobody waits longer for a lease. */
const statementTimeout = Duration.seconds(5)
const retryDelay = Duration.seconds(1)
/** How often slices that nobody uses go back. */
const returnInterval = Duration.seconds(1)
const cleaningInterval = Duration.minutes(5)
/** A bucket that nobody asked for this long is full and is deleted. */
const fullAfterMillis = Duration.toMillis("1 hour")
/** A bucket whose time is further ahead than this was refilled by a gateway with a wrong clock. */
const clockToleranceMillis = 60_000
/** Keeps the product of the elapsed time and a limit within a bigint. */
const longestRefillMillis = 86_400_000

/** A bucket and what was asked of it. */
interface Ask {
  readonly bucket: RateBucket
  readonly order: LeaseOrder
}

interface LeaseRow {
  readonly subject_id: string
  readonly resource: string
  readonly granted: number
  readonly units: number
}

/** Whole tokens: what is needed, and ahead of need at most half of what is left beyond it. */
const grant = `
  CROSS JOIN LATERAL (
    SELECT greatest(0, least(available, need + least(ahead, greatest(0, available - need) / 2))) AS most
  ) AS bounds
  CROSS JOIN LATERAL (SELECT most - most % ${unitsPerToken} AS granted) AS grants`

/* The rows are locked in order, so that two gateways that ask for the same buckets do not block each other. */
const leaseStatement = `
WITH asked AS MATERIALIZED (
  SELECT *, per_minute * ${unitsPerToken} AS capacity
  FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS orders (subject_id, resource, per_minute, need, ahead, returned)
)
INSERT INTO rate_bucket AS bucket (subject_id, resource, units, granted, refilled_at_millis)
SELECT subject_id, resource, available - granted, granted, $7::bigint
FROM asked CROSS JOIN LATERAL (SELECT capacity + least(0, returned) AS available) AS filled ${grant}
ORDER BY subject_id, resource
ON CONFLICT (subject_id, resource) DO UPDATE SET (units, granted, refilled_at_millis) = (
  SELECT available - grants.granted, grants.granted,
    CASE WHEN bucket.refilled_at_millis > $7::bigint + ${clockToleranceMillis} THEN $7::bigint
      ELSE greatest(bucket.refilled_at_millis, $7::bigint) END
  FROM asked
  CROSS JOIN LATERAL (
    SELECT CASE WHEN bucket.refilled_at_millis > $7::bigint + ${clockToleranceMillis} THEN ${clockToleranceMillis}
      ELSE least(${longestRefillMillis}, greatest(0, $7::bigint - bucket.refilled_at_millis)) END AS elapsed
  ) AS time
  CROSS JOIN LATERAL (
    SELECT least(capacity, least(capacity, bucket.units + elapsed * per_minute) + returned) AS available
  ) AS filled ${grant}
  WHERE asked.subject_id = bucket.subject_id AND asked.resource = bucket.resource
)
RETURNING subject_id::text, resource, granted::float8 AS granted, units::float8 AS units`

const cleaningStatement = `
DELETE FROM rate_bucket WHERE (subject_id, resource) IN (
  SELECT subject_id, resource FROM rate_bucket WHERE refilled_at_millis < $1::bigint FOR UPDATE SKIP LOCKED
)`

const parametersOf = (asks: ReadonlyArray<Ask>, nowMillis: number): ReadonlyArray<unknown> => [
  asks.map(({ bucket }) => bucket.owner.subject),
  asks.map(({ bucket }) => bucket.owner.resource),
  asks.map(({ bucket }) => BigInt(bucket.limit)),
  asks.map(({ order }) => BigInt(order.need)),
  asks.map(({ order }) => BigInt(order.ahead)),
  asks.map(({ order }) => BigInt(order.returned)),
  BigInt(nowMillis)
]

/** The statements of these buckets: `serve` answers what is asked next, and `giveBack` is the last of them. */
const makeLeases = Effect.fnUntraced(function* (buckets: RateBuckets, queue: Queue.Dequeue<RateBucket>) {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()

  const lease = (
    asks: ReadonlyArray<Ask>
  ): Effect.Effect<ReadonlyArray<LeaseRow>, SqlError.SqlError | Cause.TimeoutError> =>
    Effect.timeout(sql.unsafe<LeaseRow>(leaseStatement, parametersOf(asks, now())), statementTimeout)

  const fail = Effect.fnUntraced(function* (asks: ReadonlyArray<Ask>, cause: Cause.Cause<unknown>) {
    for (const { bucket, order } of asks) bucket.keepDebt(order)
    if (!buckets.isolation.isAlone) {
      yield* Effect.annotateLogs(
        Effect.logWarning("The database does not answer; this gateway counts rate limits for itself"),
        { cause: describeCause(cause) }
      )
    }
    buckets.isolation.isAlone = true
    buckets.wakeAll(now())
    yield* Effect.sleep(retryDelay)
    for (const { bucket } of asks) {
      bucket.isAsked = false
      buckets.ask(bucket)
    }
  })

  const succeed = Effect.fnUntraced(function* (asks: ReadonlyArray<Ask>, rows: ReadonlyArray<LeaseRow>) {
    if (buckets.isolation.isAlone) yield* Effect.logInfo("The database answers; rate limits are shared again")
    buckets.isolation.isAlone = false
    const answers = new Map(rows.map((row) => [`${row.resource} ${row.subject_id}`, row]))
    for (const { bucket, order } of asks) {
      const row = answers.get(`${bucket.owner.resource} ${bucket.owner.subject}`)
      if (row !== undefined) bucket.receive(order, { granted: row.granted, left: row.units }, now())
      bucket.isAsked = false
      bucket.wake(now())
      if (bucket.hasTooMuch(now())) buckets.ask(bucket)
    }
  })

  const serve = Effect.gen(function* () {
    const asked = yield* Queue.takeBetween(queue, 1, maxOrders)
    const asks = asked.map((bucket) => ({ bucket, order: bucket.order(now()) }))
    const exit = yield* Effect.exit(lease(asks))
    if (Exit.isSuccess(exit)) return yield* succeed(asks, exit.value)
    return yield* Cause.hasInterruptsOnly(exit.cause) ? Effect.failCause(exit.cause) : fail(asks, exit.cause)
  })

  const giveBack = Effect.suspend(() => {
    const asks = buckets.all.map((bucket) => ({ bucket, order: bucket.lastOrder() }))
    const owed = asks.filter(({ order }) => order.returned !== 0)
    return owed.length === 0 ? Effect.void : lease(owed)
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.annotateLogs(
        Effect.logWarning("Leased parts of rate limits could not be given back; they will be refilled"),
        { cause: describeCause(cause) }
      )
    )
  )

  return { serve, giveBack }
})

/** Shares these buckets with the other gateways until the scope closes; then gives back what was leased. */
export const shareBuckets = Effect.fnUntraced(function* (buckets: RateBuckets) {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const queue = yield* Queue.unbounded<RateBucket>()
  const { giveBack, serve } = yield* makeLeases(buckets, queue)
  buckets.share((bucket) => void Queue.offerUnsafe(queue, bucket))
  const worker = yield* Effect.forkScoped(Effect.forever(serve))
  yield* repeatInBackground({
    run: Effect.sync(() => buckets.askForStale(clock.currentTimeMillisUnsafe())),
    every: returnInterval,
    failureMessage: "Unused parts of rate limits could not be given back"
  })
  yield* repeatInBackground({
    run: Effect.suspend(() =>
      sql.unsafe(cleaningStatement, [BigInt(clock.currentTimeMillisUnsafe() - fullAfterMillis)])
    ),
    every: cleaningInterval,
    failureMessage: "Full rate limits could not be deleted"
  })
  yield* Effect.addFinalizer(() => Effect.andThen(Fiber.interrupt(worker), giveBack))
})
