/**
 * The pieces of SQL that move money, for the statements that are built from them. Each is a common table expression
 * (CTE), and they read each other by name.
 *
 * The rule: accounts are locked before anything is written, always in the same order, so that statements wait for each
 * other but never in a circle; and each account is written once, in absolute numbers computed from its locked row.
 * `balance = balance - x` would have PostgreSQL check the constraints against the version in the statement's snapshot,
 * which may be an old one.
 */

/**
 * `account`: the accounts whose organization meets the condition, locked. It returns their newest committed version,
 * whatever the snapshot of the statement says. `locked`: their number, for the CTEs that write to depend on; without it
 * they could run before the locks are held.
 */
export const lockAccounts = (organizationCondition: string): string => `account AS MATERIALIZED (
  SELECT organization_id, balance, held FROM credit_account
  WHERE organization_id ${organizationCondition}
  ORDER BY organization_id
  FOR NO KEY UPDATE
), locked AS MATERIALIZED (
  SELECT count(*) AS accounts FROM account
)`

/**
 * Adds rows of (id, organization, kind, amount, facts) to the journal. An id that is booked already is left as it is,
 * and only the rows that this statement inserted are returned, so only they move money.
 */
export const bookEntries = (rows: string, returned = "organization_id, amount"): string => `
  INSERT INTO credit_entry (id, organization_id, kind, amount, facts)
  ${rows}
  ON CONFLICT DO NOTHING
  RETURNING ${returned}`

/** `released`: deletes the holds whose id meets the condition and that are still there, and so returns each once. */
export const releaseHolds = (idCondition: string): string => `released AS (
  DELETE FROM credit_hold
  WHERE id ${idCondition} AND (SELECT accounts FROM locked) > 0
  RETURNING id, organization_id, amount
)`

/** What a released hold changes: the amount is available again and no longer held. */
export const releasedChanges = "SELECT organization_id, amount, -amount FROM released"

/**
 * `written`: adds the changes, each a query for (organization, change of balance, change of held), to the locked
 * accounts. An account without a change is not written.
 */
export const writeAccounts = (changes: ReadonlyArray<string>): string => `written AS (
  UPDATE credit_account
  SET balance = total.balance, held = total.held
  FROM (
    SELECT organization_id, sum(balance)::bigint AS balance, sum(held)::bigint AS held
    FROM (
      ${["SELECT organization_id, balance, held FROM account", ...changes].join("\n      UNION ALL\n      ")}
    ) AS parts
    GROUP BY organization_id
    HAVING count(*) > 1
  ) AS total
  WHERE credit_account.organization_id = total.organization_id
)`

/**
 * The accounts as a statement with `returned` and `taken` leaves them, as text, in a query whose rows are the refused
 * holds: PostgreSQL computes it only where there is one.
 */
export const fundsOfRefusals = `CASE WHEN count(*) > 0 THEN (
    SELECT string_agg(concat_ws(' ', organization_id, balance, held), ',') FROM (
      SELECT organization_id, sum(balance) AS balance, sum(held) AS held FROM (
        SELECT organization_id, balance, held FROM account
        UNION ALL
        SELECT organization_id, balance, held FROM returned
        UNION ALL
        SELECT organization_id, -amount, amount FROM taken
      ) AS parts
      GROUP BY organization_id
    ) AS totals
  ) END AS funds`

/**
 * Adds the amounts of `entry`, which are rows of the journal that were just booked, to their accounts, and opens the
 * accounts that are missing. No separate lock is needed: the upsert computes the balance from the row that it locks
 * itself. The sum of balance and held is computed on the way because it must fit into a BIGINT as well, or the holds
 * could not be given back.
 */
export const addEntries = `
INSERT INTO credit_account (organization_id, balance)
SELECT organization_id, amount FROM entry
ON CONFLICT (organization_id) DO UPDATE
  SET balance = (credit_account.balance + credit_account.held + excluded.balance) - credit_account.held
RETURNING organization_id`

/** How long a hold may stay open, as a PostgreSQL interval: longer than any request is allowed to last. */
export const holdLifetime = "1 hour"

/** An array parameter as text, which the driver sends unchanged. UUIDs and integers need no quotes. */
export const listParameter = (values: ReadonlyArray<string | bigint>): string => `{${values.join(",")}}`
