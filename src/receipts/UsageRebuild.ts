/**
 * Counts usage anew from the request log, day by day. The rule: only days whose receipts are all kept are counted anew,
 * because usage outlives the receipts that it was counted from.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"

import { sumUsageDays } from "./UsageDays.ts"

/** What was counted. */
export interface RebuiltUsage {
  readonly days: number
  readonly requests: bigint
}

/**
 * Each day is one transaction, during which gateways keep new receipts in their queues. Receipts of earlier versions
 * that are not moved yet are counted when they are.
 */
export const rebuildUsage = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const days = yield* sql<{ readonly day: string; readonly requests: bigint }>`
    SELECT (at AT TIME ZONE 'UTC')::date::text AS day, count(*) AS requests FROM logged_request GROUP BY 1 ORDER BY 1`
  for (const { day } of days) {
    yield* sql`SELECT recount_usage(${`${day} 00:00:00+00`}::timestamptz,
      ${`${day} 00:00:00+00`}::timestamptz + interval '24 hours')`
  }
  yield* sumUsageDays(yield* Clock.currentTimeMillis)
  const requests = days.reduce((sum, day) => sum + day.requests, 0n)
  return { days: days.length, requests } satisfies RebuiltUsage
}).pipe(Effect.withSpan("Usage.rebuild"))
