/**
 * Alerts organizations whose credit runs low: once when what they have falls below their threshold, and again only
 * after it was at the threshold or above. What is held counts as theirs, so that a busy minute alerts nobody.
 */
import { Duration, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"

import { organizationId } from "../domain/Ids.ts"
import { type Picodollars, picodollars, toUsd } from "../domain/Money.ts"
import { Alerts } from "./Alerts.ts"
import { ifDue } from "./SharedCheck.ts"

export interface LowBalanceOptions {
  /** The threshold of an organization that has none of its own. */
  readonly lowBalance: Picodollars
}

/** Less than the time between two looks, so that every look finds it due. */
const schedule = { name: "balance.low", every: Duration.seconds(50) }
/** Of one look; the rest is found by the next. */
const maxAlerts = 200

interface LowRow {
  readonly organization_id: string
  readonly name: string
  /** Balance and held together may be more than a BIGINT. */
  readonly has: string
  readonly threshold: bigint
}

export const checkLowBalances = Effect.fn("LowBalances.check")(function* ({ lowBalance }: LowBalanceOptions) {
  const sql = yield* SqlClient.SqlClient
  const alerts = yield* Alerts

  const recovered = sql<{ readonly subject: string }>`
    SELECT subject FROM alert_condition WHERE kind = 'balance.low' AND NOT EXISTS (
      SELECT 1 FROM credit_account JOIN organization ON organization.id = organization_id
      WHERE organization_id = subject::uuid AND closed_at IS NULL
        AND balance::numeric + held < coalesce(low_balance, ${lowBalance}::bigint)
    )`
  const fallen = sql<LowRow>`
    SELECT organization_id, name, (balance::numeric + held)::text AS has,
      coalesce(low_balance, ${lowBalance}::bigint) AS threshold
    FROM credit_account JOIN organization ON organization.id = organization_id
    WHERE closed_at IS NULL AND balance::numeric + held < coalesce(low_balance, ${lowBalance}::bigint)
      AND NOT EXISTS (
        SELECT 1 FROM alert_condition WHERE kind = 'balance.low' AND subject = organization_id::text
      )
    ORDER BY organization_id LIMIT ${maxAlerts}`

  const check = Effect.gen(function* () {
    for (const { subject } of yield* recovered) yield* alerts.end({ kind: "balance.low", subject }, Option.none())
    for (const row of yield* fallen) {
      yield* alerts.raise(
        { kind: "balance.low", subject: row.organization_id },
        {
          type: "balance.low",
          organization: organizationId(row.organization_id),
          data: {
            organization_id: row.organization_id,
            organization_name: row.name,
            balance_usd: toUsd(picodollars(BigInt(row.has))),
            threshold_usd: toUsd(picodollars(row.threshold))
          }
        }
      )
    }
  })
  yield* ifDue(schedule, check)
})
