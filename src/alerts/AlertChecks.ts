/**
 * Looks once a minute for what should be alerted, off the path of requests. The rule: what no webhook wants is not
 * looked for, so that without any webhook this is one short query.
 */
import { Duration, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { type AlertType, alertTypes } from "../domain/AlertType.ts"
import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { describeCause } from "../observability/ErrorDescription.ts"
import type { Alerts } from "./Alerts.ts"
import { checkBudgetThresholds } from "./BudgetThresholds.ts"
import { checkChargesSetAside, checkDrift } from "./LedgerAlerts.ts"
import { checkLowBalances, type LowBalanceOptions } from "./LowBalances.ts"
import { incidentAlerts, type IncidentOptions, makeProviderIncidents } from "./ProviderIncidents.ts"

export type AlertCheckOptions = LowBalanceOptions & IncidentOptions

const interval = Duration.minutes(1)

/** The events that somebody gets. */
const wantedTypes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly type: AlertType }>`
    SELECT DISTINCT unnest(coalesce(events, ${alertTypes}::text[])) AS type FROM webhook WHERE disabled_at IS NULL`
  return new Set(rows.map(({ type }) => type))
})

interface Check<R> {
  readonly types: ReadonlyArray<AlertType>
  readonly run: Effect.Effect<void, SqlError.SqlError, R>
}

/** Looks once for all that is wanted. One check that fails keeps no other from being made. */
export const checkForAlerts = Effect.fn("AlertChecks.check")(function* (
  options: LowBalanceOptions,
  incidents: Effect.Effect<void, SqlError.SqlError, Alerts | SqlClient.SqlClient>
) {
  const wanted = yield* wantedTypes
  const checks = [
    { types: incidentAlerts, run: incidents },
    { types: ["balance.low"], run: checkLowBalances(options) },
    { types: ["budget.threshold"], run: checkBudgetThresholds },
    { types: ["ledger.drift"], run: checkDrift },
    { types: ["ledger.charge_rejected"], run: checkChargesSetAside }
  ] satisfies ReadonlyArray<Check<unknown>>
  yield* Effect.forEach(
    checks.filter(({ types }) => types.some((type) => wanted.has(type as AlertType))),
    ({ run, types }) =>
      Effect.catchCause(run, (cause) =>
        Effect.logWarning("A check for alerts failed").pipe(
          Effect.annotateLogs({ alerts: types.join(" "), cause: describeCause(cause) })
        )
      ),
    { discard: true }
  )
})

/** Looks as long as the scope is open. */
export const alertChecksLayer = (options: AlertCheckOptions) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const incidents = yield* makeProviderIncidents(options)
      yield* repeatInBackground({
        run: checkForAlerts(options, incidents),
        every: interval,
        failureMessage: "Nothing could be looked for that should be alerted"
      })
    })
  )
