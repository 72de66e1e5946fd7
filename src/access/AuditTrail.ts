/**
 * The record of every change that an operator made: who, when, what, and the changed row before and after. The rule: a
 * change and its record are written in one transaction, and a record is never changed.
 */
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, SqlError } from "effect/sql"

import { type AdminKeyId, adminKeyId, type OrganizationId, organizationId } from "../domain/Ids.ts"
import type { JsonObject } from "../domain/JsonObject.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import { currentTimestamp } from "../sql/Timestamp.ts"
import { type AccessError, orAccessUnavailable } from "./AccessError.ts"

/** Who makes a change. */
export interface Actor {
  readonly name: string
  /** Absent for the key of the environment, for commands on the database, and for the gateway itself. */
  readonly key?: AdminKeyId
}

/** Whom the changes that are made now are recorded for. The default is the gateway, which sets up its database. */
export const CurrentActor = Context.Reference<Actor>("tollgate/access/AuditTrail/CurrentActor", {
  defaultValue: () => ({ name: "gateway" })
})

/** What was done to what. */
export interface Change {
  /** The kind of thing and what was done to it, such as `api_key.revoke`. */
  readonly action: string
  /** The id of the thing. */
  readonly subject: string
  /** Whom it belongs to; absent for what belongs to the operator. */
  readonly organization?: OrganizationId
  /** Absent for what was created. */
  readonly before?: JsonObject
  /** Absent for what is gone. */
  readonly after?: JsonObject
}

/** The change, unless it left its row as it was. */
export const unlessSame = (change: Change): { readonly change?: Change } =>
  change.before !== undefined && JSON.stringify(change.before) === JSON.stringify(change.after) ? {} : { change }

/** A recorded change. */
export interface AuditEvent extends Change {
  readonly id: string
  readonly atMillis: number
  readonly actor: Actor
}

export interface AuditFilter {
  readonly organization?: OrganizationId | undefined
  readonly subject?: string | undefined
}

interface EventRow {
  readonly id: string
  readonly at: Date
  readonly actor: string
  readonly actor_key_id: string | null
  readonly action: string
  readonly subject_id: string
  readonly organization_id: string | null
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

export class AuditTrail extends Context.Service<
  AuditTrail,
  {
    /**
     * Runs a change in a transaction, together with the record of it. Nothing is recorded for a change that was not
     * made, which is one without `change`.
     */
    readonly recorded: <A, E, R>(
      effect: Effect.Effect<{ readonly change?: Change | undefined; readonly value: A }, E, R>
    ) => Effect.Effect<A, E | AccessError, R>
    /** The latest changes first. */
    readonly list: (filter: AuditFilter, page: PageRequest) => Effect.Effect<Page<AuditEvent>, AccessError>
  }
>()("tollgate/access/AuditTrail") {
  static readonly layer = Layer.effect(
    AuditTrail,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom

      const record = Effect.fnUntraced(function* (change: Change) {
        const actor = yield* CurrentActor
        const id = yield* random.uuidV7()
        const now = yield* currentTimestamp
        yield* sql`
          INSERT INTO audit_event (id, at, actor, actor_key_id, action, subject_id, organization_id, before, after)
          VALUES (${id}, ${now}, ${actor.name}, ${actor.key ?? null}, ${change.action}, ${change.subject},
            ${change.organization ?? null}, ${jsonOf(change.before)}::jsonb, ${jsonOf(change.after)}::jsonb)`
      })

      const recorded: AuditTrail["Service"]["recorded"] = (effect) =>
        effect.pipe(
          Effect.tap(({ change }) => (change === undefined ? Effect.void : orAccessUnavailable(record(change)))),
          Effect.map(({ value }) => value),
          sql.withTransaction,
          Effect.catchIf(SqlError.isSqlError, (error) => orAccessUnavailable(Effect.fail(error)))
        )

      const list: AuditTrail["Service"]["list"] = Effect.fn("AuditTrail.list")(function* (filter, page) {
        const rows = yield* orAccessUnavailable(sql<EventRow>`
          SELECT * FROM audit_event
          WHERE ${sql.and([
            ...(page.cursor === undefined ? [] : [sql`id < ${page.cursor}::uuid`]),
            ...(filter.organization === undefined ? [] : [sql`organization_id = ${filter.organization}::uuid`]),
            ...(filter.subject === undefined ? [] : [sql`subject_id = ${filter.subject}::uuid`])
          ])}
          ORDER BY id DESC LIMIT ${page.limit + 1}`)
        return pageOf(page, rows.map(eventOf), ({ id }) => id)
      })

      return AuditTrail.of({ recorded, list })
    })
  )
}

const jsonOf = (row: JsonObject | undefined): string | null => (row === undefined ? null : JSON.stringify(row))

const eventOf = (row: EventRow): AuditEvent => ({
  id: row.id,
  atMillis: row.at.getTime(),
  actor: { name: row.actor, ...(row.actor_key_id !== null && { key: adminKeyId(row.actor_key_id) }) },
  action: row.action,
  subject: row.subject_id,
  ...(row.organization_id !== null && { organization: organizationId(row.organization_id) }),
  ...(row.before !== null && { before: row.before }),
  ...(row.after !== null && { after: row.after })
})
