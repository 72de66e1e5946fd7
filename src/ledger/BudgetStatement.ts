/**
 * The statement of a batch in which a request has budgets. It does what that of `BatchStatement` does, and in the same
 * step keeps the budgets: so they are as exact as the balance, with any number of gateways.
 *
 * The rules: a hold is granted where its organization and all of its budgets would grant it, one hold after the other,
 * and a hold that is refused counts nowhere. A charge counts in the period of its hold; if that was swept meanwhile, in
 * the period in which the request came, as long as it lasts. Budgets are locked after the accounts, in order.
 */
import type { ChargeParts } from "./CappedCharges.ts"
import {
  bookEntries,
  fundsOfRefusals,
  holdLifetime,
  lockAccounts,
  releasedChanges,
  releaseHolds,
  writeAccounts
} from "./MoneySql.ts"

/*
 * Parameters: $1 to $9 as in `BatchStatement`, $10 now, in milliseconds since 1970; $11 the accounts of all holds,
 * organizations and budgets; $12 the indexes in $11 of the accounts of each hold, $13 where those of each hold end; $14
 * to $16 what holds take from budgets (request, budget, amount); $17 to $19 what settlements charge to budgets
 * (request, budget, charge or NULL).
 *
 * budget_row       The budgets, locked, in their newest versions. `budget_now` is what they are in the present period.
 * budget_released  What the holds of the settlements held of them. `budget_change` adds the charges, per request.
 * budget_settled   The budgets after the settlements: what came from an earlier period does not count any more.
 * fund             What each account has, in the order of $11: NULL for a budget that is gone, and so limits nothing.
 * turn             The holds, with the index of the account that refuses each, or zero.
 * budget_taken     What the granted holds hold of budgets.
 * budget_total     The budgets as this statement leaves them; `budget_written` writes those that changed.
 *
 * As in `BatchStatement`, tables and lists are not joined, but put together and grouped. `(x IN (...)) IS TRUE` makes
 * PostgreSQL look in a hash table; without the second half it would be a join.
 */
/** Locks accounts and budgets. */
const lockedBudgets = `
WITH ${lockAccounts("= ANY ($2::uuid[] || $5::uuid[])")}, budget_row AS MATERIALIZED (
  SELECT * FROM budget
  WHERE id = ANY ($15::uuid[] || $18::uuid[]) AND (SELECT accounts FROM locked) >= 0
  ORDER BY id
  FOR NO KEY UPDATE
), budget_now AS MATERIALIZED (
  SELECT id, CASE WHEN removed_at IS NULL THEN amount END AS amount, start,
    CASE WHEN start = period_start THEN spent ELSE 0 END AS spent,
    CASE WHEN start = period_start THEN held ELSE 0 END AS held
  FROM (
    SELECT *, greatest(period_start, budget_period_start(period, time_zone, to_timestamp($10::float8 / 1000))) AS start
    FROM budget_row
  ) AS started
`

