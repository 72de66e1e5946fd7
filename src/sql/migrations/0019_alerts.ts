/**
 * Alerts: what happened, whom it is sent to, and what holds at the moment. A replica that does not know these tables is
 * not disturbed by them.
 *
 * The secrets of webhooks are stored as they are, because every delivery is signed with them.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const webhooks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // events: null is every event. organization_id: only events of this organization.
  yield* sql`CREATE TABLE webhook (
    id                    uuid PRIMARY KEY,
    url                   text NOT NULL,
    events                text[],
    organization_id       uuid REFERENCES organization,
    description           text,
    secret                text NOT NULL,
    previous_secret       text,
    previous_secret_until timestamptz,
    created_at            timestamptz NOT NULL,
    disabled_at           timestamptz,
    disabled_reason       text
  )`
  // body: what is sent, byte for byte, so that every attempt sends the same.
  yield* sql`CREATE TABLE alert_event (
    id              uuid PRIMARY KEY,
    type            text NOT NULL,
    organization_id uuid,
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    body            text NOT NULL
  )`
  yield* sql`CREATE INDEX alert_event_expires_at ON alert_event (expires_at)`
  // next_attempt_at: while an attempt is under way, when another gateway may take it over. claim: of that attempt.
  yield* sql`CREATE TABLE webhook_delivery (
    id              uuid PRIMARY KEY,
    webhook_id      uuid NOT NULL REFERENCES webhook ON DELETE CASCADE,
    event_id        uuid NOT NULL REFERENCES alert_event ON DELETE CASCADE,
    status          text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts        integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    claim           uuid,
    created_at      timestamptz NOT NULL,
    delivered_at    timestamptz,
    CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL)),
    UNIQUE (event_id, webhook_id)
  )`
  yield* sql`CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, next_attempt_at)
    WHERE status = 'pending'`
  yield* sql`CREATE INDEX webhook_delivery_webhook ON webhook_delivery (webhook_id, id)`
  yield* sql`CREATE TABLE webhook_attempt (
    id              uuid PRIMARY KEY,
    delivery_id     uuid NOT NULL REFERENCES webhook_delivery ON DELETE CASCADE,
    at              timestamptz NOT NULL,
    status          integer,
    duration_millis integer NOT NULL,
    error           text
  )`
  yield* sql`CREATE INDEX webhook_attempt_delivery ON webhook_attempt (delivery_id, id)`
})

const conditions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // What holds at the moment and was alerted. episode: the period of a budget; empty for the rest.
  yield* sql`CREATE TABLE alert_condition (
    kind       text NOT NULL,
    subject    text NOT NULL,
    episode    text NOT NULL DEFAULT '',
    started_at timestamptz NOT NULL,
    PRIMARY KEY (kind, subject, episode)
  )`
  // Which gateways saw it last, for what each gateway sees by itself.
  yield* sql`CREATE TABLE alert_report (
    kind       text NOT NULL,
    subject    text NOT NULL,
    gateway_id uuid NOT NULL,
    seen_at    timestamptz NOT NULL,
    PRIMARY KEY (kind, subject, gateway_id)
  )`
  // When a check is due that one gateway does for all.
  yield* sql`CREATE TABLE alert_check (
    name   text PRIMARY KEY,
    due_at timestamptz NOT NULL
  )`
  yield* sql`ALTER TABLE organization ADD COLUMN low_balance bigint CHECK (low_balance >= 0)`
})

export const alertsMigration = Effect.all([webhooks, conditions], { discard: true })
