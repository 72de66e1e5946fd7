/**
 * The partitions of the request log, one for each day in UTC: they are made ahead, and dropped once they are older than
 * receipts are kept. Every replica does both, one at a time. The rule: a day is dropped as a whole and at once, and no
 * statement deletes single receipts of it.
 *
 * A receipt whose day has no partition is stored in the default partition. That is not meant to happen; when it has,
 * making the partition of the day moves it there.
 */
import { Clock, DateTime, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { describeCause } from "../observability/ErrorDescription.ts"

export interface LogRetention {
  /** How many days receipts are kept, beside the current one; `undefined` keeps them for good. */
  readonly requestLogDays: number | undefined
}

const dayMillis = Duration.toMillis("1 day")
/** A receipt has the day of its id, and a request may be repeated under the same id for a day. */
const daysBehind = 1
const daysAhead = 3
const upkeepInterval = Duration.hours(1)

/** For how long a change of partitions waits for the readers of the log, while others queue behind it. */
const lockTimeout = "2s"

const isoDay = (day: number): string => DateTime.formatIsoDateUtc(DateTime.makeUnsafe(day * dayMillis))

const partitionOf = (day: number): string => `logged_request_${isoDay(day).replaceAll("-", "")}`

const bound = (day: number): string => `'${isoDay(day)} 00:00:00+00'::timestamptz`

/** One replica at a time changes the partitions. */
const exclusively = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`SELECT pg_advisory_xact_lock(hashtext('tollgate.logged_request'))`
        yield* sql.unsafe(`SET LOCAL lock_timeout = '${lockTimeout}'`)
        return yield* effect
      })
    )
  )

const exists = Effect.fnUntraced(function* (day: number) {
  const sql = yield* SqlClient.SqlClient
  const name = partitionOf(day)
  const rows = yield* sql`SELECT 1 AS found WHERE to_regclass(${name}) IS NOT NULL`
  return rows.length > 0
})

/** Attaches a table that is made first: unlike making the partition itself, this lets others use the log meanwhile. */
const makePartition = Effect.fnUntraced(function* (day: number) {
  const sql = yield* SqlClient.SqlClient
  if (yield* exists(day)) return
  const name = partitionOf(day)
  const [from, to] = [bound(day), bound(day + 1)]
  yield* sql.unsafe(`CREATE TABLE ${name} (LIKE logged_request INCLUDING ALL)`)
  yield* sql.unsafe("LOCK TABLE logged_request_default IN ACCESS EXCLUSIVE MODE")
  yield* sql.unsafe(`
    WITH moved AS (DELETE FROM logged_request_default WHERE at >= ${from} AND at < ${to} RETURNING *)
    INSERT INTO ${name} SELECT * FROM moved`)
  yield* sql.unsafe(`ALTER TABLE logged_request ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${to})`)
})

/** Receipts are not older than this, so what seems to be is an id that was not made by a gateway. */
const oldestDays = 10 * 366

/** Makes the partition of a day, given in days since 1970, unless it is there. Days that cannot be get none. */
export const requirePartition = Effect.fn("LogPartitions.require")(function* (day: number) {
  const today = dayOf(yield* Clock.currentTimeMillis)
  if (day > today + daysAhead || day < today - oldestDays) return
  if (!(yield* exists(day))) yield* exclusively(makePartition(day))
})

/** The day of a time in milliseconds since 1970, in UTC, as days since 1970. */
export const dayOf = (millis: number): number => Math.floor(millis / dayMillis)

/** Drops the partitions of all days before `first`. */
const dropBefore = Effect.fn("LogPartitions.dropBefore")(function* (first: number) {
  const sql = yield* SqlClient.SqlClient
  const partitions = yield* sql<{ readonly name: string }>`
    SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
    WHERE inhparent = 'logged_request'::regclass AND relname ~ '^logged_request_\\d{8}$'
      AND relname < ${partitionOf(first)}
    ORDER BY relname`
  for (const { name } of partitions) yield* exclusively(sql.unsafe(`DROP TABLE IF EXISTS ${name}`))
})

/** Makes the partitions of the days around now, and drops those that are too old. */
export const keepPartitions = Effect.fn("LogPartitions.keep")(function* ({ requestLogDays }: LogRetention) {
  const today = dayOf(yield* Clock.currentTimeMillis)
  for (let day = today - daysBehind; day <= today + daysAhead; day++) yield* requirePartition(day)
  if (requestLogDays !== undefined) yield* dropBefore(today - requestLogDays)
})

/** Keeps the partitions from before the first request until the scope closes. */
export const logPartitionsLayer = (retention: LogRetention) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const failureMessage = "The partitions of the request log could not be kept"
      const keep = keepPartitions(retention)
      yield* Effect.catchCause(keep, (cause) =>
        Effect.annotateLogs(Effect.logWarning(failureMessage), { cause: describeCause(cause) })
      )
      yield* repeatInBackground({ run: keep, every: upkeepInterval, failureMessage })
    })
  )
