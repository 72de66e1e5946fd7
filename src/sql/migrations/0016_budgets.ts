/**
 * Budgets: how much of its credit an organization lets a key, a project or itself spend in a period.
 *
 * The rule: the state of a budget is in its one row, with the period that it is of. A statement that has waited for the
 * lock of the row sees its newest version, and of all other rows what was there before it waited. Nothing is checked
 * here that could keep a charge from being booked: what was used is charged, whatever a budget says.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Amounts are in picodollars. spent and held are of the period that began at period_start.
  yield* sql`CREATE TABLE budget (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL,
    subject         text NOT NULL CHECK (subject IN ('organization', 'project', 'api_key')),
    subject_id      uuid NOT NULL,
    amount          bigint NOT NULL CHECK (amount > 0),
    period          text NOT NULL CHECK (period IN ('day', 'week', 'month', 'total')),
    time_zone       text NOT NULL,
    period_start    timestamptz NOT NULL,
    spent           bigint NOT NULL DEFAULT 0,
    held            bigint NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    removed_at      timestamptz
  ) WITH (fillfactor = 25, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.2)`
  yield* sql`CREATE UNIQUE INDEX budget_subject ON budget (subject_id, period) WHERE removed_at IS NULL`
  yield* sql`CREATE INDEX budget_organization ON budget (organization_id, id)`
  // What open holds hold of budgets. period_start is the period in which the hold was taken.
  yield* sql`CREATE TABLE budget_hold (
    request_id   uuid NOT NULL,
    budget_id    uuid NOT NULL,
    period_start timestamptz NOT NULL,
    amount       bigint NOT NULL,
    PRIMARY KEY (request_id, budget_id)
  ) WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.2)`
})

const periods = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // When the period that contains a time began, in a zone. Weeks begin on Monday. Null for the only period of a total.
  yield* sql`CREATE FUNCTION budget_period_start(period text, time_zone text, at timestamptz) RETURNS timestamptz
  LANGUAGE sql STABLE STRICT AS $$
    SELECT CASE WHEN period <> 'total' THEN date_trunc(period, at, time_zone) END
  $$`
  // Truncated once more, because a period may begin later than at midnight where the clocks are changed at midnight.
  yield* sql`CREATE FUNCTION budget_renewal(period text, time_zone text, period_start timestamptz) RETURNS timestamptz
  LANGUAGE sql STABLE STRICT AS $$
    SELECT CASE WHEN period <> 'total' THEN
      date_trunc(period, period_start AT TIME ZONE time_zone + ('1 ' || period)::interval) AT TIME ZONE time_zone
    END
  $$`
  // Budgets as they are at a time: where a period has begun since the row was written, nothing of it is spent.
  yield* sql`CREATE FUNCTION budgets_at(at timestamptz) RETURNS TABLE (
    id uuid, organization_id uuid, subject text, subject_id uuid, amount bigint, period text, time_zone text,
    period_start timestamptz, renews_at timestamptz, spent bigint, held bigint, created_at timestamptz,
    removed_at timestamptz
  ) LANGUAGE sql STABLE AS $$
    SELECT b.id, b.organization_id, b.subject, b.subject_id, b.amount, b.period, b.time_zone, started.at,
      budget_renewal(b.period, b.time_zone, started.at),
      CASE WHEN started.at = b.period_start THEN b.spent ELSE 0 END,
      CASE WHEN started.at = b.period_start THEN b.held ELSE 0 END, b.created_at, b.removed_at
    FROM budget AS b,
      LATERAL (SELECT greatest(b.period_start, budget_period_start(b.period, b.time_zone, $1))) AS started (at)
  $$`
})

/**
 * Weighs holds one after the other, each against its accounts: `accounts` has the indexes of the accounts of all holds,
 * those of hold n end at `ends[n]`, and the first is that of the organization, which must have one. The others are
 * budgets, of which those that do not exist limit nothing. Returns the index of the account that refused each hold, or
 * zero. An account whose settled money alone is used up is named before one whose rest is held.
 */
const turns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE FUNCTION holds_refused_by(
    available numeric[], settled numeric[], amounts bigint[], lowest bigint[], accounts integer[], ends integer[]
  ) RETURNS integer[] LANGUAGE plpgsql IMMUTABLE AS $$
    DECLARE
      refused integer[] := '{}';
      refusing integer;
      account integer;
      first integer := 1;
    BEGIN
      FOR hold IN 1 .. coalesce(cardinality(amounts), 0) LOOP
        refusing := 0;
        FOR place IN first .. ends[hold] LOOP
          account := accounts[place];
          CONTINUE WHEN available[account] IS NULL AND place > first;
          CONTINUE WHEN coalesce(
            CASE WHEN lowest[hold] IS NULL THEN available[account] > 0
            ELSE available[account] - amounts[hold] >= lowest[hold] END, false);
          IF refusing = 0 THEN
            refusing := account;
          END IF;
          IF coalesce(settled[account], 0) <= 0 THEN
            refusing := account;
            EXIT;
          END IF;
        END LOOP;
        IF refusing = 0 THEN
          FOR place IN first .. ends[hold] LOOP
            account := accounts[place];
            available[account] := available[account] - amounts[hold];
          END LOOP;
        END IF;
        refused[hold] := refusing;
        first := ends[hold] + 1;
      END LOOP;
      RETURN refused;
    END
  $$`
})

export const budgetsMigration = Effect.all([tables, periods, turns], { discard: true })