/** From what the charges change to the accounts as they are written. */
const grantedHolds = `), budget_settled AS MATERIALIZED (
  SELECT budget_id AS id, start, max(amount) AS amount, count(request_id) AS changes,
    sum(spent + CASE WHEN coalesce(since = start, request_time(request_id) >= start) THEN coalesce(charge, 0)
      ELSE 0 END) AS spent,
    sum(held - CASE WHEN since = start THEN released ELSE 0 END) AS held
  FROM (
    SELECT *, max(started) OVER (PARTITION BY budget_id) AS start
    FROM (
      SELECT id AS budget_id, NULL::uuid AS request_id, amount, spent, held, NULL::bigint AS charge,
        NULL::timestamptz AS since, NULL::bigint AS released, start AS started
      FROM budget_now
      UNION ALL
      SELECT budget_id, request_id, NULL, 0, 0, charge, since, released, NULL FROM budget_change
    ) AS parts
  ) AS started_parts
  WHERE start IS NOT NULL
  GROUP BY budget_id, start
), fund AS MATERIALIZED (
  SELECT id, max(place) AS place, sum(available) AS available, sum(settled) AS settled
  FROM (
    SELECT id, place, NULL::numeric AS available, NULL::numeric AS settled
    FROM unnest($11::uuid[]) WITH ORDINALITY AS listed (id, place)
    UNION ALL
    SELECT organization_id, NULL, balance, balance + held::numeric FROM account
    UNION ALL
    SELECT organization_id, NULL, balance, balance + held::numeric FROM returned
    UNION ALL
    SELECT id, NULL, amount - spent - held, amount - spent FROM budget_settled
  ) AS parts
  GROUP BY id
  HAVING max(place) IS NOT NULL
), turn AS MATERIALIZED (
  SELECT id, organization_id, amount, position, refused_by
  FROM unnest($4::uuid[], $5::uuid[], $6::bigint[], (SELECT holds_refused_by(
      (SELECT array_agg(available ORDER BY place) FROM fund), (SELECT array_agg(settled ORDER BY place) FROM fund),
      $6::bigint[], $9::bigint[], $12::integer[], $13::integer[]
    ))) WITH ORDINALITY AS hold (id, organization_id, amount, refused_by, position)
), taken AS (
  INSERT INTO credit_hold (id, organization_id, amount, gateway_id, expires_at)
  SELECT id, organization_id, amount, $7::uuid, now() + interval '${holdLifetime}'
  FROM turn
  WHERE refused_by = 0
  ORDER BY position
  ON CONFLICT DO NOTHING
  RETURNING id, organization_id, amount
), budget_taken AS (
  INSERT INTO budget_hold (request_id, budget_id, period_start, amount)
  SELECT request_id, budget_id, start, amount
  FROM (
    SELECT *, max(started) OVER (PARTITION BY budget_id) AS start
    FROM (
      SELECT NULL::uuid AS request_id, id AS budget_id, NULL::bigint AS amount, start AS started FROM budget_settled
      UNION ALL
      SELECT request_id, budget_id, amount, NULL
      FROM unnest($14::uuid[], $15::uuid[], $16::bigint[]) AS pair (request_id, budget_id, amount)
      WHERE (request_id IN (SELECT id FROM taken)) IS TRUE
    ) AS parts
  ) AS started_parts
  WHERE request_id IS NOT NULL AND start IS NOT NULL
  ON CONFLICT DO NOTHING
  RETURNING budget_id, amount
), budget_total AS MATERIALIZED (
  SELECT id, max(start) AS start, sum(spent)::bigint AS spent, sum(held)::bigint AS held, sum(changes) AS changes
  FROM (
    SELECT id, start, spent, held, changes FROM budget_settled
    UNION ALL
    SELECT budget_id, NULL, 0, amount, 1 FROM budget_taken
  ) AS parts
  GROUP BY id
), budget_written AS (
  UPDATE budget SET period_start = total.start, spent = total.spent, held = total.held
  FROM budget_total AS total
  WHERE budget.id = total.id AND total.changes > 0
), ${writeAccounts([
  "SELECT organization_id, balance, held FROM returned",
  "SELECT organization_id, -amount, amount FROM taken"
])}
`

/** The accounts and budgets that refused holds. */
const refusals = `
  ${fundsOfRefusals},
  CASE WHEN count(*) > 0 THEN (
    SELECT json_agg(json_build_object(
      'id', budget_row.id, 'subject', subject, 'period', period, 'timeZone', time_zone, 'amount', amount::text,
      'spent', budget_total.spent::text, 'held', budget_total.held::text,
      'renewsAtMillis', round(extract(epoch FROM budget_renewal(period, time_zone, start)) * 1000),
      'project', CASE WHEN subject = 'project' THEN (SELECT name FROM project WHERE project.id = subject_id) END
    ))::text
    FROM budget_row JOIN budget_total ON budget_total.id = budget_row.id
    WHERE (budget_row.id IN (SELECT ($11::uuid[])[refused_by] FROM turn WHERE refused_by > 0)) IS TRUE
  ) END AS budgets
FROM turn
WHERE refused_by > 0`

export const budgetStatementOf = ({
  booked,
  budgeted,
  entries,
  queries
}: ChargeParts): string => `${lockedBudgets}), ${releaseHolds("= ANY ($1::uuid[])")}${queries}, charged AS (
  ${bookEntries(entries, "id, organization_id, amount")}
), returned AS MATERIALIZED (
  SELECT organization_id, amount AS balance, 0::bigint AS held FROM charged
  UNION ALL
  ${releasedChanges}
), budget_released AS (
  DELETE FROM budget_hold
  WHERE request_id = ANY ($17::uuid[]) AND budget_id = ANY ($18::uuid[]) AND (SELECT count(*) FROM budget_row) > 0
  RETURNING request_id, budget_id, period_start, amount
), budget_change AS MATERIALIZED (
  SELECT request_id, budget_id, max(charge) AS charge, max(period_start) AS since, max(amount) AS released
  FROM (
    SELECT request_id, budget_id, NULL::bigint AS charge, period_start, amount FROM budget_released
    UNION ALL
    SELECT request_id, budget_id, charge, NULL, NULL FROM (${budgeted}) AS charges (request_id, budget_id, charge)
  ) AS parts
  GROUP BY request_id, budget_id
${grantedHolds}SELECT string_agg(concat_ws(' ', position, refused_by), ',') AS refused, ${booked} AS booked,${refusals}`
