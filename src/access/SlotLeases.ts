/**
 * Leases of slots from the limits of concurrent requests that all gateways share, in the table `request_slot`. All that
 * this process asks for at a time is one statement, outside of any request.
 *
 * The row of a limit is locked while an order is answered, so what is lent in all never exceeds the limit. Leases end
 * by the clock of the database. A gateway counts its own lease from before it asked, so it ends no later.
 */
import { Cause, Clock, Duration, Effect, Exit, Fiber, Queue } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { describeCause } from "../observability/ErrorDescription.ts"
import { slotLeaseMillis, type SlotOrder, type SlotPool } from "./SlotPool.ts"
import type { SlotPools } from "./SlotPools.ts"

/** Orders in one statement. */
const maxOrders = 1_000
/** How often a gateway says what it uses, and learns whether others need what it has. */
const renewalInterval = Duration.seconds(1)
/** How soon it asks again while requests wait. */
const waitingInterval = Duration.millis(50)
const statementTimeout = Duration.seconds(5)
const retryDelay = Duration.seconds(1)
const cleaningInterval = Duration.minutes(10)

interface Ask {
  readonly pool: SlotPool
  readonly order: SlotOrder
}

interface LentRow {
  readonly subject_id: string
  readonly slots: number
  readonly is_shared: boolean
  readonly is_kept_elsewhere: boolean
}

const nowInMillis = "(extract(epoch FROM now()) * 1000)::bigint"

/** What this gateway is lent if the others have `taken`. */
const holder = (taken: string): string => `
  jsonb_build_object($6::text, jsonb_build_object(
    'slots', greatest(used, least(wanted + CASE WHEN ahead THEN greatest(0, most - ${taken} - wanted) / 2 ELSE 0 END,
      most - ${taken})),
    'until', ${nowInMillis} + ${slotLeaseMillis}, 'gives_back', gives_back, 'number', $7::bigint
  ))`

/* The rows are locked in order. A statement that arrives after a later one of the same gateway changes nothing. */
const lendingStatement = `
WITH asked AS MATERIALIZED (
  SELECT * FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::boolean[], $8::boolean[])
    AS orders (subject_id, most, used, wanted, ahead, gives_back)
)
INSERT INTO request_slot AS lent (subject_id, holders)
SELECT subject_id, ${holder("0")} FROM asked ORDER BY subject_id
ON CONFLICT (subject_id) DO UPDATE SET (holders, changed_at) = (
  SELECT CASE WHEN (lent.holders -> $6::text ->> 'number')::bigint > $7::bigint THEN lent.holders
    ELSE others.holders || ${holder("others.slots")} END, now()
  FROM asked
  CROSS JOIN LATERAL (
    SELECT coalesce(jsonb_object_agg(key, value), '{}') AS holders, coalesce(sum((value ->> 'slots')::int), 0) AS slots
    FROM jsonb_each(lent.holders) WHERE key <> $6::text AND (value ->> 'until')::bigint > ${nowInMillis}
  ) AS others
  WHERE asked.subject_id = lent.subject_id
)
RETURNING subject_id::text, (holders -> $6::text ->> 'slots')::int AS slots,
  EXISTS (SELECT FROM jsonb_object_keys(holders) AS name WHERE name <> $6::text) AS is_shared,
  EXISTS (
    SELECT FROM jsonb_each(holders)
    WHERE key <> $6::text AND (value ->> 'slots')::int > 0 AND NOT (value ->> 'gives_back')::boolean
  ) AS is_kept_elsewhere`

const cleaningStatement = `
DELETE FROM request_slot WHERE subject_id IN (
  SELECT subject_id FROM request_slot WHERE changed_at < now() - interval '1 minute' FOR UPDATE SKIP LOCKED
)`

/** The function that sends orders, numbered, under an id of this process. */
const makeLend = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const gateway = yield* (yield* SecureRandom.SecureRandom).uuidV7()
  let number = 0

  return (asks: ReadonlyArray<Ask>) =>
    Effect.timeout(
      sql.unsafe<LentRow>(lendingStatement, [
        asks.map(({ pool }) => pool.subject),
        asks.map(({ pool }) => pool.limit),
        asks.map(({ order }) => order.used),
        asks.map(({ order }) => order.wanted),
        asks.map(({ order }) => order.ahead),
        gateway,
        ++number,
        asks.map(({ order }) => order.givesBack)
      ]),
      statementTimeout
    )
})

