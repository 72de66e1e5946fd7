/**
 * The hold of a chat request whose organization can never go below zero. It covers the worst case at the first target.
 * Every target is then sent the output limit for which the hold pays at its own price, so that a failover to a dearer
 * one costs no more; one at which the hold does not pay for a short answer is left out.
 */
import { Array as Arr } from "effect"

import type { Endpoint } from "../catalog/Model.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { EndpointId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { HoldOptions } from "../ledger/CreditLedger.ts"
import { shortAnswerTokens } from "../ledger/Pricing.ts"
import { type BoundedEndpoint, outputWithin, type PromptBound, promptBound, worstCost } from "../ledger/WorstCase.ts"
import type { Target } from "../providers/dispatch/Target.ts"

type Targets = readonly [Target, ...Array<Target>]

export interface CappedRequest {
  readonly holdOptions: Pick<HoldOptions, "amount" | "reduce" | "hardCap">
  /** The targets that a hold pays for, and the output limits that are sent to those that need one. */
  readonly within: (held: Picodollars) => {
    readonly targets: Targets
    readonly outputLimits: ReadonlyMap<EndpointId, number>
  }
}

/**
 * The output limit with which a request costs at most an amount, whatever its prompt turns out to be. `undefined` if
 * that is less than a short answer and less than what the request asks for.
 */
export const outputPaidBy =
  (request: ChatRequest, bound: PromptBound) =>
  (endpoint: BoundedEndpoint, most: Picodollars): number | undefined => {
    const limit = mostOutputOf(request, endpoint)
    const output = outputWithin(endpoint, bound, { limit, most })
    return output < Math.min(limit, shortAnswerTokens) ? undefined : output
  }

/** The most output that an endpoint can give to a request. */
export const mostOutputOf = (request: ChatRequest, { maxOutputTokens }: BoundedEndpoint): number =>
  Math.min(request.maxOutputTokens ?? maxOutputTokens, maxOutputTokens)

/**
 * `expectedOutput`: the output tokens that such a request is expected to need. `limits`: smaller output limits than
 * that of the request, which endpoints have for another reason.
 */
export const cappedRequest = (
  request: ChatRequest,
  targets: Targets,
  expectedOutput: number,
  limits: ReadonlyMap<EndpointId, number> = new Map()
): CappedRequest => {
  const bound = promptBound(request)
  const mostOutput = (endpoint: Endpoint): number => limits.get(endpoint.id) ?? mostOutputOf(request, endpoint)
  const affordable = (endpoint: Endpoint, most: Picodollars): number | undefined =>
    outputPaidBy(limited(request, limits.get(endpoint.id)), bound)(endpoint, most)
  const [first, ...others] = targets
  const { endpoint } = first
  const within = (held: Picodollars) => {
    const outputLimits = new Map<EndpointId, number>()
    const isPaid = ({ endpoint }: Target): boolean => {
      const output = affordable(endpoint, held)
      if (output !== undefined && output < mostOutput(endpoint)) outputLimits.set(endpoint.id, output)
      return output !== undefined
    }
    isPaid(first)
    return { targets: Arr.prepend(others.filter(isPaid), first), outputLimits }
  }
  return {
    holdOptions: {
      amount: worstCost(endpoint, bound, mostOutput(endpoint)),
      reduce: (most) => {
        const output = affordable(endpoint, most)
        return output === undefined ? undefined : worstCost(endpoint, bound, output)
      },
      hardCap: {
        modest: worstCost(endpoint, bound, Math.min(expectedOutput, mostOutput(endpoint))),
        waits: request.maxOutputTokens !== undefined
      }
    },
    within
  }
}

/** The request with this output limit, if there is one. */
export const limited = (request: ChatRequest, limit: number | undefined): ChatRequest =>
  limit === undefined ? request : { ...request, maxOutputTokens: limit }
