/** The model to which a session is pinned. The session id is stored only as a hash. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const sessionPinsMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE session_pin (
    organization_id uuid NOT NULL,
    session_sha256  bytea NOT NULL CHECK (octet_length(session_sha256) = 32),
    model           text NOT NULL,
    expires_at      timestamptz NOT NULL,
    PRIMARY KEY (organization_id, session_sha256)
  )`
  yield* sql`CREATE INDEX session_pin_expiry ON session_pin (expires_at)`
})
