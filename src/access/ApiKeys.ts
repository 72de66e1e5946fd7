/**
 * API keys. Only the SHA-256 of a key is stored. A key has 256 random bits, so it cannot be guessed from its hash, and
 * a slow hash would protect it no better.
 *
 * The result of a look-up, whether the key was found or not, is cached for a second. Together with the time limit of a
 * look-up this bounds how long a revoked key is still accepted to two seconds, on every replica and without messages
 * between them. The expiry of a key is compared with the clock on every use.
 */
import { hash } from "node:crypto"

import { Cache, Clock, Context, Duration, Effect, Exit, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { Base64Url } from "effect/encoding"
import { SqlClient } from "effect/sql"

import type { Caller, EndpointName } from "../domain/Caller.ts"
import { type ApiKeyId, apiKeyId, type EnvironmentId, type ModelId, type OrganizationId } from "../domain/Ids.ts"
import { currentTimestamp, timestamp } from "../sql/Timestamp.ts"
import { type AccessError, invalidKey, notFound, orAccessUnavailable, accessUnavailable } from "./AccessError.ts"
import { type CallerRow, callerOf, type ApiKey, apiKeyOf, type KeyRow, type AuthenticatedKey } from "./ApiKeyRow.ts"

const keyBytes = 32
const cacheCapacity = 10_000
const cacheLifetime = Duration.seconds(1)
const lookupTimeout = Duration.seconds(1)
/** Longer text cannot be a key and is not worth hashing. */
const maxKeyLength = 512
/** How many characters of a key are stored as text, for its owner to recognise it; and never more than this share. */
const displayedLength = 11
const displayedShare = 1 / 4

/** A key to be issued. */
export interface NewKey {
  readonly environment: EnvironmentId
  readonly name: string
  /** Every endpoint is allowed if this is left out. */
  readonly endpoints?: ReadonlyArray<EndpointName> | undefined
  /** Every model is allowed if this is left out. */
  readonly models?: ReadonlyArray<ModelId> | undefined
  /** The gateway's default applies if this is left out. */
  readonly requestsPerMinute?: number | undefined
  /** The key never expires if this is left out. */
  readonly expiresAtMillis?: number | undefined
}

/** A key that has just been issued, with its secret. */
export interface IssuedKey {
  readonly id: ApiKeyId
  /** The key itself. It cannot be read again later. */
  readonly secret: Redacted.Redacted
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** Stores `secret` as a key, or a generated one if there is no `secret`. */
    readonly issue: (key: NewKey, secret?: Redacted.Redacted) => Effect.Effect<IssuedKey, AccessError>
    /** The owner of the key. Fails with `InvalidKey`, or with `Unavailable` if the database does not answer. */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<Caller, AccessError>
    /** Revokes a key for good. A key that is revoked already keeps its first time of revocation. */
    readonly revoke: (organization: OrganizationId, key: ApiKeyId) => Effect.Effect<void, AccessError>
    /** The keys of an organization, oldest first. */
    readonly list: (organization: OrganizationId) => Effect.Effect<ReadonlyArray<ApiKey>, AccessError>
  }
>()("tollgate/access/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const authenticate = yield* makeAuthenticate

      const generate = Effect.map(random.randomBytes(keyBytes), (bytes) =>
        Redacted.make(`tg-${Base64Url.encode(bytes)}`)
      )

      const issue = Effect.fn("ApiKeys.issue")(function* (key: NewKey, given?: Redacted.Redacted) {
        const secret = given ?? (yield* generate)
        const id = apiKeyId(yield* random.uuidV7())
        const now = yield* currentTimestamp
        const expiresAt = key.expiresAtMillis === undefined ? null : timestamp(key.expiresAtMillis)
        const inserted = yield* orAccessUnavailable(sql`
          INSERT INTO api_key (id, environment_id, name, sha256, display_prefix, endpoint_allowlist, model_allowlist,
            requests_per_minute, created_at, expires_at)
          SELECT ${id}::uuid, id, ${key.name}, decode(${hashOf(secret)}, 'hex'), ${displayPrefixOf(secret)},
            ${key.endpoints ?? null}::text[], ${key.models ?? null}::text[], ${key.requestsPerMinute ?? null}::integer,
            ${now}, ${expiresAt}
          FROM environment WHERE id = ${key.environment}
          RETURNING id`)
        return inserted.length === 0 ? yield* notFound("environment") : { id, secret }
      })

      const revoke = Effect.fn("ApiKeys.revoke")(function* (organization: OrganizationId, key: ApiKeyId) {
        const now = yield* currentTimestamp
        const revoked = yield* orAccessUnavailable(sql`
          UPDATE api_key k SET revoked_at = coalesce(k.revoked_at, ${now})
          FROM environment e JOIN project p ON p.id = e.project_id
          WHERE k.id = ${key} AND e.id = k.environment_id AND p.organization_id = ${organization}
          RETURNING k.id`)
        if (revoked.length === 0) return yield* notFound("key")
      })

      const list = Effect.fn("ApiKeys.list")(function* (organization: OrganizationId) {
        const rows = yield* orAccessUnavailable(sql<KeyRow>`
          SELECT k.id, k.environment_id, k.name, k.display_prefix, k.endpoint_allowlist, k.model_allowlist,
            k.requests_per_minute, k.created_at, k.expires_at, k.revoked_at
          FROM api_key k JOIN environment e ON e.id = k.environment_id JOIN project p ON p.id = e.project_id
          WHERE p.organization_id = ${organization} ORDER BY k.id`)
        return rows.map(apiKeyOf)
      })

      return ApiKeys.of({ issue, authenticate, revoke, list })
    })
  )
}

/** The hash is hexadecimal text, so that it can be the key of a cache. */
const hashOf = (secret: Redacted.Redacted): string => hash("sha256", Redacted.value(secret))

const displayPrefixOf = (secret: Redacted.Redacted): string => {
  const text = Redacted.value(secret)
  return text.slice(0, Math.min(displayedLength, Math.floor(text.length * displayedShare)))
}

const makeAuthenticate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const lookup = (sha256: string): Effect.Effect<Option.Option<AuthenticatedKey>, AccessError> =>
    sql<CallerRow>`
      SELECT k.id, k.environment_id, e.project_id, p.organization_id, k.endpoint_allowlist, k.model_allowlist,
        k.requests_per_minute, k.expires_at, k.revoked_at
      FROM api_key k JOIN environment e ON e.id = k.environment_id JOIN project p ON p.id = e.project_id
      WHERE k.sha256 = decode(${sha256}, 'hex')`.pipe(
      Effect.timeout(lookupTimeout),
      Effect.mapBoth({
        onFailure: accessUnavailable,
        onSuccess: ([row]) => Option.map(Option.fromUndefinedOr(row), callerOf)
      })
    )
  const cache = yield* Cache.makeWith(lookup, {
    capacity: cacheCapacity,
    // A failed look-up is not cached.
    timeToLive: (exit) => (Exit.isSuccess(exit) ? cacheLifetime : Duration.zero)
  })
  return Effect.fnUntraced(function* (secret: Redacted.Redacted) {
    const { length } = Redacted.value(secret)
    if (length === 0 || length > maxKeyLength) return yield* invalidKey("unknown")
    const key = yield* Cache.get(cache, hashOf(secret))
    if (Option.isNone(key)) return yield* invalidKey("unknown")
    const { caller, expiresAtMillis, revoked } = key.value
    if (revoked) return yield* invalidKey("revoked")
    if ((yield* Clock.currentTimeMillis) >= expiresAtMillis) return yield* invalidKey("expired")
    return caller
  })
})
