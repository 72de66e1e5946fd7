/**
 * The statement that writes holds and settlements, any number of them in one round trip and one commit.
 *
 * The rule: its outcome is that of the same writes made one by one, settlements first, then holds in order. It may be
 * sent again: a charge that is booked, a hold that is gone and a hold that is there already are left as they are.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

import type { OrganizationId, RequestId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import { sqlStateOf } from "../sql/SqlState.ts"

export interface HoldRow {
  readonly id: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
}

export interface SettlementRow {
  readonly id: RequestId
  readonly organization: OrganizationId
  /** `undefined` is a refund: the hold is released and nothing is booked. */
  readonly charge: Picodollars | undefined
}

/** How long a hold may stay open, as PostgreSQL writes it: longer than any request is allowed to last. */
export const holdLifetime = "1 hour"

/*
 * Parameters: $1 to $3 settlements (id, organization, charge or NULL), $4 to $6 holds (id, organization, amount),
 * $7 the gateway.
 *
 * account   Locks the accounts of the batch, always in the same order, so that batches wait for each other but never
 *           in a circle. What it returns is the newest committed version, whatever the snapshot of the statement says.
 * locked    Counts them, for the writes below to depend on: without it they could run before the locks are held.
 * charged   Books each charge unless its id is booked already. Only a row that this statement inserted is returned, so
 *           only it moves money.
 * released  Deletes the holds that are still there, and so gives back each hold at most once.
 * returned  What the settlements change per organization: a charge takes from the balance, a release gives back.
 * turn      For every hold the balance left `before` it: the account, everything returned, and all earlier holds of
 *           this batch. Position 0 is what an organization starts from. Amounts are not negative, so `before` only
 *           falls, and those granted are the first ones.
 * taken     Stores the holds that found credit. An organization without an account has no `before`, so it gets none.
 * written   Writes each account once, in absolute numbers computed from the locked row. `balance = balance - x` would
 *           have PostgreSQL check the constraints against the version in the snapshot, which may be an old one.
 *
 * Tables and lists are joined nowhere but in `written`: a plan is made once for batches of all sizes, and a nested loop
 * between two lists would take the square of their length.
 */
const statement = `
WITH account AS MATERIALIZED (
  SELECT organization_id, balance, held FROM credit_account
  WHERE organization_id = ANY ($2::uuid[] || $5::uuid[])
  ORDER BY organization_id
  FOR NO KEY UPDATE
), locked AS MATERIALIZED (
  SELECT count(*) AS accounts FROM account
), charged AS (
  INSERT INTO credit_entry (id, organization_id, kind, amount)
  SELECT id, organization_id, 'charge', -charge
  FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS settlement (id, organization_id, charge)
  WHERE charge IS NOT NULL AND (SELECT accounts FROM locked) > 0
  ON CONFLICT DO NOTHING
  RETURNING organization_id, amount
), released AS (
  DELETE FROM credit_hold
  WHERE id = ANY ($1::uuid[]) AND (SELECT accounts FROM locked) > 0
  RETURNING organization_id, amount
), returned AS MATERIALIZED (
  SELECT organization_id, amount AS balance, 0::bigint AS held FROM charged
  UNION ALL
  SELECT organization_id, amount, -amount FROM released
), turn AS MATERIALIZED (
  SELECT id, organization_id, amount, position,
    sum(change) OVER (
      PARTITION BY organization_id ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before
  FROM (
    SELECT NULL::uuid AS id, organization_id, 0::bigint AS amount, 0::bigint AS position, balance AS change FROM account
    UNION ALL
    SELECT NULL, organization_id, 0, 0, balance FROM returned
    UNION ALL
    SELECT id, organization_id, amount, position, -amount
    FROM unnest($4::uuid[], $5::uuid[], $6::bigint[])
      WITH ORDINALITY AS hold (id, organization_id, amount, position)
  ) AS changes
), taken AS (
  INSERT INTO credit_hold (id, organization_id, amount, gateway_id, expires_at)
  SELECT id, organization_id, amount, $7::uuid, now() + interval '${holdLifetime}'
  FROM turn
  WHERE position > 0 AND before > 0
  ORDER BY position
  ON CONFLICT DO NOTHING
  RETURNING organization_id, amount
), written AS (
  UPDATE credit_account
  SET balance = total.balance, held = total.held
  FROM (
    SELECT organization_id, sum(balance)::bigint AS balance, sum(held)::bigint AS held
    FROM (
      SELECT organization_id, balance, held FROM account
      UNION ALL
      SELECT organization_id, balance, held FROM returned
      UNION ALL
      SELECT organization_id, -amount, amount FROM taken
    ) AS parts
    GROUP BY organization_id
    HAVING count(*) > 1
  ) AS total
  WHERE credit_account.organization_id = total.organization_id
)
SELECT string_agg(position::text, ',') AS refused FROM turn
WHERE position > 0 AND NOT coalesce(before > 0, false)`

/** An array parameter as text, which the driver passes on unread. UUIDs and integers need no quotes. */
const list = (values: ReadonlyArray<string | bigint>): string => `{${values.join(",")}}`

/** Writes a batch. Answers the indexes of the holds that were refused. */
export const writeBatch = (
  sql: SqlClient.SqlClient,
  batch: {
    readonly gateway: string
    readonly settlements: ReadonlyArray<SettlementRow>
    readonly holds: ReadonlyArray<HoldRow>
  }
): Effect.Effect<ReadonlySet<number>, SqlError.SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly refused: string | null }>(statement, [
      list(batch.settlements.map((row) => row.id)),
      list(batch.settlements.map((row) => row.organization)),
      list(batch.settlements.map((row) => row.charge ?? "NULL")),
      list(batch.holds.map((row) => row.id)),
      list(batch.holds.map((row) => row.organization)),
      list(batch.holds.map((row) => row.amount)),
      batch.gateway
    ]),
    ([row]) => new Set(row?.refused?.split(",").map((position) => Number(position) - 1))
  )

/** Which of these holds are in the database. */
export const existingHolds = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<RequestId>
): Effect.Effect<ReadonlySet<string>, SqlError.SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly id: string }>("SELECT id FROM credit_hold WHERE id = ANY ($1::uuid[])", [list(ids)]),
    (rows) => new Set(rows.map((row) => row.id))
  )

/** Whether an amount left the range of BIGINT. */
export const isOutOfRange = (error: SqlError.SqlError): boolean => sqlStateOf(error) === "22003"
