/**
 * Gives back holds that nobody will end: those of dead gateways, those past their lifetime, and those this process has
 * stored but no longer knows of.
 *
 * A wrong sweep does no harm to the books: a late charge is still booked in full, because a charge does not need its
 * hold. Only the credit was free for others meanwhile.
 */
import { Duration, Effect, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

import { organizationId, requestId } from "../domain/Ids.ts"
import type { Backlog } from "./Backlog.ts"
import { holdLifetime } from "./BatchStatement.ts"
import { leaseLifetime } from "./Lease.ts"

const sweepInterval = Duration.seconds(10)
const reconcileInterval = Duration.minutes(1)
/** Holds in one statement. */
const sweepBatch = 1_000
/** A younger hold may have been stored before its answer arrived here. As PostgreSQL writes it. */
const reconcileAge = "60 seconds"
/** Names the lock under which one gateway sweeps at a time. Any number that nothing else uses. */
const sweepLock = 7_015_001

/*
 * One batch, as one statement. Accounts are locked first and in order, as by `BatchStatement`, and written in absolute
 * numbers for the reason given there. A hold that was settled while this waited is gone, so it is not given back.
 */
const sweepStatement = `
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(${sweepLock}) AS mine
), stale AS MATERIALIZED (
  SELECT id, organization_id FROM credit_hold
  WHERE (SELECT mine FROM turn) AND (
    expires_at < now() OR NOT EXISTS (
      SELECT 1 FROM gateway_lease
      WHERE gateway_lease.id = credit_hold.gateway_id AND heartbeat_at > now() - interval '${leaseLifetime}'
    )
  )
  LIMIT ${sweepBatch}
), account AS MATERIALIZED (
  SELECT organization_id, balance, held FROM credit_account
  WHERE organization_id IN (SELECT organization_id FROM stale)
  ORDER BY organization_id
  FOR NO KEY UPDATE
), locked AS MATERIALIZED (
  SELECT count(*) AS accounts FROM account
), released AS (
  DELETE FROM credit_hold
  WHERE id IN (SELECT id FROM stale) AND (SELECT accounts FROM locked) > 0
  RETURNING organization_id, amount
), written AS (
  UPDATE credit_account
  SET balance = total.balance, held = total.held
  FROM (
    SELECT organization_id, sum(balance)::bigint AS balance, sum(held)::bigint AS held
    FROM (
      SELECT organization_id, balance, held FROM account
      UNION ALL
      SELECT organization_id, amount, -amount FROM released
    ) AS parts
    GROUP BY organization_id
    HAVING count(*) > 1
  ) AS total
  WHERE credit_account.organization_id = total.organization_id
)
SELECT (SELECT count(*) FROM released)::int AS swept`

/** Sweeps until nothing is left, unless another gateway is at it. Answers how many holds were given back. */
export const sweep: Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let total = 0
  for (let swept = sweepBatch; swept === sweepBatch; total += swept) {
    const [row] = yield* sql.unsafe<{ readonly swept: number }>(sweepStatement)
    swept = row?.swept ?? 0
  }
  // A dead gateway without holds needs no lease; one without a lease counts as dead all the same.
  yield* sql.unsafe(`DELETE FROM gateway_lease WHERE heartbeat_at < now() - interval '${leaseLifetime}'`)
  if (total > 0) yield* Effect.logWarning("Holds that nobody ended were given back", { holds: total })
  return total
})

/** Refunds what is stored in this gateway's name but unknown to it: the answer to a hold was lost on the way. */
export const reconcile = Effect.fnUntraced(function* (gateway: string, backlog: Backlog) {
  const sql = yield* SqlClient.SqlClient
  const stored = yield* sql.unsafe<{ readonly id: string; readonly organization_id: string }>(
    `SELECT id, organization_id FROM credit_hold
    WHERE gateway_id = $1::uuid AND expires_at < now() + interval '${holdLifetime}' - interval '${reconcileAge}'`,
    [gateway]
  )
  const unknown = stored.filter((row) => !backlog.knows(requestId(row.id)))
  for (const row of unknown) {
    const organization = organizationId(row.organization_id)
    backlog.settle({ id: requestId(row.id), organization, charge: undefined })
  }
  if (unknown.length > 0) yield* Effect.logWarning("Forgotten holds are refunded", { holds: unknown.length })
})

/** Runs both on their schedules until the scope closes. */
export const runSweeper = Effect.fnUntraced(function* (gateway: string, backlog: Backlog) {
  const every = <E>(interval: Duration.Duration, task: Effect.Effect<unknown, E, SqlClient.SqlClient>) =>
    task.pipe(
      Effect.catchCause((cause) => Effect.logWarning("A sweep of the ledger failed", cause)),
      Effect.schedule(Schedule.spaced(interval)),
      Effect.forkScoped
    )
  yield* every(sweepInterval, sweep)
  yield* every(reconcileInterval, reconcile(gateway, backlog))
})
