/**
 * Organizations, their projects, and the environments of those. An API key belongs to one environment. Credit belongs
 * to the organization; projects and environments only group usage.
 */
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"

import {
  type EnvironmentId,
  environmentId,
  type OrganizationId,
  organizationId,
  type ProjectId,
  projectId
} from "../domain/Ids.ts"
import { currentTimestamp } from "../sql/Timestamp.ts"
import { type AccessError, notFound, orNameTaken, orAccessUnavailable } from "./AccessError.ts"

/** An environment with its project and organization. */
export interface EnvironmentDetails {
  readonly organization: { readonly id: OrganizationId; readonly name: string }
  readonly project: { readonly id: ProjectId; readonly name: string }
  readonly environment: { readonly id: EnvironmentId; readonly name: string }
}

interface EnvironmentRow {
  readonly organization_id: string
  readonly organization_name: string
  readonly project_id: string
  readonly project_name: string
  readonly environment_id: string
  readonly environment_name: string
}

export class Organizations extends Context.Service<
  Organizations,
  {
    /** Organizations may share a name. */
    readonly create: (name: string) => Effect.Effect<OrganizationId, AccessError>
    /** Project names are unique in their organization. */
    readonly createProject: (organization: OrganizationId, name: string) => Effect.Effect<ProjectId, AccessError>
    /** Environment names are unique in their project. */
    readonly createEnvironment: (project: ProjectId, name: string) => Effect.Effect<EnvironmentId, AccessError>
    /** All environments, oldest organization first. */
    readonly environments: Effect.Effect<ReadonlyArray<EnvironmentDetails>, AccessError>
  }
>()("tollgate/access/Organizations") {
  static readonly layer = Layer.effect(
    Organizations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom

      const create = Effect.fn("Organizations.create")(function* (name: string) {
        const id = organizationId(yield* random.uuidV7())
        const now = yield* currentTimestamp
        yield* orAccessUnavailable(sql`INSERT INTO organization (id, name, created_at) VALUES (${id}, ${name}, ${now})`)
        return id
      })

      const createProject = Effect.fn("Organizations.createProject")(function* (
        organization: OrganizationId,
        name: string
      ) {
        const id = projectId(yield* random.uuidV7())
        const now = yield* currentTimestamp
        const created = yield* sql`INSERT INTO project (id, organization_id, name, created_at)
          SELECT ${id}::uuid, id, ${name}, ${now} FROM organization WHERE id = ${organization}
          RETURNING id`.pipe(orNameTaken(name))
        return created.length === 0 ? yield* notFound("organization") : id
      })

      const createEnvironment = Effect.fn("Organizations.createEnvironment")(function* (
        project: ProjectId,
        name: string
      ) {
        const id = environmentId(yield* random.uuidV7())
        const now = yield* currentTimestamp
        const created = yield* sql`INSERT INTO environment (id, project_id, name, created_at)
          SELECT ${id}::uuid, id, ${name}, ${now} FROM project WHERE id = ${project}
          RETURNING id`.pipe(orNameTaken(name))
        return created.length === 0 ? yield* notFound("project") : id
      })

      const environments = sql<EnvironmentRow>`
        SELECT o.id AS organization_id, o.name AS organization_name, p.id AS project_id, p.name AS project_name,
          e.id AS environment_id, e.name AS environment_name
        FROM environment e JOIN project p ON p.id = e.project_id JOIN organization o ON o.id = p.organization_id
        ORDER BY o.id, p.id, e.id`.pipe(
        Effect.map((rows) => rows.map(detailsOf)),
        orAccessUnavailable,
        Effect.withSpan("Organizations.environments")
      )

      return Organizations.of({ create, createProject, createEnvironment, environments })
    })
  )
}

const detailsOf = (row: EnvironmentRow): EnvironmentDetails => ({
  organization: { id: organizationId(row.organization_id), name: row.organization_name },
  project: { id: projectId(row.project_id), name: row.project_name },
  environment: { id: environmentId(row.environment_id), name: row.environment_name }
})
