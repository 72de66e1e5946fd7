/**
 * API keys: who may use the gateway, and for what. The expiry of a key is compared with the clock on every use; how
 * soon a revocation holds is said in `Secrets.ts`.
 */
import { Clock, Context, Duration, Effect, Layer, Option, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type Statement } from "effect/sql"

import type { Caller } from "../domain/Caller.ts"
import type { Page, PageRequest } from "../domain/Page.ts"
import { currentTimestamp, timestamp } from "../sql/Timestamp.ts"
import { type AccessError, invalidKey, keyEnded } from "./AccessError.ts"
import { type ApiKey, apiKeyOf, type AuthenticatedKey, type CallerRow, callerOf, type KeyRow } from "./ApiKeyRow.ts"
import {
  assignmentsOf,
  type KeyChange,
  type KeyFilter,
  type KeyReference,
  makeApiKeyTable,
  type NewKey
} from "./ApiKeyTable.ts"
import { AuditTrail, type Change, unlessSame } from "./AuditTrail.ts"
import { makeHandOnBudgets } from "./Budgets.ts"
import { generateSecret, makeKeyLookup } from "./Secrets.ts"

/** A key that has just been issued, with its secret. */
export interface IssuedKey extends ApiKey {
  /** The key itself. It cannot be read again later. */
  readonly secret: Redacted.Redacted
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** Stores `secret` as a key, or a generated one if there is no `secret`. */
    readonly issue: (key: NewKey, secret?: Redacted.Redacted) => Effect.Effect<IssuedKey, AccessError>
    /**
     * The owner of the key. Fails with `InvalidKey`, or with `Unavailable` if the database does not answer. It is an
     * exit already where the key was looked up within the last second.
     */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<Caller, AccessError>
    readonly get: (key: KeyReference) => Effect.Effect<ApiKey, AccessError>
    /** The latest first. */
    readonly list: (filter: KeyFilter, page: PageRequest) => Effect.Effect<Page<ApiKey>, AccessError>
    readonly update: (key: KeyReference, change: KeyChange) => Effect.Effect<ApiKey, AccessError>
    /** Revokes a key for good. A key that is revoked already keeps its first time of revocation. */
    readonly revoke: (key: KeyReference) => Effect.Effect<ApiKey, AccessError>
    /** Issues another key like this one, which expires after `overlap` at the latest. Both then share its budgets. */
    readonly rotate: (key: KeyReference, overlap: Duration.Duration) => Effect.Effect<IssuedKey, AccessError>
  }
>()("tollgate/access/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const trail = yield* AuditTrail
      const table = yield* makeApiKeyTable
      const authenticate = yield* makeAuthenticate
      const handOn = yield* makeHandOnBudgets
      const generate = Effect.provideService(generateSecret("tg-"), SecureRandom.SecureRandom, random)

      const issue: ApiKeys["Service"]["issue"] = Effect.fn("ApiKeys.issue")(function* (key, given) {
        const secret = given ?? (yield* generate)
        return yield* table.insert(key, secret).pipe(
          Effect.map((row) => ({
            value: { ...apiKeyOf(row), secret },
            change: changeOf("api_key.issue", { after: row })
          })),
          trail.recorded
        )
      })

      /** A change that leaves the row as it was, such as a second revocation, is not recorded. */
      const recordedUpdate = (action: string, key: KeyReference, assignments: ReadonlyArray<Statement.Fragment>) =>
        table
          .update(key, () => Effect.succeed(assignments))
          .pipe(
            Effect.map((rows) => ({
              value: apiKeyOf(rows.after),
              ...unlessSame(changeOf(action, rows))
            })),
            trail.recorded
          )

      const update: ApiKeys["Service"]["update"] = Effect.fn("ApiKeys.update")((key, change) => {
        const assignments = assignmentsOf(sql, change)
        return assignments.length === 0
          ? Effect.map(table.read(key), apiKeyOf)
          : recordedUpdate("api_key.update", key, assignments)
      })

      const revoke: ApiKeys["Service"]["revoke"] = Effect.fn("ApiKeys.revoke")(function* (key) {
        const now = yield* currentTimestamp
        return yield* recordedUpdate("api_key.revoke", key, [sql`revoked_at = coalesce(revoked_at, ${now})`])
      })

      const rotate: ApiKeys["Service"]["rotate"] = Effect.fn("ApiKeys.rotate")(function* (key, overlap) {
        const now = yield* Clock.currentTimeMillis
        const end = timestamp(now + Duration.toMillis(overlap))
        const secret = yield* generate
        return yield* Effect.gen(function* () {
          const rows = yield* table.update(key, (row) =>
            hasEnded(row, now) ? Effect.fail(keyEnded()) : Effect.succeed([sql`expires_at = least(expires_at, ${end})`])
          )
          const issued = yield* table.insert(newKeyLike(rows.before), secret)
          yield* handOn(key.id, apiKeyOf(issued).id)
          return { value: { ...apiKeyOf(issued), secret }, change: rotationOf(rows, issued) }
        }).pipe(trail.recorded)
      })

      return ApiKeys.of({
        issue,
        authenticate,
        get: (key) => Effect.map(table.read(key), apiKeyOf),
        list: table.list,
        update,
        revoke,
        rotate
      })
    })
  )
}

