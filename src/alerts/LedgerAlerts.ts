/**
 * Alerts when the ledger disagrees with itself, and when a charge was set aside because the database rejected it.
 *
 * The sums of all entries are a scan of the journal, which one gateway at a time makes, and the longer it takes the
 * rarer. Holds that outlived their gateway are not looked for: they are there until the next sweep, which is no fault.
 */
import { Duration, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"

import type { AlertType } from "../domain/AlertType.ts"
import type { JsonObject } from "../domain/JsonObject.ts"
import { toUsd } from "../domain/Money.ts"
import { checkAccounts } from "../ledger/LedgerChecks.ts"
import { checkRejectedCharges } from "../ledger/RejectedCharges.ts"
import { Alerts } from "./Alerts.ts"
import { ifDue } from "./SharedCheck.ts"

const driftSchedule = { name: "ledger.drift", every: Duration.minutes(10) }
const rejectedSchedule = { name: "ledger.charge_rejected", every: Duration.seconds(50) }

interface Fault {
  readonly subject: string
  readonly data: JsonObject
}

/** Alerts the faults that are new, and forgets those that are gone if `faults` are all there are. */
const alertFaults = Effect.fnUntraced(function* (
  kind: AlertType,
  { areAll, faults }: { readonly faults: ReadonlyArray<Fault>; readonly areAll: boolean }
) {
  const sql = yield* SqlClient.SqlClient
  const alerts = yield* Alerts
  const known = yield* sql<{ readonly subject: string }>`SELECT subject FROM alert_condition WHERE kind = ${kind}`
  const current = new Set(faults.map(({ subject }) => subject))
  const gone = areAll ? known.filter(({ subject }) => !current.has(subject)) : []
  for (const { subject } of gone) yield* alerts.end({ kind, subject }, Option.none())
  for (const { data, subject } of faults) yield* alerts.raise({ kind, subject }, { type: kind, data })
})

/** An account that is not the sum of its entries, or whose held part is not the sum of its holds. */
export const checkDrift = ifDue(
  driftSchedule,
  Effect.gen(function* () {
    const { failed, rows } = yield* checkAccounts
    yield* alertFaults("ledger.drift", {
      areAll: failed === rows.length,
      faults: rows.map((row) => ({
        subject: row.organization,
        data: {
          organization_id: row.organization,
          balance_usd: toUsd(row.balance),
          held_usd: toUsd(row.held),
          entries_usd: toUsd(row.entries),
          holds_usd: toUsd(row.holds)
        }
      }))
    })
  })
).pipe(Effect.withSpan("LedgerAlerts.checkDrift"))

/** A charge that was set aside and is not booked. */
export const checkChargesSetAside = ifDue(
  rejectedSchedule,
  Effect.gen(function* () {
    const { failed, rows } = yield* checkRejectedCharges
    yield* alertFaults("ledger.charge_rejected", {
      areAll: failed === rows.length,
      faults: rows.map(({ amount, organization, reason, request }) => ({
        subject: `${organization} ${request}`,
        data: { request_id: request, organization_id: organization, amount_usd: toUsd(amount), reason }
      }))
    })
  })
).pipe(Effect.withSpan("LedgerAlerts.checkChargesSetAside"))
