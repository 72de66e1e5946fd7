/**
 * The hold of a chat request whose organization can never go below zero. It covers the worst case at the first target.
 * Every target is then sent the output limit for which the hold pays at its own price, so that a failover to a dearer
 * one costs no more; one at which the hold does not pay for a short answer is left out.
 */
import { Array as Arr } from "effect"

import type { ChatRequest } from "../domain/Conversation.ts"
import type { EndpointId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { HoldOptions } from "../ledger/CreditLedger.ts"
import { shortAnswerTokens } from "../ledger/Pricing.ts"
import { type BoundedEndpoint, outputWithin, promptBound, worstCost } from "../ledger/WorstCase.ts"
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

/** `expectedOutput`: the output tokens that such a request is expected to need. */
export const cappedRequest = (request: ChatRequest, targets: Targets, expectedOutput: number): CappedRequest => {
  const bound = promptBound(request)
  const mostOutput = (endpoint: BoundedEndpoint): number =>
    Math.min(request.maxOutputTokens ?? endpoint.maxOutputTokens, endpoint.maxOutputTokens)
  const affordable = (endpoint: BoundedEndpoint, most: Picodollars): number | undefined => {
    const limit = mostOutput(endpoint)
    const output = outputWithin(endpoint, bound, { limit, most })
    return output < Math.min(limit, shortAnswerTokens) ? undefined : output
  }
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
