/** API keys in the database: the statements, without the record of changes that `ApiKeys` adds to them. */
import { Effect, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type Statement } from "effect/sql"

import type { EndpointName } from "../domain/Caller.ts"
import { type ApiKeyId, apiKeyId, type EnvironmentId, type ModelId, type OrganizationId } from "../domain/Ids.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import { currentTimestamp, timestamp } from "../sql/Timestamp.ts"
import { type AccessError, notFound, orAccessUnavailable } from "./AccessError.ts"
import { type ApiKey, apiKeyOf, type KeyRow } from "./ApiKeyRow.ts"
import { displayPrefixOf, hashOfSecret } from "./Secrets.ts"

/** What can be changed of a key. What is left out stays as it is, and `null` takes a limit away. */
export interface KeyChange {
  readonly name?: string | undefined
  readonly label?: string | null | undefined
  readonly endpoints?: ReadonlyArray<EndpointName> | null | undefined
  readonly models?: ReadonlyArray<ModelId> | null | undefined
  readonly requestsPerMinute?: number | null | undefined
  readonly tokensPerMinute?: number | null | undefined
  readonly concurrentRequests?: number | null | undefined
  readonly expiresAtMillis?: number | null | undefined
}

/** A key to be issued. A limit that is left out does not apply; the gateway's default applies to the rate. */
export interface NewKey extends KeyChange {
  readonly environment: EnvironmentId
  readonly name: string
}

export interface KeyFilter {
  readonly organization?: OrganizationId | undefined
  readonly environment?: EnvironmentId | undefined
  /** Only keys that are neither revoked nor expired. */
  readonly valid?: boolean | undefined
}

/** A key, and the organization that it has to belong to where the caller may not see those of others. */
export interface KeyReference {
  readonly id: ApiKeyId
  readonly organization?: OrganizationId | undefined
}

/** What a `KeyRow` holds, of the key `k`, its environment `e` and its project `p`. */
const columns = `k.*, p.organization_id, e.project_id, to_jsonb(k) - 'sha256' AS snapshot,
  (SELECT at FROM logged_request WHERE api_key_id = k.id ORDER BY at DESC, id DESC LIMIT 1) AS last_used_at`
const owners = "JOIN environment e ON e.id = k.environment_id JOIN project p ON p.id = e.project_id"

export const makeApiKeyTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom

  const read = (key: KeyReference, lock = false): Effect.Effect<KeyRow, AccessError> =>
    sql<KeyRow>`
      SELECT ${sql.literal(columns)} FROM api_key k ${sql.literal(owners)}
      WHERE ${sql.and([
        sql`k.id = ${key.id}`,
        ...(key.organization === undefined ? [] : [sql`p.organization_id = ${key.organization}`])
      ])} ${sql.literal(lock ? "FOR UPDATE OF k" : "")}`.pipe(
      orAccessUnavailable,
      Effect.flatMap(([row]) => (row === undefined ? Effect.fail(notFound("key")) : Effect.succeed(row)))
    )

  const insert = Effect.fnUntraced(function* (key: NewKey, secret: Redacted.Redacted) {
    const id = apiKeyId(yield* random.uuidV7())
    const now = yield* currentTimestamp
    const inserted = yield* orAccessUnavailable(sql`
      INSERT INTO api_key (id, environment_id, name, label, sha256, display_prefix, endpoint_allowlist, model_allowlist,
        requests_per_minute, tokens_per_minute, concurrent_requests, created_at, expires_at)
      SELECT ${id}::uuid, id, ${key.name}, ${key.label ?? null}, decode(${hashOfSecret(secret)}, 'hex'),
        ${displayPrefixOf(secret)}, ${key.endpoints ?? null}::text[], ${key.models ?? null}::text[],
        ${key.requestsPerMinute ?? null}::integer, ${key.tokensPerMinute ?? null}::integer,
        ${key.concurrentRequests ?? null}::integer,
        ${now}, ${timestampOrNull(key.expiresAtMillis)}
      FROM environment WHERE id = ${key.environment}
      RETURNING id`)
    return inserted.length === 0 ? yield* notFound("environment") : yield* read({ id })
  })

  /** Changes columns of a key under its lock. `assignments` sees the row as it was. */
  const update = Effect.fnUntraced(function* (
    key: KeyReference,
    assignments: (before: KeyRow) => Effect.Effect<ReadonlyArray<Statement.Fragment>, AccessError>
  ) {
    const before = yield* read(key, true)
    yield* orAccessUnavailable(sql`
      UPDATE api_key SET ${sql.csv(yield* assignments(before))} WHERE id = ${key.id}`)
    return { before, after: yield* read(key) }
  })

  const list = Effect.fnUntraced(function* (filter: KeyFilter, page: PageRequest) {
    const now = yield* currentTimestamp
    const rows = yield* orAccessUnavailable(sql<KeyRow>`
      SELECT ${sql.literal(columns)} FROM api_key k ${sql.literal(owners)}
      WHERE ${sql.and([
        ...(page.cursor === undefined ? [] : [sql`k.id < ${page.cursor}::uuid`]),
        ...(filter.organization === undefined ? [] : [sql`p.organization_id = ${filter.organization}`]),
        ...(filter.environment === undefined ? [] : [sql`k.environment_id = ${filter.environment}`]),
        ...(filter.valid === undefined
          ? []
          : [sql`(revoked_at IS NULL AND coalesce(expires_at > ${now}, true)) = ${filter.valid}`])
      ])}
      ORDER BY k.id DESC LIMIT ${page.limit + 1}`)
    return pageOf(page, rows.map(apiKeyOf), ({ id }) => id) satisfies Page<ApiKey>
  })

  return { read, insert, update, list }
})

/** The columns of a change of a key. */
export const assignmentsOf = (sql: SqlClient.SqlClient, change: KeyChange): ReadonlyArray<Statement.Fragment> => [
  ...(change.name === undefined ? [] : [sql`name = ${change.name}`]),
  ...(change.label === undefined ? [] : [sql`label = ${change.label}`]),
  ...(change.endpoints === undefined ? [] : [sql`endpoint_allowlist = ${change.endpoints}::text[]`]),
  ...(change.models === undefined ? [] : [sql`model_allowlist = ${change.models}::text[]`]),
  ...(change.requestsPerMinute === undefined ? [] : [sql`requests_per_minute = ${change.requestsPerMinute}::integer`]),
  ...(change.tokensPerMinute === undefined ? [] : [sql`tokens_per_minute = ${change.tokensPerMinute}::integer`]),
  ...(change.concurrentRequests === undefined
    ? []
    : [sql`concurrent_requests = ${change.concurrentRequests}::integer`]),
  ...(change.expiresAtMillis === undefined ? [] : [sql`expires_at = ${timestampOrNull(change.expiresAtMillis)}`])
]

const timestampOrNull = (millis: number | null | undefined) => (typeof millis === "number" ? timestamp(millis) : null)
