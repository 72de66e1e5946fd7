/**
 * Organizations. Credit belongs to an organization; its projects and their environments only group usage. An
 * organization is never deleted, because its journal is kept: it is closed, and from then on none of its keys is valid.
 */
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import type { AliasEntries } from "../domain/AliasEntries.ts"
import type { RateLimitNumbers } from "../domain/Caller.ts"
import { type OrganizationId, organizationId } from "../domain/Ids.ts"
import type { JsonObject } from "../domain/JsonObject.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import type { PricingEntry } from "../domain/PriceEntry.ts"
import { firstRow } from "../sql/FirstRow.ts"
import { currentTimestamp } from "../sql/Timestamp.ts"
import { type AccessError, notFound, orAccessUnavailable } from "./AccessError.ts"
import { AuditTrail, unlessSame } from "./AuditTrail.ts"

export interface Organization {
  readonly id: OrganizationId
  readonly name: string
  /** Of all its keys together. */
  readonly limits: RateLimitNumbers
  /** Below it the organization is alerted; `undefined` is the threshold of the gateway. */
  readonly lowBalance: Picodollars | undefined
  /** What it is charged, where that is not what the catalog says. */
  readonly pricing: PricingEntry | undefined
  /** The names that it gives to models. */
  readonly aliases: AliasEntries | undefined
  /** Whether its balance can never go below zero, whatever a provider counts. */
  readonly hardCap: boolean
  readonly createdAtMillis: number
  readonly closedAtMillis: number | undefined
}

/** What can be changed. What is left out stays as it is. */
export interface OrganizationChange {
  readonly name?: string | undefined
  readonly closed?: boolean | undefined
  /** `null` takes the limit away. */
  readonly requestsPerMinute?: number | null | undefined
  readonly tokensPerMinute?: number | null | undefined
  /** `null` goes back to the threshold of the gateway. */
  readonly lowBalance?: Picodollars | null | undefined
  /** Takes the place of an earlier pricing as a whole; `null` takes it away. */
  readonly pricing?: PricingEntry | null | undefined
  /** Take the place of the earlier names as a whole; `null` takes them away. */
  readonly aliases?: AliasEntries | null | undefined
  readonly hardCap?: boolean | undefined
  readonly concurrentRequests?: number | null | undefined
}

export interface OrganizationFilter {
  /** A part of the name, in letters of either case. */
  readonly name?: string | undefined
  readonly closed?: boolean | undefined
}

interface OrganizationRow {
  readonly id: string
  readonly name: string
  readonly created_at: Date
  readonly closed_at: Date | null
  readonly requests_per_minute: number | null
  readonly tokens_per_minute: number | null
  readonly low_balance: bigint | null
  readonly pricing: PricingEntry | null
  readonly aliases: AliasEntries | null
  readonly hard_cap: boolean
  readonly concurrent_requests: number | null
}

/** A row with its columns as JSON, for the audit trail. */
interface ChangedRow extends OrganizationRow {
  readonly snapshot: JsonObject
}

export class Organizations extends Context.Service<
  Organizations,
  {
    /** Organizations may share a name. */
    readonly create: (name: string) => Effect.Effect<Organization, AccessError>
    readonly get: (id: OrganizationId) => Effect.Effect<Organization, AccessError>
    /** The latest first. */
    readonly list: (filter: OrganizationFilter, page: PageRequest) => Effect.Effect<Page<Organization>, AccessError>
    /** Closing one that is closed keeps its first time of closing. What changes nothing is not recorded. */
    readonly update: (id: OrganizationId, change: OrganizationChange) => Effect.Effect<Organization, AccessError>
  }
