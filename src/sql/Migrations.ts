/**
 * Migrates the schema at start, and refuses a database whose schema this version cannot work with.
 *
 * All migrations run in one transaction, under a lock on the table of applied migrations: of several replicas that
 * start together one migrates and the others wait. The rule: a migration that has been released is never edited; a
 * mistake in it is corrected by a new migration.
 */
import { Data, Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"

import { accessMigration } from "./migrations/0001_access.ts"
import { ledgerMigration } from "./migrations/0002_ledger.ts"
import { sessionPinsMigration } from "./migrations/0003_session_pins.ts"
import { requestLogMigration } from "./migrations/0004_request_log.ts"
import { priceListMigration } from "./migrations/0005_price_list.ts"
import { recordedAnswersMigration } from "./migrations/0006_recorded_answers.ts"
import { confirmedPinsMigration } from "./migrations/0007_confirmed_pins.ts"
import { chargeFactsMigration } from "./migrations/0008_charge_facts.ts"
import { administrationMigration } from "./migrations/0009_administration.ts"
import { rejectedChargesMigration } from "./migrations/0010_rejected_charges.ts"
import { adjustedAnswersMigration } from "./migrations/0011_adjusted_answers.ts"
import { rateBucketsMigration } from "./migrations/0012_rate_buckets.ts"
import { rateLimitsMigration } from "./migrations/0013_rate_limits.ts"
import { loggedRequestsMigration } from "./migrations/0014_logged_requests.ts"
import { usageRollupsMigration } from "./migrations/0015_usage_rollups.ts"
import { budgetsMigration } from "./migrations/0016_budgets.ts"
import { providerCostMigration } from "./migrations/0017_provider_cost.ts"
import { requestSearchMigration } from "./migrations/0018_request_search.ts"
import { alertsMigration } from "./migrations/0019_alerts.ts"
import { hardCapsMigration } from "./migrations/0020_hard_caps.ts"
import { concurrentRequestsMigration } from "./migrations/0021_concurrent_requests.ts"
import { usageByHourMigration } from "./migrations/0022_usage_by_hour.ts"
import { sharedBudgetsMigration } from "./migrations/0023_shared_budgets.ts"
import { usageByDayMigration } from "./migrations/0024_usage_by_day.ts"
import { organizationAliasesMigration } from "./migrations/0025_organization_aliases.ts"

export const migrations = {
  "0001_access": accessMigration,
  "0002_ledger": ledgerMigration,
  "0003_session_pins": sessionPinsMigration,
  "0004_request_log": requestLogMigration,
  "0005_price_list": priceListMigration,
  "0006_recorded_answers": recordedAnswersMigration,
  "0007_confirmed_pins": confirmedPinsMigration,
  "0008_charge_facts": chargeFactsMigration,
  "0009_administration": administrationMigration,
  "0010_rejected_charges": rejectedChargesMigration,
  "0011_adjusted_answers": adjustedAnswersMigration,
  "0012_rate_buckets": rateBucketsMigration,
  "0013_rate_limits": rateLimitsMigration,
  "0014_logged_requests": loggedRequestsMigration,
  "0015_usage_rollups": usageRollupsMigration,
  "0016_budgets": budgetsMigration,
  "0017_provider_cost": providerCostMigration,
  "0018_request_search": requestSearchMigration,
  "0019_alerts": alertsMigration,
  "0020_hard_caps": hardCapsMigration,
  "0021_concurrent_requests": concurrentRequestsMigration,
  "0022_usage_by_hour": usageByHourMigration,
  "0023_shared_budgets": sharedBudgetsMigration,
  "0024_usage_by_day": usageByDayMigration,
  "0025_organization_aliases": organizationAliasesMigration
}

/** The tables and views that exist once all migrations are applied. */
const relations = [
  "organization",
  "project",
  "environment",
  "api_key",
  "credit_account",
  "credit_hold",
  "credit_entry",
  "credit_posting",
  "gateway_lease",
  "session_pin",
  "request_log",
  "price_list",
  "recorded_answer",
  "admin_key",
  "audit_event",
  "payment",
  "rejected_charge",
  "rate_bucket",
  "logged_request",
  "logged_request_default",
  "request_receipt",
  "usage_quarter",
  "usage_label_quarter",
  "budget",
  "budget_hold",
  "webhook",
  "alert_event",
  "webhook_delivery",
  "webhook_attempt",
  "alert_condition",
  "alert_report",
  "alert_check",
  "request_slot",
  "usage_call_hour",
  "usage_user_hour",
  "usage_key_hour",
  "usage_model_hour",
  "usage_summed_day",
  "usage_all_hour",
  "usage_call_day",
  "usage_user_day",
  "usage_all_call_day",
  "usage_all_user_day"
]

const table = "schema_migration"

/** This version cannot work with the database's schema. `message` tells the operator what to do. */
export class SchemaMismatch extends Data.TaggedError("SchemaMismatch")<{ readonly message: string }> {}

interface Applied {
  readonly migration_id: number
  readonly name: string
}

/**
 * Why the applied migrations are not the first of the known ones, in order and without a gap; `undefined` if they are.
 */
const mismatchOf = (
  applied: ReadonlyArray<Applied>,
  known: ReadonlyArray<Migrator.ResolvedMigration>
): string | undefined => {
  const names = new Map(known.map(([id, name]) => [id, name]))
  const unknown = applied.find(({ migration_id, name }) => names.get(migration_id) !== name)
  if (unknown !== undefined) {
    return (
      `The database has migration ${unknown.migration_id} (${unknown.name}), which this version does not know. ` +
      "It was written by a newer version: start that one, or restore a backup made before the upgrade."
    )
  }
  const missing = known.find(([id], index) => index < applied.length && applied[index]?.migration_id !== id)
  return missing === undefined
    ? undefined
    : `The database has later migrations but not ${missing[0]} (${missing[1]}). ` +
        `The table ${table} was changed by hand: restore a backup.`
}

/** The known migrations, after checking that they continue the applied ones. The migrator runs this under its lock. */
const checkedLoader = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const known = yield* Migrator.fromRecord(migrations)
  const applied = yield* Effect.orDie(
    sql<Applied>`SELECT migration_id, name FROM ${sql(table)} ORDER BY migration_id`.withoutTransform
  )
  const message = mismatchOf(applied, known)
  return message === undefined ? known : yield* new Migrator.MigrationError({ kind: "BadState", message })
})

