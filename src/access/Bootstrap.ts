/**
 * Creates the first organization and its API key, so that a new installation can be used at once.
 *
 * The first organization has the same id in every installation. A later start recognises it by that id and can finish
 * what a crash interrupted: its credit is granted on every start, with the organization's id as the id of the payment,
 * and is booked only once.
 */
import { Effect, Option, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { environmentId, organizationId, projectId } from "../domain/Ids.ts"
import { currentTimestamp } from "../sql/Timestamp.ts"
import { orAccessUnavailable } from "./AccessError.ts"
import { ApiKeys } from "./ApiKeys.ts"

/** The UUID of version 7 that sorts before all others. */
export const firstOrganization = organizationId("00000000-0000-7000-8000-000000000000")

/** The advisory lock under which one of several replicas that start together sets up the database. */
const bootstrapLock = 7_110_001

/** The first organization's key and credit, and what to do with a generated key. */
export interface BootstrapOptions {
  /** The first key. One is generated if this is left out. */
  readonly apiKey?: Redacted.Redacted | undefined
  /**
   * Shows a generated key to the operator. It is called before the key is committed: a crash may show a key that will
   * never be valid, but a valid key has always been shown. It must not use the database.
   */
  readonly announce: (secret: Redacted.Redacted) => Effect.Effect<void>
}

const create = Effect.fnUntraced(function* (options: BootstrapOptions) {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const keys = yield* ApiKeys
  const project = projectId(yield* random.uuidV7())
  const environment = environmentId(yield* random.uuidV7())
  const now = yield* currentTimestamp
  yield* sql`INSERT INTO organization (id, name, created_at) VALUES (${firstOrganization}, 'default', ${now})`
  yield* sql`INSERT INTO project (id, organization_id, name, created_at)
    VALUES (${project}, ${firstOrganization}, 'default', ${now})`
  yield* sql`INSERT INTO environment (id, project_id, name, created_at)
    VALUES (${environment}, ${project}, 'default', ${now})`
  const { secret } = yield* keys.issue({ environment, name: "default" }, options.apiKey)
  if (options.apiKey === undefined) yield* options.announce(secret)
})

/**
 * Creates the first organization with its key if the database has no organization. Returns its id if it exists, whether
 * it was created now or before; `None` if this database was set up in another way.
 */
export const bootstrap = Effect.fn("Bootstrap.bootstrap")(function* (options: BootstrapOptions) {
  const sql = yield* SqlClient.SqlClient
  const createOnce = Effect.gen(function* () {
    yield* sql`SELECT pg_advisory_xact_lock(${bootstrapLock})`
    const [oldest] = yield* sql<{ readonly id: string }>`SELECT id FROM organization ORDER BY id LIMIT 1`
    if (oldest === undefined) yield* create(options)
    return oldest === undefined || oldest.id === firstOrganization ? Option.some(firstOrganization) : Option.none()
  })
  return yield* createOnce.pipe(
    sql.withTransaction,
    Effect.catchTag("SqlError", (error) => orAccessUnavailable(Effect.fail(error)))
  )
})

/** False for a database that nobody has set up. */
export const hasOrganization = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT 1 FROM organization LIMIT 1`
  return rows.length > 0
}).pipe(Effect.catchTag("SqlError", (error) => orAccessUnavailable(Effect.fail(error))))
