/**
 * Adds up the usage of past days, from hours to fewer and larger sums, which reports then read. Every replica does it,
 * one day at a time, while all of them count. The rule: a day that is counted in afterwards is added up again, and
 * until then it is read by hours.
 */
import { Clock, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"

import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { timestamp } from "../sql/Timestamp.ts"

/** How long after its end a day is added up, because most that are still counted in it have ended by then. */
const graceMillis = Duration.toMillis("2 hours")
/** The most days of one run. The latest come first, because reports are mostly of them. */
const maxDays = 400
const interval = "1 hour"

/** For how long the mark of a day waits for those who count, while others queue behind it. */
const lockTimeout = "2s"

/** The days that are over and not added up, also those on which nothing was used, so that there are no gaps. */
const daysToSum = Effect.fnUntraced(function* (nowMillis: number) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ readonly day: Date }>`
    SELECT past.day FROM generate_series(
      date_trunc('day', (SELECT min(hour) FROM usage_key_hour), 'UTC'),
      ${timestamp(nowMillis - graceMillis)} - interval '24 hours', '24 hours'
    ) AS past (day)
    WHERE NOT EXISTS (SELECT FROM usage_summed_day WHERE day = past.day AND is_summed)
    ORDER BY past.day DESC LIMIT ${maxDays}`
})

/** Marks the day first, in a transaction of its own: from then on, whoever counts in it takes the mark away. */
const sumDay = Effect.fnUntraced(function* (day: Date) {
  const sql = yield* SqlClient.SqlClient
  const starts = timestamp(day.getTime())
  yield* sql.withTransaction(
    Effect.andThen(sql.unsafe(`SET LOCAL lock_timeout = '${lockTimeout}'`), sql`SELECT mark_usage_day(${starts})`)
  )
  yield* sql`SELECT sum_usage_day(${starts})`
})

/** Adds up all days that are over at this time, as far as that was not done. */
export const sumUsageDays = Effect.fn("Usage.sumDays")(function* (nowMillis: number) {
  for (const { day } of yield* daysToSum(nowMillis)) yield* sumDay(day)
})

/** Adds up what is over, until the scope closes. */
export const usageDaysLayer = Layer.effectDiscard(
  repeatInBackground({
    run: Effect.flatMap(Clock.currentTimeMillis, sumUsageDays),
    every: interval,
    startAtOnce: true,
    failureMessage: "The usage of past days could not be added up"
  })
)
