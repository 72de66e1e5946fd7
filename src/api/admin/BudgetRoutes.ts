/** The routes for budgets: what a key, a project or an organization may spend in a period. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import { budgetPeriods, budgetSubjects } from "../../domain/Budget.ts"
import { ApiKeyId, apiKeyId, BudgetId, OrganizationId, ProjectId } from "../../domain/Ids.ts"
import { RequestValidation, strictBodies, Time } from "../RequestRules.ts"
import { AdminAuthorization, BooleanText, listOf, PageQuery, summary, UsdAmount } from "./AdminRoutes.ts"

const Usd = Schema.String.annotate({ description: "USD as an exact decimal." })
const Amount = UsdAmount.annotate({ description: "What may be spent in a period, in USD; more than zero." })

export const BudgetBody = Schema.Struct({
  object: Schema.Literal("budget"),
  id: BudgetId,
  organization_id: OrganizationId,
  subject: Schema.Literals(budgetSubjects).annotate({ description: "What the budget limits." }),
  project_id: Schema.NullOr(ProjectId).annotate({ description: "The project, if that is what it limits." }),
  api_key_id: Schema.NullOr(ApiKeyId).annotate({ description: "The key, if that is what it limits." }),
  period: Schema.Literals(budgetPeriods),
  time_zone: Schema.String,
  amount_usd: Usd,
  spent_usd: Usd.annotate({ description: "What requests cost in the period." }),
  held_usd: Usd.annotate({ description: "What is set aside for requests that are under way." }),
  left_usd: Usd.annotate({ description: "What is neither spent nor held; negative if the budget was passed." }),
  period_start: Time,
  renews_at: Schema.NullOr(Time).annotate({ description: "When nothing is spent of it again; null: never." }),
  created_at: Time,
  removed_at: Schema.NullOr(Time)
}).annotate({ identifier: "Budget" })

export const NewBudgetBody = Schema.Struct({
  organization_id: Schema.optionalKey(OrganizationId).annotate({
    description: "For a budget of the organization; beside a project or a key, the one that it must belong to."
  }),
  project_id: Schema.optionalKey(ProjectId).annotate({ description: "For a budget of all keys of a project." }),
  api_key_id: Schema.optionalKey(ApiKeyId).annotate({ description: "For a budget of one key." }),
  amount_usd: Amount,
  period: Schema.Literals(budgetPeriods).annotate({ description: "Weeks begin on Monday; a total never renews." }),
  time_zone: Schema.optionalKey(Schema.String).annotate({
    description: "The IANA name of the zone at whose midnight days, weeks and months begin; UTC if left out."
  })
}).annotate({
  examples: [
    {
      api_key_id: apiKeyId("01a1f0c2-ac19-7b60-93d1-8f2c7e6a5d77"),
      amount_usd: "25",
      period: "month",
      time_zone: "Europe/Berlin"
    }
  ]
})

export const BudgetRoutes = HttpApiGroup.make("budgets")
  .add(
    HttpApiEndpoint.get("list", "/admin/v1/budgets", {
      query: Schema.Struct({
        ...PageQuery.fields,
        organization_id: Schema.optionalKey(OrganizationId),
        project_id: Schema.optionalKey(ProjectId),
        api_key_id: Schema.optionalKey(ApiKeyId),
        removed: Schema.optionalKey(BooleanText)
      }),
      success: listOf(BudgetBody)
    }).annotateMerge(summary("List budgets")),
    HttpApiEndpoint.post("create", "/admin/v1/budgets", {
      payload: NewBudgetBody,
      success: BudgetBody
    }).annotateMerge(summary("Set a budget of a key, a project or an organization")),
    HttpApiEndpoint.get("get", "/admin/v1/budgets/:id", {
      params: { id: BudgetId },
      success: BudgetBody
    }).annotateMerge(summary("One budget, with what is spent of it")),
    HttpApiEndpoint.patch("update", "/admin/v1/budgets/:id", {
      params: { id: BudgetId },
      payload: Schema.Struct({ amount_usd: Amount }),
      success: BudgetBody
    }).annotateMerge(summary("Change the amount of a budget")),
    HttpApiEndpoint.delete("remove", "/admin/v1/budgets/:id", {
      params: { id: BudgetId },
      success: BudgetBody
    }).annotateMerge(summary("Remove a budget"))
  )
  .middleware(RequestValidation)
  .middleware(AdminAuthorization)
  .annotateMerge(strictBodies)
  .annotate(OpenApi.Title, "Admin: budgets")
