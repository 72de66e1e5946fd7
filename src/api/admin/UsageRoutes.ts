/** The route for the usage of all organizations. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import { OrganizationId } from "../../domain/Ids.ts"
import { CsvText } from "../CsvAnswer.ts"
import { RequestValidation, strictBodies } from "../RequestRules.ts"
import { AdminUsageList, UsageParameters } from "../UsageAnswer.ts"
import { AdminAuthorization, summary } from "./AdminRoutes.ts"

export const UsageRoutes = HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("report", "/admin/v1/usage", {
      query: Schema.Struct({ ...UsageParameters.fields, organization_id: Schema.optionalKey(OrganizationId) }),
      success: [AdminUsageList, CsvText]
    }).annotateMerge(summary("Usage, its cost and its margin by time and group"))
  )
  .middleware(RequestValidation)
  .middleware(AdminAuthorization)
  .annotateMerge(strictBodies)
  .annotate(OpenApi.Title, "Admin: usage")
