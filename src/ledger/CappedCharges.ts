/**
 * Charges that cannot take an account below zero, as pieces of SQL for the statement of `BatchStatement`. The rule: a
 * capped charge is never more than the hold that it ends. Where the hold was swept before, its credit may be spent or
 * held for others by now, and so the charge is never more than what is available once everything else of the batch has
 * been settled. What a charge lacks of what was asked for is stored with its facts as `uncollected`.
 */
/** The lowest balance that a hold may leave for which an organization with a hard cap is charged. */
export const cappedLeast = 0n

/*
 * `asked`   The charges. The parameters are those of the settlements of the batch, and `isCapped` is the one that says
 *           which of them are capped.
 * `covered` Each of them with the hold that it ends, if that is still there, and otherwise NULL; and what each changes
 *           of the account, without the capped ones that have no hold any more. A row without an id is the account.
 * `capped`  The charges as they are booked. `most` is what those without a hold may take together, and `before` what
 *           the earlier ones of them ask for.
 *
 * As in the whole statement, lists are not joined but grouped. A charge that is booked already counts here as well, so
 * that others may be cut by too much when a batch is sent twice, and never by too little.
 */
const cappedCharges = (isCapped: string): string => `, asked AS MATERIALIZED (
  SELECT id, organization_id, charge, facts, is_capped
  FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $8::text[], ${isCapped}::boolean[])
    AS settlement (id, organization_id, charge, facts, is_capped)
), covered AS MATERIALIZED (
  SELECT id, organization_id, max(charge) AS charge, max(facts) AS facts, bool_or(is_capped) AS is_capped,
    sum(hold) AS hold
  FROM (
    SELECT id, organization_id, charge, facts, is_capped, NULL::bigint AS hold FROM asked
    UNION ALL
    SELECT id, organization_id, NULL, NULL, NULL, amount FROM released
    UNION ALL
    SELECT NULL, organization_id, NULL, NULL, NULL, balance FROM account
  ) AS parts
  GROUP BY id, organization_id
), capped AS MATERIALIZED (
  SELECT id, organization_id, charge, facts,
    CASE
      WHEN is_capped AND hold IS NOT NULL THEN least(charge, hold)
      WHEN is_capped THEN least(before + charge, greatest(most, 0)) - least(before, greatest(most, 0))
      ELSE charge
    END::bigint AS amount
  FROM (
    SELECT *,
      sum(coalesce(hold, 0) - CASE
        WHEN NOT is_capped THEN coalesce(charge, 0)
        WHEN hold IS NOT NULL THEN least(coalesce(charge, 0), hold)
        ELSE 0
      END) OVER (PARTITION BY organization_id) AS most,
      coalesce(sum(CASE WHEN is_capped AND hold IS NULL THEN charge END) OVER (
        PARTITION BY organization_id ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ), 0) AS before
    FROM covered
  ) AS turns
  WHERE charge IS NOT NULL
)`

/** The rows of the journal for `capped`. */
const cappedEntries = `
  SELECT id, organization_id, 'charge', -amount,
    CASE WHEN amount < charge THEN facts::jsonb || jsonb_build_object(
      'uncollected', (coalesce((facts::jsonb->>'uncollected')::bigint, 0) + charge - amount)::text
    ) ELSE facts::jsonb END
  FROM capped
  WHERE (SELECT accounts FROM locked) > 0`

/** How many charges were booked as they were asked for. */
const bookedInFull = `
  (SELECT count(*) FROM charged)::int - (SELECT count(*) FROM capped WHERE amount < charge)::int`

/** The parts of a statement of a batch that say which charges are booked. */
export interface ChargeParts {
  /** Further queries, each after a comma. */
  readonly queries: string
  /** The rows of the journal. */
  readonly entries: string
  /** How many are booked as they were asked for. */
  readonly booked: string
  /** The amounts of the charges by which budgets change, as rows of (request, budget, amount). */
  readonly budgeted: string
}

/** For batches in which no charge is capped. */
export const plainParts: ChargeParts = {
  queries: "",
  entries: `
  SELECT id, organization_id, 'charge', -charge, facts::jsonb
  FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $8::text[]) AS settlement (id, organization_id, charge, facts)
  WHERE charge IS NOT NULL AND (SELECT accounts FROM locked) > 0`,
  booked: "(SELECT count(*) FROM charged)::int",
  budgeted: `SELECT request_id, budget_id, charge
    FROM unnest($17::uuid[], $18::uuid[], $19::bigint[]) AS pair (request_id, budget_id, charge)
    WHERE (request_id IN (SELECT id FROM charged)) IS TRUE`
}

/** For the others. `isCapped` is one parameter more: which of the settlements are capped. */
export const cappedParts = (isCapped: string): ChargeParts => ({
  queries: cappedCharges(isCapped),
  entries: cappedEntries,
  booked: bookedInFull,
  budgeted: `SELECT request_id, budget_id, booked
    FROM (
      SELECT request_id, budget_id, max(charge) OVER (PARTITION BY request_id) AS booked
      FROM (
        SELECT request_id, budget_id, NULL::bigint AS charge
        FROM unnest($17::uuid[], $18::uuid[], $19::bigint[]) AS pair (request_id, budget_id, charge)
        UNION ALL
        SELECT id, NULL, -amount FROM charged
      ) AS pairs
    ) AS booked_pairs
    WHERE budget_id IS NOT NULL AND booked IS NOT NULL`
})
