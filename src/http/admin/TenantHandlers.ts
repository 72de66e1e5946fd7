/** `/admin/v1/organizations`, `/admin/v1/projects` and `/admin/v1/environments`. */
import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"

import { type Organization, Organizations } from "../../access/Organizations.ts"
import { type Environment, type Project, Projects } from "../../access/Projects.ts"
import { AdminApi } from "../../api/admin/AdminApi.ts"
import type { EnvironmentBody, OrganizationBody, ProjectBody } from "../../api/admin/Tenants.ts"
import { InvalidRequest } from "../../api/Errors.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import type { CatalogData } from "../../catalog/CatalogData.ts"
import { pricingFault } from "../../catalog/ChargeRules.ts"
import { type AliasEntries, automaticModel } from "../../domain/AliasEntries.ts"
import { fromUsd, toUsd } from "../../domain/Money.ts"
import type { PricingEntry } from "../../domain/PriceEntry.ts"
import { listBody, pageRequestOf, timeOf, timeOrNull } from "../edge/ListWire.ts"
import { orAdminError } from "./AdminErrors.ts"

export const tenantHandlersLayer = HttpApiBuilder.group(AdminApi, "tenants", (handlers) =>
  Effect.gen(function* () {
    const organizations = yield* Organizations
    const projects = yield* Projects
    const { data } = yield* Catalog
    return handlers
      .handle("listOrganizations", ({ query }) =>
        organizations
          .list(
            { name: query.name, closed: query.closed === undefined ? undefined : query.closed === "true" },
            pageRequestOf(query)
          )
          .pipe(
            Effect.map((page) => listBody(page, organizationBody)),
            orAdminError
          )
      )
      .handle("createOrganization", ({ payload }) =>
        organizations.create(payload.name).pipe(Effect.map(organizationBody), orAdminError)
      )
      .handle("getOrganization", ({ params }) =>
        organizations.get(params.id).pipe(Effect.map(organizationBody), orAdminError)
      )
      .handle("updateOrganization", ({ params, payload }) =>
        Effect.gen(function* () {
          yield* checkPricing(data, payload.pricing)
          yield* checkAliases(data, payload.aliases)
          const lowBalance = yield* thresholdOf(payload.low_balance_usd)
          return yield* organizations
            .update(params.id, {
              name: payload.name,
              closed: payload.closed,
              requestsPerMinute: payload.requests_per_minute,
              tokensPerMinute: payload.tokens_per_minute,
              concurrentRequests: payload.concurrent_requests,
              lowBalance,
              pricing: payload.pricing,
              aliases: payload.aliases,
              hardCap: payload.hard_cap
            })
            .pipe(Effect.map(organizationBody), orAdminError)
        })
      )
      .handle("listProjects", ({ params, query }) =>
        projects.list(params.id, pageRequestOf(query)).pipe(
          Effect.map((page) => listBody(page, projectBody)),
          orAdminError
        )
      )
      .handle("createProject", ({ params, payload }) =>
        projects.create(params.id, payload.name).pipe(Effect.map(projectBody), orAdminError)
      )
      .handle("renameProject", ({ params, payload }) =>
        projects.rename(params.id, payload.name).pipe(Effect.map(projectBody), orAdminError)
      )
      .handle("listEnvironments", ({ params, query }) =>
        projects.listEnvironments(params.id, pageRequestOf(query)).pipe(
          Effect.map((page) => listBody(page, environmentBody)),
          orAdminError
        )
      )
      .handle("createEnvironment", ({ params, payload }) =>
        projects.createEnvironment(params.id, payload.name).pipe(Effect.map(environmentBody), orAdminError)
      )
      .handle("renameEnvironment", ({ params, payload }) =>
        projects.renameEnvironment(params.id, payload.name).pipe(Effect.map(environmentBody), orAdminError)
      )
  })
)

/** An amount that is not negative. */
const thresholdOf = (text: string | null | undefined) => {
  if (text === undefined || text === null) return Effect.succeed(text)
  return fromUsd(text).pipe(
    Option.filter((amount) => amount >= 0n),
    Option.match({
      onNone: () => Effect.fail(InvalidRequest.of("low_balance_usd: must not be negative")),
      onSome: Effect.succeed
    })
  )
}

/** A misspelt model would be charged as if nothing had been agreed. */
const checkPricing = ({ models }: CatalogData, pricing: PricingEntry | null | undefined) => {
  const fault = pricing ? pricingFault(models, pricing) : undefined
  return fault === undefined ? Effect.void : Effect.fail(InvalidRequest.of(fault))
}

/** Names of chat models, or of the choice of the gateway. */
const checkAliases = ({ models }: CatalogData, aliases: AliasEntries | null | undefined) => {
  const unknown = Object.entries(aliases ?? {}).find(
    ([, id]) => id !== automaticModel && models.get(id)?.kind !== "chat"
  )
  return unknown === undefined
    ? Effect.void
    : Effect.fail(InvalidRequest.of(`aliases.${unknown[0]}: must be the id of a chat model, or ${automaticModel}`))
}

const organizationBody = (organization: Organization): typeof OrganizationBody.Type => ({
  object: "organization",
  id: organization.id,
  name: organization.name,
  requests_per_minute: organization.limits.requestsPerMinute ?? null,
  tokens_per_minute: organization.limits.tokensPerMinute ?? null,
  low_balance_usd: organization.lowBalance === undefined ? null : toUsd(organization.lowBalance),
  pricing: organization.pricing ?? null,
  aliases: organization.aliases ?? null,
  hard_cap: organization.hardCap,
  concurrent_requests: organization.limits.concurrentRequests ?? null,
  created_at: timeOf(organization.createdAtMillis),
  closed_at: timeOrNull(organization.closedAtMillis)
})

const projectBody = (project: Project): typeof ProjectBody.Type => ({
  object: "project",
  id: project.id,
  organization_id: project.organization,
  name: project.name,
  created_at: timeOf(project.createdAtMillis)
})

const environmentBody = (environment: Environment): typeof EnvironmentBody.Type => ({
  object: "environment",
  id: environment.id,
  organization_id: environment.organization,
  project_id: environment.project,
  name: environment.name,
  created_at: timeOf(environment.createdAtMillis)
})
