/**
 * What operators need: keys of their own, payments with the name that the payer's system gives them, the journal of an
 * organization in order, and a record of every change that was made.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const operators = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE organization ADD COLUMN closed_at timestamptz`
  yield* sql`ALTER TABLE api_key ADD COLUMN label text`
  yield* sql`CREATE TABLE admin_key (
    id             uuid PRIMARY KEY,
    name           text NOT NULL,
    sha256         bytea NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
    display_prefix text NOT NULL,
    created_at     timestamptz NOT NULL,
    revoked_at     timestamptz
  )`
  yield* sql`CREATE UNIQUE INDEX admin_key_name ON admin_key (name) WHERE revoked_at IS NULL`
})

/** `before` and `after` are the changed row, without secrets and without their hashes. */
const changes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE audit_event (
    id              uuid PRIMARY KEY,
    at              timestamptz NOT NULL,
    actor           text NOT NULL,
    actor_key_id    uuid,
    action          text NOT NULL,
    subject_id      uuid NOT NULL,
    organization_id uuid,
    before          jsonb,
    after           jsonb
  )`
  yield* sql`CREATE INDEX audit_event_organization ON audit_event (organization_id, id)`
  yield* sql`CREATE INDEX audit_event_subject ON audit_event (subject_id, id)`
  yield* sql`CREATE TRIGGER audit_event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`
})

const payments = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Why money was granted or taken back, under an id that the operator chose, so that it is booked only once.
  yield* sql`CREATE TABLE payment (
    organization_id uuid NOT NULL,
    payment_id      text NOT NULL,
    entry_id        uuid NOT NULL,
    kind            text NOT NULL CHECK (kind IN ('grant', 'correction')),
    amount          bigint NOT NULL,
    reason          text NOT NULL,
    PRIMARY KEY (organization_id, payment_id),
    UNIQUE (entry_id, organization_id)
  )`
  yield* sql`CREATE TRIGGER payment_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON payment
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`
  yield* sql`CREATE INDEX credit_entry_organization ON credit_entry (organization_id, id)`
})

export const administrationMigration = Effect.all([operators, changes, payments], { discard: true })
