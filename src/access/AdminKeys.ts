/**
 * The keys of operators. The first is in the environment of the gateway, under `ADMIN_API_KEY`; with it others are made
 * that have a name each, so that the audit trail says who made a change, and that can be revoked.
 */
import { timingSafeEqual } from "node:crypto"

import { Context, Effect, Layer, Option, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import { type AdminKeyId, adminKeyId } from "../domain/Ids.ts"
import type { JsonObject } from "../domain/JsonObject.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import { firstRow } from "../sql/FirstRow.ts"
import { currentTimestamp } from "../sql/Timestamp.ts"
import { type AccessError, invalidKey, notFound, orAccessUnavailable, orNameTaken } from "./AccessError.ts"
import { type Actor, AuditTrail } from "./AuditTrail.ts"
import { displayPrefixOf, generateSecret, hashOfSecret, makeKeyLookup } from "./Secrets.ts"

/** The prefix of a generated key takes a part of the characters by which it is recognised. */
const secretPrefix = "tg-admin-"
const displayedLength = secretPrefix.length + 6

/** A key as it may be shown, which is without the secret. */
export interface AdminKey {
  readonly id: AdminKeyId
  readonly name: string
  readonly displayPrefix: string
  readonly createdAtMillis: number
  readonly revokedAtMillis: number | undefined
}

/** A key that has just been issued. The secret cannot be read again later. */
export interface IssuedAdminKey extends AdminKey {
  readonly secret: Redacted.Redacted
}

interface AdminKeyRow {
  readonly id: string
  readonly name: string
  readonly display_prefix: string
  readonly created_at: Date
  readonly revoked_at: Date | null
  readonly snapshot: JsonObject
}

export interface AdminKeyOptions {
  /** The key of the environment; it has no row in the database and cannot be revoked. */
  readonly environmentKey: Option.Option<Redacted.Redacted>
}

export class AdminKeys extends Context.Service<
  AdminKeys,
  {
    /** Who has this key. Fails with `InvalidKey`, or with `Unavailable` if the database does not answer. */
    readonly authenticate: (secret: Redacted.Redacted) => Effect.Effect<Actor, AccessError>
    /** Names are unique among the keys that are not revoked. */
    readonly issue: (name: string) => Effect.Effect<IssuedAdminKey, AccessError>
    /** A key for an operator who has none: `None` if the environment has one or the database ever had one. */
    readonly issueFirst: Effect.Effect<Option.Option<IssuedAdminKey>, AccessError>
    /** The latest first. */
    readonly list: (page: PageRequest) => Effect.Effect<Page<AdminKey>, AccessError>
    /** Revokes a key for good. A key that is revoked already keeps its first time of revocation. */
    readonly revoke: (id: AdminKeyId) => Effect.Effect<AdminKey, AccessError>
  }
>()("tollgate/access/AdminKeys") {
  static readonly layer = (options: AdminKeyOptions) =>
    Layer.effect(
      AdminKeys,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const random = yield* SecureRandom.SecureRandom
        const trail = yield* AuditTrail
        const authenticate = yield* makeAdminAuthentication(options)
        const generate = Effect.provideService(generateSecret(secretPrefix), SecureRandom.SecureRandom, random)
        const snapshot = sql.literal("to_jsonb(admin_key) - 'sha256' AS snapshot")

        const issue = Effect.fn("AdminKeys.issue")(function* (name: string) {
          const secret = yield* generate
          const id = yield* random.uuidV7()
          const now = yield* currentTimestamp
          return yield* sql<AdminKeyRow>`
            INSERT INTO admin_key (id, name, sha256, display_prefix, created_at)
            VALUES (${id}, ${name}, decode(${hashOfSecret(secret)}, 'hex'),
              ${displayPrefixOf(secret, displayedLength)}, ${now})
            RETURNING *, ${snapshot}`.pipe(
            orNameTaken(name),
            Effect.flatMap(firstRow),
            Effect.map((row) => ({
              value: { ...adminKeyOf(row), secret },
              change: { action: "admin_key.issue", subject: id, after: row.snapshot }
            })),
            trail.recorded
          )
        })

        const list = Effect.fn("AdminKeys.list")(function* (page: PageRequest) {
          const after = page.cursor === undefined ? [] : [sql`id < ${page.cursor}::uuid`]
          const rows = yield* orAccessUnavailable(sql<AdminKeyRow>`
            SELECT * FROM admin_key WHERE ${sql.and(after)} ORDER BY id DESC LIMIT ${page.limit + 1}`)
          return pageOf(page, rows.map(adminKeyOf), ({ id }) => id)
        })

        const revocation = Effect.fnUntraced(function* (id: AdminKeyId) {
          const now = yield* currentTimestamp
          const [before] = yield* orAccessUnavailable(sql<AdminKeyRow>`
            SELECT *, ${snapshot} FROM admin_key WHERE id = ${id} FOR UPDATE`)
          if (before === undefined) return yield* notFound("key")
          if (before.revoked_at !== null) return { value: adminKeyOf(before) }
          const after = yield* orAccessUnavailable(sql<AdminKeyRow>`
            UPDATE admin_key SET revoked_at = ${now} WHERE id = ${id} RETURNING *, ${snapshot}`).pipe(
            Effect.flatMap(firstRow)
          )
          const snapshots = { before: before.snapshot, after: after.snapshot }
          return { value: adminKeyOf(after), change: { action: "admin_key.revoke", subject: id, ...snapshots } }
        })

        const revoke = Effect.fn("AdminKeys.revoke")((id: AdminKeyId) => trail.recorded(revocation(id)))

        const issueFirst = Effect.gen(function* () {
          if (Option.isSome(options.environmentKey)) return Option.none()
          const [any] = yield* orAccessUnavailable(sql`SELECT 1 FROM admin_key LIMIT 1`)
          return any === undefined ? Option.some(yield* issue("first start")) : Option.none()
        })

        return AdminKeys.of({ authenticate, issue, issueFirst, list, revoke })
      })
    )
}

const makeAdminAuthentication = Effect.fnUntraced(function* ({ environmentKey }: AdminKeyOptions) {
  const sql = yield* SqlClient.SqlClient
  const ofEnvironment = Option.map(environmentKey, (secret) => Buffer.from(hashOfSecret(secret)))
  const lookUp = yield* makeKeyLookup((sha256) =>
    Effect.map(sql<AdminKeyRow>`SELECT * FROM admin_key WHERE sha256 = decode(${sha256}, 'hex')`, ([row]) =>
      Option.map(Option.fromUndefinedOr(row), adminKeyOf)
    )
  )
  return Effect.fnUntraced(function* (secret: Redacted.Redacted) {
    const given = Buffer.from(hashOfSecret(secret))
    if (Option.exists(ofEnvironment, (known) => timingSafeEqual(known, given))) {
      return { name: "ADMIN_API_KEY" } satisfies Actor
    }
    const key = yield* lookUp(secret)
    if (key.revokedAtMillis !== undefined) return yield* invalidKey("revoked")
    return { name: key.name, key: key.id } satisfies Actor
  })
})

const adminKeyOf = (row: AdminKeyRow): AdminKey => ({
  id: adminKeyId(row.id),
  name: row.name,
  displayPrefix: row.display_prefix,
  createdAtMillis: row.created_at.getTime(),
  revokedAtMillis: row.revoked_at?.getTime()
})
