/** The handlers of the operator's routes, without what says who may use them. */
import { Layer } from "effect"

import { requestValidationLayer } from "./AdminAuthorizationLayer.ts"
import { budgetHandlersLayer } from "./BudgetHandlers.ts"
import { creditHandlersLayer } from "./CreditHandlers.ts"
import { keyHandlersLayer } from "./KeyHandlers.ts"
import { operatorHandlersLayer } from "./OperatorHandlers.ts"
import { requestHandlersLayer } from "./RequestHandlers.ts"
import { tenantHandlersLayer } from "./TenantHandlers.ts"
import { usageHandlersLayer } from "./UsageHandlers.ts"
import { webhookHandlersLayer, type WebhookOptions } from "./WebhookHandlers.ts"

export const adminHandlersLayer = (options: WebhookOptions) =>
  Layer.mergeAll(
    tenantHandlersLayer,
    keyHandlersLayer,
    creditHandlersLayer,
    budgetHandlersLayer,
    operatorHandlersLayer,
    usageHandlersLayer,
    requestHandlersLayer,
    webhookHandlersLayer(options)
  ).pipe(Layer.provide(requestValidationLayer))
