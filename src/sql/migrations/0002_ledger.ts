/**
 * Credit, in picodollars. The rule: at every commit, for every organization, balance + held = the sum of its entries,
 * and held = the sum of its open holds.
 *
 * There are no foreign keys, because they would lock rows of other tables in the most frequent statement of the
 * gateway. Accounts and holds change all the time, so they are vacuumed early, and the pages of accounts keep space for
 * new row versions.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const tables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // balance: what can be spent, which is settled money minus open holds. It may be negative.
  yield* sql`CREATE TABLE credit_account (
    organization_id uuid PRIMARY KEY,
    balance         bigint NOT NULL DEFAULT 0,
    held            bigint NOT NULL DEFAULT 0 CHECK (held >= 0)
  ) WITH (fillfactor = 25, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.2)`
  // Open holds only. expires_at is later than the longest request can last.
  yield* sql`CREATE TABLE credit_hold (
    id              uuid NOT NULL,
    organization_id uuid NOT NULL,
    amount          bigint NOT NULL CHECK (amount >= 0),
    gateway_id      uuid NOT NULL,
    expires_at      timestamptz NOT NULL,
    PRIMARY KEY (id, organization_id)
  ) WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.2)`
  // One signed row per movement of money. Its id is that of the request or the payment, which makes both idempotent.
  yield* sql`CREATE TABLE credit_entry (
    id              uuid NOT NULL,
    organization_id uuid NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('charge', 'grant', 'correction')),
    amount          bigint NOT NULL,
    at              timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, organization_id),
    CHECK (kind <> 'charge' OR amount <= 0)
  )`
  yield* sql`CREATE TABLE gateway_lease (
    id           uuid PRIMARY KEY,
    heartbeat_at timestamptz NOT NULL DEFAULT now()
  )`
})

/** Entries cannot be changed, not even by mistake. A wrong entry is corrected by another entry. */
const appendOnly = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
    END
  $$`
  yield* sql`CREATE TRIGGER credit_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON credit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`
})

/** The journal as double entry: every entry and its counterpart in a contra account, so that the sum is always zero. */
const postings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE VIEW credit_posting AS
    SELECT id, at, 'organization:' || organization_id AS account, amount FROM credit_entry
    UNION ALL
    SELECT id, at, CASE kind WHEN 'charge' THEN 'revenue' WHEN 'grant' THEN 'funding' ELSE 'correction' END, -amount
    FROM credit_entry`
})

export const ledgerMigration = Effect.all([tables, appendOnly, postings], { discard: true })
