/** The routes for organizations, their projects and environments. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import { AliasEntries } from "../../domain/AliasEntries.ts"
import { EnvironmentId, OrganizationId, ProjectId } from "../../domain/Ids.ts"
import { PricingEntry } from "../../domain/PriceEntry.ts"
import { RequestValidation, strictBodies, Time } from "../RequestRules.ts"
import {
  AdminAuthorization,
  BooleanText,
  ConcurrentRequests,
  listOf,
  Name,
  PageQuery,
  RequestsPerMinute,
  summary,
  TokensPerMinute,
  UsdAmount
} from "./AdminRoutes.ts"

const Aliases = AliasEntries.annotate({ identifier: "OrganizationAliases" })
const Pricing = PricingEntry.annotate({ identifier: "OrganizationPricing" })

export const OrganizationBody = Schema.Struct({
  object: Schema.Literal("organization"),
  id: OrganizationId,
  name: Schema.String,
  requests_per_minute: Schema.NullOr(Schema.Int).annotate({ description: "Of all its keys together; null: no limit." }),
  tokens_per_minute: Schema.NullOr(Schema.Int).annotate({ description: "Of all its keys together; null: no limit." }),
  low_balance_usd: Schema.NullOr(UsdAmount).annotate({
    description: "Below it the organization is alerted; null: below `ALERT_LOW_BALANCE_USD`."
  }),
  pricing: Schema.NullOr(Pricing).annotate({ description: "What it is charged; null: what the catalog says." }),
  aliases: Schema.NullOr(Aliases).annotate({ description: "The names that it gives to models; null: none." }),
  hard_cap: Schema.Boolean.annotate({
    description: "Whether the balance can never go below zero, whatever a provider counts."
  }),
  concurrent_requests: Schema.NullOr(Schema.Int).annotate({ description: "Of all its keys together; null: no limit." }),
  created_at: Time,
  closed_at: Schema.NullOr(Time).annotate({ description: "From then on none of its keys is valid." })
}).annotate({ identifier: "Organization" })

export const ProjectBody = Schema.Struct({
  object: Schema.Literal("project"),
  id: ProjectId,
  organization_id: OrganizationId,
  name: Schema.String,
  created_at: Time
}).annotate({ identifier: "Project" })

export const EnvironmentBody = Schema.Struct({
  object: Schema.Literal("environment"),
  id: EnvironmentId,
  organization_id: OrganizationId,
  project_id: ProjectId,
  name: Schema.String,
  created_at: Time
}).annotate({ identifier: "Environment" })

const OrganizationPatch = Schema.Struct({
  name: Schema.optionalKey(Name),
  closed: Schema.optionalKey(Schema.Boolean),
  requests_per_minute: Schema.optionalKey(Schema.NullOr(RequestsPerMinute)),
  tokens_per_minute: Schema.optionalKey(Schema.NullOr(TokensPerMinute)),
  low_balance_usd: Schema.optionalKey(Schema.NullOr(UsdAmount)),
  pricing: Schema.optionalKey(Schema.NullOr(Pricing)).annotateKey({
    description: "What it is charged from now on, as a whole; null: what the catalog says."
  }),
  aliases: Schema.optionalKey(Schema.NullOr(Aliases)).annotateKey({
    description: "The names that it gives to models from now on, as a whole; null: none."
  }),
  hard_cap: Schema.optionalKey(Schema.Boolean),
  concurrent_requests: Schema.optionalKey(Schema.NullOr(ConcurrentRequests))
})

const NamePayload = Schema.Struct({ name: Name })
const organizationPath = "/admin/v1/organizations/:id"

export const TenantRoutes = HttpApiGroup.make("tenants")
  .add(
    HttpApiEndpoint.get("listOrganizations", "/admin/v1/organizations", {
      query: Schema.Struct({
        ...PageQuery.fields,
        name: Schema.optionalKey(Schema.String.annotate({ description: "Only names that contain this." })),
        closed: Schema.optionalKey(BooleanText)
      }),
      success: listOf(OrganizationBody)
    }).annotateMerge(summary("List organizations")),
    HttpApiEndpoint.post("createOrganization", "/admin/v1/organizations", {
      payload: NamePayload,
      success: OrganizationBody
    }).annotateMerge(summary("Open an organization")),
    HttpApiEndpoint.get("getOrganization", organizationPath, {
      params: { id: OrganizationId },
      success: OrganizationBody
    }).annotateMerge(summary("One organization")),
    HttpApiEndpoint.patch("updateOrganization", organizationPath, {
      params: { id: OrganizationId },
      payload: OrganizationPatch,
      success: OrganizationBody
    }).annotateMerge(summary("Rename, limit, price, close or reopen an organization")),
    HttpApiEndpoint.get("listProjects", `${organizationPath}/projects`, {
      params: { id: OrganizationId },
      query: PageQuery,
      success: listOf(ProjectBody)
    }).annotateMerge(summary("List the projects of an organization")),
    HttpApiEndpoint.post("createProject", `${organizationPath}/projects`, {
      params: { id: OrganizationId },
      payload: NamePayload,
      success: ProjectBody
    }).annotateMerge(summary("Create a project")),
    HttpApiEndpoint.patch("renameProject", "/admin/v1/projects/:id", {
      params: { id: ProjectId },
      payload: NamePayload,
      success: ProjectBody
    }).annotateMerge(summary("Rename a project")),
    HttpApiEndpoint.get("listEnvironments", "/admin/v1/projects/:id/environments", {
      params: { id: ProjectId },
      query: PageQuery,
      success: listOf(EnvironmentBody)
    }).annotateMerge(summary("List the environments of a project")),
    HttpApiEndpoint.post("createEnvironment", "/admin/v1/projects/:id/environments", {
      params: { id: ProjectId },
      payload: NamePayload,
      success: EnvironmentBody
    }).annotateMerge(summary("Create an environment")),
    HttpApiEndpoint.patch("renameEnvironment", "/admin/v1/environments/:id", {
      params: { id: EnvironmentId },
      payload: NamePayload,
      success: EnvironmentBody
    }).annotateMerge(summary("Rename an environment"))
  )
  .middleware(RequestValidation)
  .middleware(AdminAuthorization)
  .annotateMerge(strictBodies)
  .annotate(OpenApi.Title, "Admin: organizations")
