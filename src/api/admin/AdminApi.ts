/**
 * The routes of operators as a definition of their own. The gateway serves it beside the routes of clients, and the
 * commands of `tollgate` are a client of it. They can also answer it by themselves, from the database alone; the routes
 * that tell the state of a running gateway are not in it.
 */
import { HttpApi } from "effect/http-api"

import { BudgetRoutes } from "./BudgetRoutes.ts"
import { CreditRoutes } from "./Credit.ts"
import { ApiKeyRoutes, OperatorRoutes } from "./Keys.ts"
import { RequestRoutes } from "./RequestRoutes.ts"
import { TenantRoutes } from "./Tenants.ts"
import { UsageRoutes } from "./UsageRoutes.ts"
import { WebhookRoutes } from "./WebhookRoutes.ts"

export class AdminApi extends HttpApi.make("admin").add(
  TenantRoutes,
  ApiKeyRoutes,
  CreditRoutes,
  BudgetRoutes,
  OperatorRoutes,
  UsageRoutes,
  RequestRoutes,
  WebhookRoutes
) {}