>()("tollgate/access/Organizations") {
  static readonly layer = Layer.effect(
    Organizations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const trail = yield* AuditTrail

      const create = Effect.fn("Organizations.create")(function* (name: string) {
        const id = organizationId(yield* random.uuidV7())
        const now = yield* currentTimestamp
        return yield* orAccessUnavailable(sql<ChangedRow>`
          INSERT INTO organization (id, name, created_at) VALUES (${id}, ${name}, ${now})
          RETURNING *, to_jsonb(organization) AS snapshot`).pipe(
          Effect.flatMap(firstRow),
          Effect.map((row) => ({
            value: organizationOf(row),
            change: { action: "organization.create", subject: id, organization: id, after: row.snapshot }
          })),
          trail.recorded
        )
      })

      const get = Effect.fn("Organizations.get")(function* (id: OrganizationId) {
        const [row] = yield* orAccessUnavailable(sql<OrganizationRow>`SELECT * FROM organization WHERE id = ${id}`)
        return row === undefined ? yield* notFound("organization") : organizationOf(row)
      })

      const list: Organizations["Service"]["list"] = Effect.fn("Organizations.list")(function* (filter, page) {
        const rows = yield* orAccessUnavailable(sql<OrganizationRow>`
          SELECT * FROM organization
          WHERE ${sql.and([
            ...(page.cursor === undefined ? [] : [sql`id < ${page.cursor}::uuid`]),
            ...(filter.name === undefined ? [] : [sql`position(lower(${filter.name}) IN lower(name)) > 0`]),
            ...(filter.closed === undefined ? [] : [sql`(closed_at IS NOT NULL) = ${filter.closed}`])
          ])}
          ORDER BY id DESC LIMIT ${page.limit + 1}`)
        return pageOf(page, rows.map(organizationOf), ({ id }) => id)
      })

      const change = Effect.fnUntraced(function* (id: OrganizationId, changed: OrganizationChange) {
        const { closed, name } = changed
        const [before] = yield* orAccessUnavailable(sql<ChangedRow>`
          SELECT *, to_jsonb(organization) AS snapshot FROM organization WHERE id = ${id} FOR UPDATE`)
        if (before === undefined) return yield* notFound("organization")
        const now = yield* currentTimestamp
        const pricing = givenOr(changed.pricing, before.pricing)
        const aliases = givenOr(changed.aliases, before.aliases)
        const after = yield* orAccessUnavailable(sql<ChangedRow>`
          UPDATE organization SET
            name = ${name ?? before.name},
            closed_at = CASE WHEN ${closed ?? before.closed_at !== null} THEN coalesce(closed_at, ${now}) END,
            requests_per_minute = ${givenOr(changed.requestsPerMinute, before.requests_per_minute)}::integer,
            tokens_per_minute = ${givenOr(changed.tokensPerMinute, before.tokens_per_minute)}::integer,
            low_balance = ${givenOr(changed.lowBalance, before.low_balance)}::bigint,
            pricing = ${pricing === null ? null : JSON.stringify(pricing)}::text::jsonb,
            aliases = ${aliases === null ? null : JSON.stringify(aliases)}::text::jsonb,
            hard_cap = ${changed.hardCap ?? before.hard_cap},
            concurrent_requests = ${givenOr(changed.concurrentRequests, before.concurrent_requests)}::integer
          WHERE id = ${id} RETURNING *, to_jsonb(organization) AS snapshot`).pipe(Effect.flatMap(firstRow))
        const snapshots = { before: before.snapshot, after: after.snapshot }
        return {
          value: organizationOf(after),
          ...unlessSame({ action: actionOf(before, after), subject: id, organization: id, ...snapshots })
        }
      })

      const update = Effect.fn("Organizations.update")((id: OrganizationId, changed: OrganizationChange) =>
        trail.recorded(change(id, changed))
      )

      return Organizations.of({ create, get, list, update })
    })
  )
}

const givenOr = <A>(given: A | undefined, before: A): A => (given === undefined ? before : given)

const actionOf = (before: OrganizationRow, after: OrganizationRow): string => {
  if (before.closed_at === null && after.closed_at !== null) return "organization.close"
  return before.closed_at !== null && after.closed_at === null ? "organization.reopen" : "organization.update"
}

const organizationOf = (row: OrganizationRow): Organization => ({
  id: organizationId(row.id),
  name: row.name,
  limits: {
    requestsPerMinute: row.requests_per_minute ?? undefined,
    tokensPerMinute: row.tokens_per_minute ?? undefined,
    concurrentRequests: row.concurrent_requests ?? undefined
  },
  lowBalance: row.low_balance === null ? undefined : picodollars(row.low_balance),
  pricing: row.pricing ?? undefined,
  aliases: row.aliases ?? undefined,
  hardCap: row.hard_cap,
  createdAtMillis: row.created_at.getTime(),
  closedAtMillis: row.closed_at?.getTime()
})