/** The statements of these pools: `serve` answers what is asked next, and `giveBack` is the last of them. */
const makeLeases = Effect.fnUntraced(function* (pools: SlotPools, queue: Queue.Queue<SlotPool>) {
  const lend = yield* makeLend
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const now = () => clock.currentTimeMillisUnsafe()

  const fail = Effect.fnUntraced(function* (asks: ReadonlyArray<Ask>, cause: Cause.Cause<unknown>) {
    if (!pools.isDown) {
      yield* Effect.annotateLogs(
        Effect.logWarning("The database does not answer; only slots that are lent already are used"),
        { cause: describeCause(cause) }
      )
    }
    pools.isDown = true
    pools.refuseAll()
    yield* Effect.sleep(retryDelay)
    for (const { pool } of asks) {
      pool.isAsked = false
      pools.ask(pool)
    }
  })

  const succeed = Effect.fnUntraced(function* (
    asks: ReadonlyArray<Ask>,
    rows: ReadonlyArray<LentRow>,
    sentAtMillis: number
  ) {
    if (pools.isDown) yield* Effect.logInfo("The database answers; slots are lent again")
    pools.isDown = false
    const answers = new Map(rows.map((row) => [row.subject_id, row]))
    const unsatisfied: Array<SlotPool> = []
    for (const { order, pool } of asks) {
      const row = answers.get(pool.subject)
      if (row !== undefined) {
        const answer = { slots: row.slots, isShared: row.is_shared, isKeptElsewhere: row.is_kept_elsewhere }
        pool.receive(order, answer, sentAtMillis)
      }
      pools.wake(pool, now())
      // One that is asked later stays asked, so that it is asked once.
      if (pool.waiters.size > 0 && row !== undefined && row.slots < order.wanted) unsatisfied.push(pool)
      else {
        pool.isAsked = false
        if (pool.waiters.size > 0 || pool.hasSurplus(now())) pools.ask(pool)
      }
    }
    if (unsatisfied.length > 0) yield* Effect.forkIn(askLater(queue, unsatisfied), scope)
  })

  const serve = Effect.gen(function* () {
    const asked = yield* Queue.takeBetween(queue, 1, maxOrders)
    const sentAtMillis = now()
    const asks = asked.map((pool) => ({ pool, order: pool.order(sentAtMillis) }))
    const exit = yield* Effect.exit(lend(asks))
    if (Exit.isSuccess(exit)) return yield* succeed(asks, exit.value, sentAtMillis)
    return yield* Cause.hasInterruptsOnly(exit.cause) ? Effect.failCause(exit.cause) : fail(asks, exit.cause)
  })

  const giveBack = Effect.suspend(() => {
    const asks = pools.all.filter((pool) => pool.isActive).map((pool) => ({ pool, order: pool.lastOrder() }))
    return asks.length === 0 ? Effect.void : lend(asks)
  })

  return { serve, giveBack: Effect.catchCause(giveBack, logLost) }
})

const askLater = (queue: Queue.Queue<SlotPool>, asked: ReadonlyArray<SlotPool>) =>
  Effect.andThen(
    Effect.sleep(waitingInterval),
    Effect.sync(() => asked.forEach((pool) => Queue.offerUnsafe(queue, pool)))
  )

const logLost = (cause: Cause.Cause<unknown>) =>
  Effect.annotateLogs(Effect.logWarning("Slots could not be given back; their lease will end"), {
    cause: describeCause(cause)
  })

/** Shares the pools with the other gateways until the scope closes; then gives back what was lent. */
export const shareSlots = Effect.fnUntraced(function* (pools: SlotPools) {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const queue = yield* Queue.unbounded<SlotPool>()
  const { giveBack, serve } = yield* makeLeases(pools, queue)
  pools.share((pool) => void Queue.offerUnsafe(queue, pool))
  const worker = yield* Effect.forkScoped(Effect.forever(serve))
  yield* repeatInBackground({
    run: Effect.sync(() => pools.askForActive(clock.currentTimeMillisUnsafe())),
    every: renewalInterval,
    failureMessage: "The leases of concurrent requests could not be made longer"
  })
  yield* repeatInBackground({
    run: Effect.suspend(() => sql.unsafe(cleaningStatement)),
    every: cleaningInterval,
    failureMessage: "Limits of concurrent requests that nobody uses could not be deleted"
  })
  yield* Effect.addFinalizer(() => Effect.andThen(Fiber.interrupt(worker), giveBack))
})