const requireRelations = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const missing = yield* sql<{
    readonly name: string
  }>`SELECT name FROM unnest(${relations}::text[]) AS name WHERE to_regclass(name) IS NULL ORDER BY name`
  if (missing.length === 0) return
  const names = missing.map(({ name }) => name).join(", ")
  return yield* new SchemaMismatch({
    message: `The database has all migrations but lacks ${names}. Restore a backup, or start on an empty database.`
  })
})

/** Fails unless all migrations are applied. Changes nothing. */
export const requireMigrated = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const known = yield* Migrator.fromRecord(migrations)
  const [found] = yield* sql<{ readonly exists: boolean }>`SELECT to_regclass(${table}) IS NOT NULL AS exists`
  const applied =
    found?.exists === true
      ? yield* sql<Applied>`SELECT migration_id, name FROM ${sql(table)} ORDER BY migration_id`
      : []
  const missing = known[applied.length]
  const message =
    mismatchOf(applied, known) ??
    (missing &&
      `The database lacks migration ${missing[0]} (${missing[1]}): start a gateway of this version on it first.`)
  if (message !== undefined) return yield* new SchemaMismatch({ message })
  yield* requireRelations
}).pipe(Effect.withSpan("Migrations.requireMigrated"))

/** Applies the missing migrations and returns their names. */
export const migrate = Migrator.make({})({ loader: checkedLoader, table }).pipe(
  Effect.catchIf(
    (error) => error._tag === "MigrationError" && error.kind === "BadState",
    (error) => Effect.fail(new SchemaMismatch({ message: error.message }))
  ),
  Effect.tap(requireRelations),
  Effect.map((applied) => applied.map(([id, name]) => `${id}_${name}`)),
  Effect.withSpan("Migrations.migrate")
)
