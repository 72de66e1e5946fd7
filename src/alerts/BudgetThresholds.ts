/**
 * Alerts when a budget is used by 80 and by 100 per cent: once for each threshold, budget and period. A budget that is
 * past both when somebody looks alerts both. What is held does not count: it may be given back.
 */
import { Clock, DateTime, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"

import { organizationId } from "../domain/Ids.ts"
import { picodollars, toUsd } from "../domain/Money.ts"
import { timestamp } from "../sql/Timestamp.ts"
import { Alerts } from "./Alerts.ts"
import { ifDue } from "./SharedCheck.ts"

const percents = [80, 100] as const

/** Less than the time between two looks, so that every look finds it due. */
const schedule = { name: "budget.threshold", every: Duration.seconds(50) }
/** Of one look; the rest is found by the next. */
const maxAlerts = 200

interface PassedRow {
  readonly id: string
  readonly organization_id: string
  readonly organization_name: string
  readonly subject: string
  readonly subject_id: string
  readonly amount: bigint
  readonly period: string
  readonly time_zone: string
  readonly period_start: Date
  readonly renews_at: Date | null
  readonly spent: bigint
  readonly percent: number
  readonly episode: string
}

const isoTime = (date: Date): string => DateTime.formatIso(DateTime.makeUnsafe(date))

/** A condition for each threshold, whose episode is the period. */
export const checkBudgetThresholds = ifDue(
  schedule,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const alerts = yield* Alerts
    const now = timestamp(yield* Clock.currentTimeMillis)
    // Periods that are over cannot be alerted again.
    yield* sql`
      DELETE FROM alert_condition WHERE kind = 'budget.threshold' AND NOT EXISTS (
        SELECT 1 FROM budgets_at(${now}) AS budget
        WHERE removed_at IS NULL AND split_part(alert_condition.subject, ' ', 1) = budget.id::text
          AND alert_condition.episode = extract(epoch FROM budget.period_start)::text
      )`
    const passed = yield* sql<PassedRow>`
      SELECT budget.id, organization_id, organization.name AS organization_name, subject, subject_id, amount, period,
        time_zone, period_start, renews_at, spent, percent,
        extract(epoch FROM period_start)::text AS episode
      FROM budgets_at(${now}) AS budget
        JOIN organization ON organization.id = organization_id
        CROSS JOIN unnest(${percents}::integer[]) AS percent
      WHERE removed_at IS NULL AND closed_at IS NULL AND spent::numeric * 100 >= amount::numeric * percent
        AND NOT EXISTS (
          SELECT 1 FROM alert_condition
          WHERE kind = 'budget.threshold' AND alert_condition.subject = budget.id || ' ' || percent
            AND episode = extract(epoch FROM period_start)::text
        )
      ORDER BY budget.id, percent LIMIT ${maxAlerts}`
    for (const row of passed) {
      const condition = { kind: "budget.threshold", subject: `${row.id} ${row.percent}` } as const
      yield* alerts.raise(
        { ...condition, episode: row.episode },
        { type: "budget.threshold", organization: organizationId(row.organization_id), data: dataOf(row) }
      )
    }
  })
).pipe(Effect.withSpan("BudgetThresholds.check"))

const dataOf = (row: PassedRow) => ({
  budget_id: row.id,
  organization_id: row.organization_id,
  organization_name: row.organization_name,
  subject: row.subject,
  subject_id: row.subject_id,
  percent: row.percent,
  amount_usd: toUsd(picodollars(row.amount)),
  spent_usd: toUsd(picodollars(row.spent)),
  period: row.period,
  time_zone: row.time_zone,
  period_start: isoTime(row.period_start),
  renews_at: row.renews_at === null ? null : isoTime(row.renews_at)
})
