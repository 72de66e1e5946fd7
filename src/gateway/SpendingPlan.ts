/**
 * What a chat request holds, and what it is sent with once it has its hold: the output limit that the credit pays for,
 * where that is less than what was asked for.
 */
import type { ChatRequest } from "../domain/Conversation.ts"
import type { EndpointId } from "../domain/Ids.ts"
import { reasoningTierOf } from "../domain/Reasoning.ts"
import { audioTokens } from "../domain/TokenCount.ts"
import type { Hold, HoldOptions } from "../ledger/CreditLedger.ts"
import {
  affordableOutput,
  type DefaultOutputTokens,
  estimate,
  estimateLikely,
  type Expectation,
  expectedTokens,
  likelyOutput
} from "../ledger/Pricing.ts"
import type { ChatDispatch } from "../providers/dispatch/Dispatch.ts"
import type { ChatCall } from "./ChatCall.ts"
import type { TargetChoice } from "./ChooseTargets.ts"
import { cappedRequest, limited } from "./HardCap.ts"

export interface SpendingPlan {
  /** The whole prompt, and all the output that is expected. */
  readonly expectedTokens: number
  readonly holdOptions: HoldOptions
  readonly within: (hold: Hold) => {
    readonly dispatched: Pick<ChatDispatch, "request" | "targets" | "outputLimits">
    /** The output limit that the credit sets at an endpoint. */
    readonly limitAt: (endpoint: EndpointId) => number | undefined
  }
}

interface Expected {
  /** The output that such requests are known to need. */
  readonly likely: number | undefined
  readonly defaults: DefaultOutputTokens
}

export const planOf = (
  call: ChatCall,
  request: ChatRequest,
  choice: TargetChoice,
  { defaults, likely }: Expected
): SpendingPlan => {
  const { outputLimits, targets } = choice
  const expectation = expectationOf(request, choice)
  const cap =
    call.caller.hardCap === true
      ? cappedRequest(request, targets, likelyOutput(expectation, likely, defaults), outputLimits)
      : undefined
  return {
    expectedTokens: expectedTokens(expectation, defaults),
    holdOptions: { ...holdOptionsOf(call, expectation, { likely, defaults }), ...cap?.holdOptions },
    within: (hold) => {
      // A request that was charged before holds nothing, and is answered as it is.
      if (cap !== undefined && hold.charged === undefined) {
        const paid = cap.within(hold.amount)
        const limits = outputLimits ? new Map([...outputLimits, ...paid.outputLimits]) : paid.outputLimits
        return { dispatched: { request, ...paid, outputLimits: limits }, limitAt: (endpoint) => limits.get(endpoint) }
      }
      // What the credit pays for is the limit, so that the answer costs no more.
      const limit = hold.isReduced === true ? affordableOutput(expectation, hold.amount, defaults) : undefined
      const dispatched = { request: limited(request, limit), targets }
      if (outputLimits === undefined) return { dispatched, limitAt: () => limit }
      const limits = new Map(Array.from(outputLimits, ([id, chosen]) => [id, Math.min(chosen, limit ?? chosen)]))
      return {
        dispatched: { ...dispatched, outputLimits: limits },
        limitAt: (endpoint) => limits.get(endpoint) ?? limit
      }
    }
  }
}

/** Holds what the first candidate is expected to cost. */
const holdOptionsOf = (
  { caller, id, mayBeCharged = false }: ChatCall,
  expectation: Expectation,
  { defaults, likely }: Expected
): HoldOptions => ({
  request: id,
  organization: caller.organization,
  amount: estimateLikely(expectation, likely, defaults),
  mayBeCharged,
  ...(caller.budgets && { budgets: caller.budgets }),
  reduce: (most) => {
    const maxOutputTokens = affordableOutput(expectation, most, defaults)
    return maxOutputTokens === undefined ? undefined : estimate({ ...expectation, maxOutputTokens })
  }
})

/** What the first candidate is expected to take. */
const expectationOf = (request: ChatRequest, { outputLimits, promptTokens, targets }: TargetChoice): Expectation => {
  const { endpoint } = targets[0]
  return {
    price: endpoint.price,
    modelMaxOutputTokens: endpoint.maxOutputTokens,
    promptTokens,
    audioTokens: audioTokens(request),
    maxOutputTokens: outputLimits?.get(endpoint.id) ?? request.maxOutputTokens,
    tier: reasoningTierOf(request.reasoning)
  }
}
