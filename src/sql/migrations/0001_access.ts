/** Organizations, their projects and environments, and the API keys of those. A key is stored as a hash. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const accessMigration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE organization (
    id         uuid PRIMARY KEY,
    name       text NOT NULL,
    created_at timestamptz NOT NULL
  )`
  yield* sql`CREATE TABLE project (
    id              uuid PRIMARY KEY,
    organization_id uuid NOT NULL REFERENCES organization,
    name            text NOT NULL,
    created_at      timestamptz NOT NULL,
    UNIQUE (organization_id, name)
  )`
  yield* sql`CREATE TABLE environment (
    id         uuid PRIMARY KEY,
    project_id uuid NOT NULL REFERENCES project,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (project_id, name)
  )`
  yield* sql`CREATE TABLE api_key (
    id                  uuid PRIMARY KEY,
    environment_id      uuid NOT NULL REFERENCES environment,
    name                text NOT NULL,
    sha256              bytea NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
    display_prefix      text NOT NULL,
    endpoint_allowlist  text[],
    model_allowlist     text[],
    requests_per_minute integer CHECK (requests_per_minute > 0),
    created_at          timestamptz NOT NULL,
    expires_at          timestamptz,
    revoked_at          timestamptz
  )`
  yield* sql`CREATE INDEX api_key_environment ON api_key (environment_id)`
})