const changeOf = (action: string, { after, before }: { readonly after: KeyRow; readonly before?: KeyRow }): Change => ({
  action,
  subject: after.id,
  organization: apiKeyOf(after).organization,
  ...(before && { before: before.snapshot }),
  after: after.snapshot
})

const rotationOf = (rows: { readonly after: KeyRow; readonly before: KeyRow }, issued: KeyRow): Change => {
  const change = changeOf("api_key.rotate", rows)
  return { ...change, after: { ...change.after, replaced_by: issued.snapshot } }
}

const hasEnded = ({ expires_at, revoked_at }: KeyRow, nowMillis: number): boolean =>
  revoked_at !== null || (expires_at !== null && expires_at.getTime() <= nowMillis)

/** A key with the same owner, name and limits, and the same end if it has one. */
const newKeyLike = (row: KeyRow): NewKey => {
  const { endpoints, environment, expiresAtMillis, label, models, name, ...key } = apiKeyOf(row)
  const { concurrentRequests, requestsPerMinute, tokensPerMinute } = key
  const limits = { concurrentRequests, requestsPerMinute, tokensPerMinute }
  return { endpoints, environment, expiresAtMillis, label, models, name, ...limits }
}

const makeAuthenticate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const lookUp = yield* makeKeyLookup((sha256) =>
    Effect.map(
      sql<CallerRow>`
        SELECT k.id, k.environment_id, e.project_id, p.organization_id, o.closed_at, k.endpoint_allowlist,
          k.model_allowlist, k.requests_per_minute, k.tokens_per_minute, k.concurrent_requests, k.expires_at,
          k.revoked_at,
          o.requests_per_minute AS organization_requests_per_minute,
          o.tokens_per_minute AS organization_tokens_per_minute, o.hard_cap AS organization_hard_cap,
          o.pricing::text AS organization_pricing, o.aliases::text AS organization_aliases,
          (
            SELECT array_agg(
              b.id::text ORDER BY array_position(ARRAY['total', 'month', 'week', 'day'], b.period), b.subject DESC, b.id
            )
            FROM budget b
            WHERE b.subject_id = ANY (k.budgets_of || ARRAY[p.organization_id, e.project_id, k.id])
              AND b.removed_at IS NULL
          ) AS budgets,
          o.concurrent_requests AS organization_concurrent_requests
        FROM api_key k JOIN environment e ON e.id = k.environment_id JOIN project p ON p.id = e.project_id
          JOIN organization o ON o.id = p.organization_id
        WHERE k.sha256 = decode(${sha256}, 'hex')`,
      ([row]) => Option.map(Option.fromUndefinedOr(row), callerOf)
    )
  )
  const clock = yield* Clock.Clock
  return (secret: Redacted.Redacted) =>
    Effect.flatMapEager(lookUp(secret), (found) => callerBehind(found, clock.currentTimeMillisUnsafe()))
})

const callerBehind = (
  { caller, closed, expiresAtMillis, revoked }: AuthenticatedKey,
  nowMillis: number
): Effect.Effect<Caller, AccessError> => {
  if (revoked) return Effect.fail(invalidKey("revoked"))
  if (closed) return Effect.fail(invalidKey("closed"))
  return nowMillis >= expiresAtMillis ? Effect.fail(invalidKey("expired")) : Effect.succeed(caller)
}
