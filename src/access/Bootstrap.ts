/**
 * The first organization, so that a new installation can be called at once.
 *
 * It has the same id everywhere. So whoever starts next can tell that it is this one, and can finish what a crash cut
 * off: its credit is granted on every start, with the organization's id as the payment's, and is booked only once.
 */
import { Clock, Effect, Option, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { environmentId, organizationId, projectId } from "../domain/Ids.ts"
import { timestamp } from "../sql/Timestamp.ts"
import { orAccessUnavailable } from "./AccessError.ts"
import { ApiKeys } from "./ApiKeys.ts"

/** A UUID of version 7 that is older than any other. */
export const firstOrganization = organizationId("00000000-0000-7000-8000-000000000000")

/** Held while one of several replicas that start at once sets up the database. */
const bootstrapLock = 7_110_001

export interface BootstrapOptions {
  /** The first key; made up when left out. */
  readonly apiKey?: Redacted.Redacted | undefined
  /**
   * Shows a made-up key to the operator. It is called before the key is committed, so a crash may show a key that never
   * comes to be, but never loses one that does. It must not use the database.
   */
  readonly announce: (secret: Redacted.Redacted) => Effect.Effect<void>
}

const create = Effect.fnUntraced(function* (options: BootstrapOptions) {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const keys = yield* ApiKeys
  const project = projectId(yield* random.uuidV7())
  const environment = environmentId(yield* random.uuidV7())
  const now = timestamp(sql, yield* Clock.currentTimeMillis)
  yield* sql`INSERT INTO organization (id, name, created_at) VALUES (${firstOrganization}, 'default', ${now})`
  yield* sql`INSERT INTO project (id, organization_id, name, created_at)
    VALUES (${project}, ${firstOrganization}, 'default', ${now})`
  yield* sql`INSERT INTO environment (id, project_id, name, created_at)
    VALUES (${environment}, ${project}, 'default', ${now})`
  const { secret } = yield* keys.issue({ environment, name: "default" }, options.apiKey)
  if (options.apiKey === undefined) yield* options.announce(secret)
})

/**
 * Creates the first organization with its key when the database has none. Answers the first organization whenever it is
 * there, for its credit to be granted; `None` when this database was set up in another way.
 */
export const bootstrap = Effect.fn("Bootstrap.bootstrap")(function* (options: BootstrapOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Effect.gen(function* () {
    yield* sql`SELECT pg_advisory_xact_lock(${bootstrapLock})`
    const oldest = yield* sql<{ readonly id: string }>`SELECT id FROM organization ORDER BY id LIMIT 1`
    if (oldest[0] === undefined) yield* create(options)
    return oldest[0] === undefined || oldest[0].id === firstOrganization
      ? Option.some(firstOrganization)
      : Option.none()
  })
  return yield* run.pipe(
    sql.withTransaction,
    Effect.catchTag("SqlError", (error) => orAccessUnavailable(Effect.fail(error)))
  )
})
