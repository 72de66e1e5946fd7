/**
 * Gives back holds that nobody else will end: those of dead gateways, those past their lifetime, and those that this
 * process has stored but does not know of.
 *
 * A wrong sweep does no harm to the accounts: a late charge is still booked, because a charge does not need its hold,
 * and in full, unless a hard cap cuts it to what is available. In the meantime the credit was available to others.
 */
import { Duration, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { organizationId, requestId } from "../domain/Ids.ts"
import { repeatInBackground } from "../observability/BackgroundTask.ts"
import { leaseLifetime, ownerIsAlive } from "./Lease.ts"
import { holdLifetime, lockAccounts, releasedChanges, releaseHolds, writeAccounts } from "./MoneySql.ts"
import type { PendingWrites } from "./PendingWrites.ts"

const sweepInterval = Duration.seconds(10)
const reconcileInterval = Duration.minutes(1)
/** Holds to give back with one statement. */
const sweepBatch = 1_000
/** A younger hold may have been stored before its answer arrived here. A PostgreSQL interval. */
const reconcileAge = "60 seconds"
/** The advisory lock under which one gateway sweeps at a time. Any number that no other lock uses. */
const sweepLock = 7_015_001

/*
 * One batch, as one statement. `MoneySql` describes `account`, `locked`, `released` and `written`. A hold that was
 * settled while this statement waited for the accounts is no longer there, so it is not given back.
 */
const sweepStatement = `
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(${sweepLock}) AS mine
), stale AS MATERIALIZED (
  SELECT id, organization_id FROM credit_hold
  WHERE (SELECT mine FROM turn) AND (
    expires_at < now() OR NOT ${ownerIsAlive}
  )
  LIMIT ${sweepBatch}
), ${lockAccounts("IN (SELECT organization_id FROM stale)")}, ${releaseHolds("IN (SELECT id FROM stale)")},
${writeAccounts([releasedChanges])}
SELECT (SELECT count(*) FROM released)::int AS swept`

/*
 * What is held of budgets for holds that are gone: those that were swept, and those that were ended by a version of the
 * gateway that knows no budgets. A budget is locked before it is read, and no account is locked after it.
 */
const budgetSweepStatement = `
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(${sweepLock}) AS mine
), stray AS MATERIALIZED (
  SELECT request_id, budget_id FROM budget_hold
  WHERE (SELECT mine FROM turn) AND NOT EXISTS (SELECT FROM credit_hold WHERE credit_hold.id = budget_hold.request_id)
  LIMIT ${sweepBatch}
), budget_row AS MATERIALIZED (
  SELECT id, period_start, held FROM budget WHERE id IN (SELECT budget_id FROM stray) ORDER BY id FOR NO KEY UPDATE
), released AS (
  DELETE FROM budget_hold
  WHERE (request_id, budget_id) IN (SELECT request_id, budget_id FROM stray) AND (SELECT count(*) FROM budget_row) > 0
  RETURNING budget_id, period_start, amount
), written AS (
  UPDATE budget SET held = budget_row.held - total.amount
  FROM budget_row JOIN (
    SELECT budget_id, period_start, sum(amount)::bigint AS amount FROM released GROUP BY budget_id, period_start
  ) AS total ON total.budget_id = budget_row.id AND total.period_start = budget_row.period_start
  WHERE budget.id = budget_row.id
)
SELECT (SELECT count(*) FROM released)::int AS swept`

/** Runs a statement that sweeps one batch until there is no more of it. */
const sweepAll = Effect.fnUntraced(function* (statement: string) {
  const sql = yield* SqlClient.SqlClient
  let total = 0
  for (let swept = sweepBatch; swept === sweepBatch; total += swept) {
    const [row] = yield* sql.unsafe<{ readonly swept: number }>(statement)
    swept = row?.swept ?? 0
  }
  return total
})

/** Sweeps until nothing is left, unless another gateway is sweeping. Returns how many holds were given back. */
export const sweep: Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const total = yield* sweepAll(sweepStatement)
  yield* sweepAll(budgetSweepStatement)
  // A dead gateway without holds needs no lease; a gateway without a lease counts as dead anyway.
  yield* sql.unsafe(`DELETE FROM gateway_lease WHERE heartbeat_at < now() - interval '${leaseLifetime}'`)
  if (total > 0)
    yield* Effect.logWarning("Holds that no gateway would have ended were given back").pipe(
      Effect.annotateLogs({ holds: total })
    )
  return total
})

/** Refunds what is stored under this gateway's id but unknown to it, because the answer to the hold was lost. */
const reconcile = Effect.fnUntraced(function* (gateway: string, writes: PendingWrites) {
  const sql = yield* SqlClient.SqlClient
  const stored = yield* sql.unsafe<{ readonly id: string; readonly organization_id: string }>(
    `SELECT id, organization_id FROM credit_hold
    WHERE gateway_id = $1::uuid AND expires_at < now() + interval '${holdLifetime}' - interval '${reconcileAge}'`,
    [gateway]
  )
  const unknown = stored.filter((row) => !writes.has(requestId(row.id)))
  for (const row of unknown) {
    writes.settle({ id: requestId(row.id), organization: organizationId(row.organization_id), charge: undefined })
  }
  if (unknown.length > 0)
    yield* Effect.logWarning("Holds unknown to their gateway are refunded").pipe(
      Effect.annotateLogs({ holds: unknown.length })
    )
})

/** Sweeps and reconciles at their intervals until the scope closes. */
export const runSweeper = Effect.fnUntraced(function* (gateway: string, writes: PendingWrites) {
  yield* repeatInBackground({
    run: sweep,
    every: sweepInterval,
    failureMessage: "The sweep of holds failed"
  })
  yield* repeatInBackground({
    run: reconcile(gateway, writes),
    every: reconcileInterval,
    failureMessage: "The refund of unknown holds failed"
  })
})
