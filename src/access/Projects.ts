/**
 * The projects of organizations, and the environments of those. An API key belongs to one environment, and the usage of
 * an organization can be told by them.
 */
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError, type Statement } from "effect/sql"

import {
  type EnvironmentId,
  environmentId,
  type OrganizationId,
  organizationId,
  type ProjectId,
  projectId
} from "../domain/Ids.ts"
import type { JsonObject } from "../domain/JsonObject.ts"
import { type Page, type PageRequest, pageOf } from "../domain/Page.ts"
import { currentTimestamp } from "../sql/Timestamp.ts"
import { type AccessError, notFound, orAccessUnavailable, orNameTaken } from "./AccessError.ts"
import { AuditTrail, unlessSame } from "./AuditTrail.ts"

export interface Project {
  readonly id: ProjectId
  readonly organization: OrganizationId
  readonly name: string
  readonly createdAtMillis: number
}

export interface Environment {
  readonly id: EnvironmentId
  readonly organization: OrganizationId
  readonly project: ProjectId
  readonly name: string
  readonly createdAtMillis: number
}

interface Row {
  readonly id: string
  readonly organization_id: string
  readonly project_id: string
  readonly name: string
  readonly created_at: Date
  /** The row as JSON, for the audit trail. */
  readonly snapshot: JsonObject
}

export class Projects extends Context.Service<
  Projects,
  {
    /** Names are unique in their organization. */
    readonly create: (organization: OrganizationId, name: string) => Effect.Effect<Project, AccessError>
    readonly rename: (id: ProjectId, name: string) => Effect.Effect<Project, AccessError>
    /** The latest first. */
    readonly list: (organization: OrganizationId, page: PageRequest) => Effect.Effect<Page<Project>, AccessError>
    /** Names are unique in their project. */
    readonly createEnvironment: (project: ProjectId, name: string) => Effect.Effect<Environment, AccessError>
    readonly renameEnvironment: (id: EnvironmentId, name: string) => Effect.Effect<Environment, AccessError>
    /** The latest first. */
    readonly listEnvironments: (project: ProjectId, page: PageRequest) => Effect.Effect<Page<Environment>, AccessError>
  }
>()("tollgate/access/Projects") {
  static readonly layer = Layer.effect(
    Projects,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const trail = yield* AuditTrail

      const create: Projects["Service"]["create"] = Effect.fn("Projects.create")(function* (organization, name) {
        const id = yield* random.uuidV7()
        const now = yield* currentTimestamp
        const rows = sql<Row>`
          INSERT INTO project (id, organization_id, name, created_at)
          SELECT ${id}::uuid, id, ${name}, ${now} FROM organization WHERE id = ${organization}
          RETURNING *, id AS project_id, to_jsonb(project) AS snapshot`.pipe(orNameTaken(name))
        return yield* trail.recorded(changed("project.create", "organization", rows, projectOf))
      })

      const createEnvironment: Projects["Service"]["createEnvironment"] = Effect.fn("Projects.createEnvironment")(
        function* (project, name) {
          const id = yield* random.uuidV7()
          const now = yield* currentTimestamp
          const rows = sql<Row>`
            INSERT INTO environment (id, project_id, name, created_at)
            SELECT ${id}::uuid, id, ${name}, ${now} FROM project WHERE id = ${project}
            RETURNING *, (SELECT organization_id FROM project WHERE id = project_id), to_jsonb(environment) AS snapshot
          `.pipe(orNameTaken(name))
          return yield* trail.recorded(changed("environment.create", "project", rows, environmentOf))
        }
      )

      const rename: Projects["Service"]["rename"] = Effect.fn("Projects.rename")((id, name) => {
        const before = sql<Row>`SELECT to_jsonb(project) AS snapshot FROM project WHERE id = ${id} FOR UPDATE`
        const after = sql<Row>`
          UPDATE project SET name = ${name} WHERE id = ${id}
          RETURNING *, id AS project_id, to_jsonb(project) AS snapshot`.pipe(orNameTaken(name))
        return trail.recorded(changed("project.rename", "project", after, projectOf, before))
      })

      const renameEnvironment: Projects["Service"]["renameEnvironment"] = Effect.fn("Projects.renameEnvironment")((
        id,
        name
      ) => {
        const before = sql<Row>`SELECT to_jsonb(environment) AS snapshot FROM environment WHERE id = ${id} FOR UPDATE`
        const after = sql<Row>`
            UPDATE environment SET name = ${name} WHERE id = ${id}
            RETURNING *, (SELECT organization_id FROM project WHERE id = project_id), to_jsonb(environment) AS snapshot
          `.pipe(orNameTaken(name))
        return trail.recorded(changed("environment.rename", "environment", after, environmentOf, before))
      })

      const list: Projects["Service"]["list"] = Effect.fn("Projects.list")(function* (organization, page) {
        const rows = yield* orAccessUnavailable(sql<Row>`
          SELECT *, id AS project_id FROM project
          WHERE ${sql.and([sql`organization_id = ${organization}`, ...pageAfter(sql, page)])}
          ORDER BY id DESC LIMIT ${page.limit + 1}`)
        return pageOf(page, rows.map(projectOf), ({ id }) => id)
      })

      const listEnvironments: Projects["Service"]["listEnvironments"] = Effect.fn("Projects.listEnvironments")(
        function* (project, page) {
          const rows = yield* orAccessUnavailable(sql<Row>`
            SELECT *, (SELECT organization_id FROM project WHERE id = project_id) FROM environment
            WHERE ${sql.and([sql`project_id = ${project}`, ...pageAfter(sql, page)])}
            ORDER BY id DESC LIMIT ${page.limit + 1}`)
          return pageOf(page, rows.map(environmentOf), ({ id }) => id)
        }
      )

      return Projects.of({ create, rename, list, createEnvironment, renameEnvironment, listEnvironments })
    })
  )
}

const pageAfter = (sql: SqlClient.SqlClient, { cursor }: PageRequest): ReadonlyArray<Statement.Fragment> =>
  cursor === undefined ? [] : [sql`id < ${cursor}::uuid`]

/** A change that one statement makes, with the row before it. No row means that `missing` does not exist. */
const changed = Effect.fnUntraced(function* <A, R>(
  action: string,
  missing: "organization" | "project" | "environment",
  after: Effect.Effect<ReadonlyArray<Row>, AccessError, R>,
  read: (row: Row) => A,
  before: Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError, R> = Effect.succeed([])
) {
  const [old] = yield* orAccessUnavailable(before)
  const [row] = yield* after
  if (row === undefined) return yield* notFound(missing)
  const organization = organizationId(row.organization_id)
  const snapshots = { ...(old && { before: old.snapshot }), after: row.snapshot }
  return { value: read(row), ...unlessSame({ action, subject: row.id, organization, ...snapshots }) }
})

const projectOf = (row: Row): Project => ({
  id: projectId(row.id),
  organization: organizationId(row.organization_id),
  name: row.name,
  createdAtMillis: row.created_at.getTime()
})

const environmentOf = (row: Row): Environment => ({
  id: environmentId(row.id),
  organization: organizationId(row.organization_id),
  project: projectId(row.project_id),
  name: row.name,
  createdAtMillis: row.created_at.getTime()
})
