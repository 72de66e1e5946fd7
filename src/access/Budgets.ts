/**
 * Budgets, as operators manage them. The ledger keeps what is spent and held of them; which of them apply to a request
 * comes with its API key, so a new one is known on every replica as soon as its keys are looked up again.
 */
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type Statement } from "effect/sql"

import type { BudgetPeriod, BudgetState, BudgetSubject } from "../domain/Budget.ts"
import {
  type ApiKeyId,
  type BudgetId,
  budgetId,
  type OrganizationId,
  organizationId,
  type ProjectId
} from "../domain/Ids.ts"
import type { JsonObject } from "../domain/JsonObject.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import { firstRow } from "../sql/FirstRow.ts"
import { currentTimestamp } from "../sql/Timestamp.ts"
import { type AccessError, notFound, orAccessUnavailable, orBudgetExists } from "./AccessError.ts"
import { AuditTrail, unlessSame } from "./AuditTrail.ts"

export interface Budget extends BudgetState {
  readonly organization: OrganizationId
  /** The id of the key, the project or the organization. */
  readonly subjectId: string
  readonly periodStartMillis: number
  readonly createdAtMillis: number
  readonly removedAtMillis: number | undefined
}

/** What a budget is of: the key if there is one, else the project, else the organization. They belong to each other. */
export interface BudgetOwner {
  readonly organization?: OrganizationId | undefined
  readonly project?: ProjectId | undefined
  readonly key?: ApiKeyId | undefined
}

export interface NewBudget extends BudgetOwner {
  /** More than zero. */
  readonly amount: Picodollars
  readonly period: BudgetPeriod
  /** An IANA name that is known to exist. */
  readonly timeZone: string
}

/** Budgets of exactly this key or project, or all in this organization. */
export interface BudgetFilter extends BudgetOwner {
  readonly removed?: boolean | undefined
}

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly subject: BudgetSubject
  readonly subject_id: string
  readonly amount: bigint
  readonly period: BudgetPeriod
  readonly time_zone: string
  readonly period_start: Date
  readonly renews_at: Date | null
  readonly spent: bigint
  readonly held: bigint
  readonly created_at: Date
  readonly removed_at: Date | null
}

interface ChangedRow {
  readonly organization_id: string
  /** The row as JSON, for the audit trail. */
  readonly snapshot: JsonObject
}

export class Budgets extends Context.Service<
  Budgets,
  {
    /** Fails with `BudgetExists` if there is one of the same subject and period. */
    readonly create: (budget: NewBudget) => Effect.Effect<Budget, AccessError>
    readonly get: (id: BudgetId) => Effect.Effect<Budget, AccessError>
    /** The latest first. */
    readonly list: (filter: BudgetFilter, page: PageRequest) => Effect.Effect<Page<Budget>, AccessError>
    /** Those with these ids that are not removed, in order of them. */
    readonly find: (ids: ReadonlyArray<BudgetId>) => Effect.Effect<ReadonlyArray<Budget>, AccessError>
    readonly setAmount: (id: BudgetId, amount: Picodollars) => Effect.Effect<Budget, AccessError>
    /** A budget that is removed already keeps its first time of removal. */
    readonly remove: (id: BudgetId) => Effect.Effect<Budget, AccessError>
  }
>()("tollgate/access/Budgets") {
  static readonly layer = Layer.effect(
    Budgets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const trail = yield* AuditTrail

      const read = Effect.fnUntraced(function* (conditions: Statement.Fragment, limit = 1) {
        const now = yield* currentTimestamp
        const rows = yield* orAccessUnavailable(sql<Row>`
          SELECT * FROM budgets_at(${now}) WHERE ${conditions} ORDER BY id DESC LIMIT ${limit}`)
        return rows.map(budgetOf)
      })

      const get = Effect.fn("Budgets.get")(function* (id: BudgetId) {
        const [budget] = yield* read(sql`id = ${id}::uuid`)
        return budget ?? (yield* notFound("budget"))
      })

      const create: Budgets["Service"]["create"] = Effect.fn("Budgets.create")(function* (budget) {
        const id = budgetId(yield* random.uuidV7())
        const now = yield* currentTimestamp
        return yield* Effect.gen(function* () {
          const { missing, rows } = yield* insert(sql, { ...budget, id, now })
          const [row] = rows
          if (row === undefined) return yield* notFound(missing)
          return { value: yield* get(id), change: changeOf("budget.create", id, row) }
        }).pipe(trail.recorded)
      })

      const list: Budgets["Service"]["list"] = Effect.fn("Budgets.list")(function* (filter, page) {
        const subject = filter.key ?? filter.project
        const conditions = sql.and([
          ...(page.cursor === undefined ? [] : [sql`id < ${page.cursor}::uuid`]),
          ...(filter.organization === undefined ? [] : [sql`organization_id = ${filter.organization}::uuid`]),
          ...(subject === undefined ? [] : [sql`subject_id = ${subject}::uuid`]),
          ...(filter.removed === undefined ? [] : [sql`(removed_at IS NOT NULL) = ${filter.removed}`])
        ])
        return pageOf(page, yield* read(conditions, page.limit + 1), ({ id }) => id)
      })

      const find: Budgets["Service"]["find"] = Effect.fn("Budgets.find")(function* (ids) {
        if (ids.length === 0) return []
        const found = yield* read(sql`id = ANY (${ids}::uuid[]) AND removed_at IS NULL`, ids.length)
        return found.toSorted((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
      })

      const change = (action: string, id: BudgetId, assignment: Statement.Fragment) =>
        Effect.gen(function* () {
          const [before] = yield* orAccessUnavailable(sql<ChangedRow>`
            SELECT organization_id, to_jsonb(budget) AS snapshot FROM budget WHERE id = ${id}::uuid FOR NO KEY UPDATE`)
          if (before === undefined) return yield* notFound("budget")
          const after = yield* orAccessUnavailable(sql<ChangedRow>`
            UPDATE budget SET ${assignment} WHERE id = ${id}::uuid
            RETURNING organization_id, to_jsonb(budget) AS snapshot`).pipe(Effect.flatMap(firstRow))
          return { value: yield* get(id), ...unlessSame(changeOf(action, id, after, before)) }
        }).pipe(trail.recorded)

      const setAmount: Budgets["Service"]["setAmount"] = Effect.fn("Budgets.setAmount")((id, amount) =>
        change("budget.update", id, sql`amount = ${amount}::bigint`)
      )

      const remove: Budgets["Service"]["remove"] = Effect.fn("Budgets.remove")(function* (id) {
        const now = yield* currentTimestamp
        return yield* change("budget.remove", id, sql`removed_at = coalesce(removed_at, ${now})`)
      })

      return Budgets.of({ create, get, list, find, setAmount, remove })
    })
  )
}

