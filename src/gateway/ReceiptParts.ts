/** The parts of a receipt, and what becomes of it, as pure functions. */
import type { Attempt } from "../domain/Attempt.ts"
import type { Caller } from "../domain/Caller.ts"
import { zero } from "../domain/Money.ts"
import type { BilledCall } from "../observability/AccessLog.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import type { ChargeFacts, Receipt, RoutingFeatures } from "../receipts/Receipt.ts"
import type { RequestFeatures } from "../routing/RoutingRequest.ts"
import type { Routed } from "./RoutedTargets.ts"

/** What the access log tells of a receipt. */
export const billedCall = (receipt: Receipt, target: Target | undefined): BilledCall => ({
  ...(receipt.requestedModel !== undefined && { requestedModel: receipt.requestedModel }),
  routed: receipt.routing !== undefined,
  ...(receipt.routing && { pinned: receipt.routing.pinned, routingMillis: receipt.routing.latencyMillis }),
  ...(target !== undefined && { served: { ...servedBy(target), provider: target.endpoint.provider } }),
  attempts: receipt.attempts.length,
  outcome: receipt.outcome,
  stream: receipt.stream,
  ...(receipt.firstOutputMillis !== undefined && { firstOutputMillis: receipt.firstOutputMillis }),
  ...(receipt.usage !== undefined && { usage: receipt.usage }),
  cost: receipt.cost
})

export const servedBy = ({ endpoint, model }: Target): ChargeFacts["served"] => ({
  model: model.id,
  endpoint: endpoint.id
})

/** The receipt of a try of which another try turned out to be charged. */
export const withoutCharge = (receipt: Receipt): Receipt => {
  const { rateDivisor: _divisor, rates: _rates, rule: _rule, uncollected: _lost, usage, ...rest } = receipt
  return { ...rest, usageEstimated: false, cost: zero, ...(usage && { unchargedUsage: usage }) }
}

/** The models that were not candidates, by the rules of the router or by the choices of the request. */
export const excludedOf = ({ leftOut = [], ranking }: Routed): NonNullable<Receipt["routing"]>["excluded"] => [
  ...ranking.excluded.map(({ model, reason }) => ({ model, because: reason })),
  ...leftOut.map(({ because, model }) => ({ model, because: because.join(", ") }))
]

export const routingFeatures = (
  { costQuality, needs: { outputLimit, tier, ...needs } }: RequestFeatures,
  allowed: Caller["models"],
  session: string | undefined
): RoutingFeatures => ({
  ...needs,
  ...(tier !== undefined && { tier }),
  ...(outputLimit !== undefined && { outputLimit }),
  ...(costQuality !== undefined && { costQuality }),
  ...(allowed !== undefined && { allowed: [...allowed] }),
  ...(session !== undefined && { session })
})

/** Leaves out the provider's message, which may quote the prompt. */
export const withoutMessage = (attempt: Attempt): Attempt => {
  const { message: _message, ...rest } = attempt
  return rest
}

/** The rule that the price of a target comes from; nothing where the provider's price is charged. */
export const ruleOf = (target: Target): Pick<Receipt, "rule"> => {
  const rule = target.endpoint.charge?.rule
  return rule === undefined ? {} : { rule }
}