interface BudgetToInsert extends NewBudget {
  readonly id: BudgetId
  readonly now: Statement.Fragment
}

/** Inserts a budget. No row means that `missing` does not exist. */
const insert = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { id, now, ...budget }: BudgetToInsert) {
  const { missing, owners, subject } = ownersOf(sql, budget)
  const rows = yield* sql<ChangedRow>`
    INSERT INTO budget
      (id, organization_id, subject, subject_id, amount, period, time_zone, period_start, created_at)
    SELECT ${id}::uuid, organization_id, ${subject}, subject_id, ${budget.amount}::bigint, ${budget.period},
      ${budget.timeZone}, coalesce(budget_period_start(${budget.period}, ${budget.timeZone}, ${now}), ${now}), ${now}
    FROM (${owners}) AS owner
    RETURNING organization_id, to_jsonb(budget) AS snapshot`.pipe(orBudgetExists(budget.period))
  return { missing, rows }
})

/** What a budget is to be of, as a query for (organization_id, subject_id) that finds nothing if it does not exist. */
const ownersOf = (sql: SqlClient.SqlClient, { key, organization, project }: BudgetOwner) => {
  const within = organization === undefined ? sql`true` : sql`p.organization_id = ${organization}::uuid`
  if (key !== undefined) {
    const owners = sql`
      SELECT p.organization_id, k.id AS subject_id
      FROM api_key k JOIN environment e ON e.id = k.environment_id JOIN project p ON p.id = e.project_id
      WHERE k.id = ${key}::uuid AND ${within}`
    return { subject: "api_key", missing: "key", owners } as const
  }
  if (project !== undefined) {
    const owners = sql`
      SELECT p.organization_id, p.id AS subject_id FROM project p WHERE p.id = ${project}::uuid AND ${within}`
    return { subject: "project", missing: "project", owners } as const
  }
  const owners = sql`SELECT id AS organization_id, id AS subject_id FROM organization WHERE id = ${organization}::uuid`
  return { subject: "organization", missing: "organization", owners } as const
}

/**
 * The function that hands the budgets of a key on to the key that replaces it. The old one, and those that it has
 * replaced itself, count in these budgets until they end, and the new one in all in which the old one did: so nobody
 * gets more to spend by a new key.
 */
export const makeHandOnBudgets = Effect.map(SqlClient.SqlClient, (sql) =>
  Effect.fnUntraced(function* (from: ApiKeyId, to: ApiKeyId) {
    // In the order in which the ledger locks them.
    const live = yield* sql<{ readonly id: string }>`
      SELECT id FROM budget WHERE subject_id = ${from}::uuid AND removed_at IS NULL ORDER BY id FOR NO KEY UPDATE`
    yield* sql`UPDATE budget SET subject_id = ${to}::uuid WHERE id = ANY (${live.map(({ id }) => id)}::uuid[])`
    yield* sql`
      UPDATE api_key SET budgets_of = CASE id
        WHEN ${to}::uuid THEN (SELECT budgets_of FROM api_key WHERE id = ${from}::uuid)
        WHEN ${from}::uuid THEN array_append(budgets_of, ${to}::uuid)
        ELSE array_replace(budgets_of, ${from}::uuid, ${to}::uuid)
      END
      WHERE id IN (${to}::uuid, ${from}::uuid) OR ${from}::uuid = ANY (budgets_of)`
  }, orAccessUnavailable)
)

const changeOf = (action: string, id: BudgetId, after: ChangedRow, before?: ChangedRow) => ({
  action,
  subject: id,
  organization: organizationId(after.organization_id),
  ...(before && { before: before.snapshot }),
  after: after.snapshot
})

const budgetOf = (row: Row): Budget => ({
  id: budgetId(row.id),
  organization: organizationId(row.organization_id),
  subject: row.subject,
  subjectId: row.subject_id,
  amount: picodollars(row.amount),
  period: row.period,
  timeZone: row.time_zone,
  periodStartMillis: row.period_start.getTime(),
  renewsAtMillis: row.renews_at?.getTime(),
  spent: picodollars(row.spent),
  held: picodollars(row.held),
  createdAtMillis: row.created_at.getTime(),
  removedAtMillis: row.removed_at?.getTime()
})
