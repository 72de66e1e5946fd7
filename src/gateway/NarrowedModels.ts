/**
 * Applies the choices of a request to the endpoints of models: which of them are left, and in which order. A model that
 * is left without endpoints is not called. Nothing here runs for a request without choices.
 */
import { Result } from "effect"

import { InvalidRequest } from "../api/Errors.ts"
import type { Endpoint, Model } from "../catalog/Model.ts"
import { ratesFor } from "../catalog/Price.ts"
import type { DataPolicy } from "../catalog/Provider.ts"
import type { ResolveProvider } from "../catalog/ProviderNames.ts"
import type { ChoiceExclusion, Choices, EndpointOrder, ProviderChoices } from "../domain/Choices.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { EndpointId, ProviderId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import { reasoningTierOf } from "../domain/Reasoning.ts"
import { audioTokens } from "../domain/TokenCount.ts"
import { defaultOutputTokens, estimate } from "../ledger/Pricing.ts"
import { promptBound } from "../ledger/WorstCase.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import type { EndpointSpeeds } from "./EndpointSpeeds.ts"
import { mostOutputOf, outputPaidBy } from "./HardCap.ts"
import { quoted } from "./NamedModel.ts"

export interface Narrowing {
  /** The model with the endpoints that are left, at least one. The same model gives the same object. */
  readonly narrow: (model: Model) => Model | undefined
  /** Why nothing was left of a model that was narrowed. */
  readonly exclusionsOf: (model: Model) => ReadonlyArray<ChoiceExclusion>
  /** The output limits with which the endpoints that were narrowed cost no more than the request may. */
  readonly outputLimits: ReadonlyMap<EndpointId, number>
  /** The order of the endpoints is the client's. */
  readonly keepsOrder: boolean
  /** Only the first endpoint of each model may be used. */
  readonly firstProviderOnly: boolean
}

/** What the choices of one request are judged by. */
export interface ChoiceFacts {
  readonly request: ChatRequest
  readonly promptTokens: number
  readonly resolve: ResolveProvider
  readonly policyOf: (provider: ProviderId) => DataPolicy | undefined
  /** Whether the endpoint gets every parameter of the request as it is. */
  readonly getsAll: (target: Target) => boolean
  readonly speeds: EndpointSpeeds
}

/** Fails when a name in the choices is not that of a provider. */
export const narrowingOf = (choices: Choices, facts: ChoiceFacts): Result.Result<Narrowing, InvalidRequest> =>
  Result.map(resolvedLists(choices.provider ?? {}, facts.resolve), (lists) => {
    const provider = choices.provider ?? {}
    const outputLimits = new Map<EndpointId, number>()
    const affordable = affordableWithin(choices.maxCost, facts, outputLimits)
    const exclusionOf = (target: Target): ChoiceExclusion | undefined =>
      listExclusion(target.endpoint.provider, provider, lists) ??
      exclusionByFacts(target, provider, facts) ??
      (affordable(target.endpoint) ? undefined : "max_cost_usd")
    const sorted = orderOf(provider, lists, facts)
    const narrowed = new Map<string, Model | ReadonlyArray<ChoiceExclusion>>()
    const apply = (model: Model): Model | ReadonlyArray<ChoiceExclusion> => {
      const exclusions = model.endpoints.map((endpoint) => exclusionOf({ model, endpoint }))
      const [first, ...others] = sorted(model.endpoints.filter((_, index) => exclusions[index] === undefined))
      return first === undefined
        ? [...new Set(exclusions.filter((exclusion) => exclusion !== undefined))]
        : { ...model, endpoints: [first, ...others] }
    }
    const known = (model: Model) => {
      const result = narrowed.get(model.id) ?? apply(model)
      narrowed.set(model.id, result)
      return result
    }
    return {
      narrow: (model) => {
        const result = known(model)
        return isExcluded(result) ? undefined : result
      },
      exclusionsOf: (model) => {
        const result = known(model)
        return isExcluded(result) ? result : []
      },
      outputLimits,
      keepsOrder: lists.order !== undefined || provider.sort !== undefined,
      firstProviderOnly: provider.allowFallbacks === false && lists.order === undefined
    }
  })

const isExcluded = (result: Model | ReadonlyArray<ChoiceExclusion>): result is ReadonlyArray<ChoiceExclusion> =>
  Array.isArray(result)

const listNames = ["order", "only", "ignore"] as const
type ProviderLists = { readonly [L in (typeof listNames)[number]]?: ReadonlyArray<ProviderId> }

const resolvedLists = (
  choices: ProviderChoices,
  resolve: ResolveProvider
): Result.Result<ProviderLists, InvalidRequest> => {
  const lists: { -readonly [L in keyof ProviderLists]: Array<ProviderId> } = {}
  for (const list of listNames) {
    for (const [index, name] of (choices[list] ?? []).entries()) {
      const provider = resolve(name)
      if (provider === undefined) {
        const path = `provider.${list}[${index}]`
        return Result.fail(InvalidRequest.of(`${path}: ${quoted(name)} is not a provider of this gateway`))
      }
      lists[list] = [...(lists[list] ?? []), provider]
    }
  }
  return Result.succeed(lists)
}

const listExclusion = (
  provider: ProviderId,
  { allowFallbacks }: ProviderChoices,
  { ignore, only, order }: ProviderLists
): ChoiceExclusion | undefined => {
  if (only?.includes(provider) === false) return "provider.only"
  if (ignore?.includes(provider) === true) return "provider.ignore"
  return allowFallbacks === false && order?.includes(provider) === false ? "provider.order" : undefined
}

const exclusionByFacts = (
  target: Target,
  { denyTraining, maxPrice, requireParameters, zeroRetention }: ProviderChoices,
  { getsAll, policyOf, promptTokens }: ChoiceFacts
): ChoiceExclusion | undefined => {
  const { endpoint } = target
  const policy = denyTraining === true || zeroRetention === true ? policyOf(endpoint.provider) : undefined
  if (denyTraining === true && policy?.mayTrain !== false) return "provider.data_collection"
  if (zeroRetention === true && policy?.retentionDays !== 0) return "provider.zdr"
  if (maxPrice !== undefined && isDearer(endpoint, promptTokens, maxPrice)) return "provider.max_price"
  return requireParameters === true && !getsAll(target) ? "provider.require_parameters" : undefined
}

/** Compares the rates that this prompt is charged, in whole picodollars for a million tokens. */
const isDearer = (
  { price }: Endpoint,
  promptTokens: number,
  { completion, prompt }: NonNullable<ProviderChoices["maxPrice"]>
): boolean => {
  const rates = ratesFor(price, promptTokens)
  const exceeds = (rate: Picodollars, most: Picodollars | undefined): boolean =>
    most !== undefined && rate * 1_000_000n > most * (price.divisor ?? 1n)
  return exceeds(rates.input, prompt) || exceeds(rates.output, completion)
}

/** Whether an endpoint can serve the request within its cost limit; notes the output limit that it then needs. */
const affordableWithin = (
  maxCost: Picodollars | undefined,
  { request }: ChoiceFacts,
  outputLimits: Map<EndpointId, number>
): ((endpoint: Endpoint) => boolean) => {
  if (maxCost === undefined) return () => true
  const paidBy = outputPaidBy(request, promptBound(request))
  return (endpoint) => {
    const output = paidBy(endpoint, maxCost)
    if (output !== undefined && output < mostOutputOf(request, endpoint)) outputLimits.set(endpoint.id, output)
    return output !== undefined
  }
}

/** Sorts endpoints: those of `order` first, then by `sort`; otherwise they stay as the catalog has them. */
const orderOf = ({ sort }: ProviderChoices, { order }: ProviderLists, facts: ChoiceFacts) => {
  const rankOf = ({ provider }: Endpoint): number => {
    const rank = order?.indexOf(provider) ?? -1
    return rank === -1 ? Infinity : rank
  }
  const compare = sort === undefined ? () => 0 : comparisons[sort](facts)
  return (endpoints: ReadonlyArray<Endpoint>): ReadonlyArray<Endpoint> =>
    order === undefined && sort === undefined
      ? endpoints
      : endpoints.toSorted((a, b) => compareNumbers(rankOf(a), rankOf(b)) || compare(a, b))
}

type Comparison = (facts: ChoiceFacts) => (a: Endpoint, b: Endpoint) => number

const compareNumbers = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0)

/** Endpoints that nothing was measured of come last, in the order of the catalog. */
const comparisons: { readonly [O in EndpointOrder]: Comparison } = {
  price: (facts) => (a, b) => {
    const [one, other] = [expectedCost(a, facts), expectedCost(b, facts)]
    return one < other ? -1 : one > other ? 1 : 0
  },
  latency:
    ({ speeds }) =>
    (a, b) =>
      compareNumbers(speeds.latency(a.id) ?? Infinity, speeds.latency(b.id) ?? Infinity),
  throughput:
    ({ speeds }) =>
    (a, b) =>
      compareNumbers(speeds.throughput(b.id) ?? 0, speeds.throughput(a.id) ?? 0)
}

/** What the request is expected to be charged at an endpoint. */
const expectedCost = ({ maxOutputTokens, price }: Endpoint, { promptTokens, request }: ChoiceFacts): Picodollars =>
  estimate(
    {
      price,
      modelMaxOutputTokens: maxOutputTokens,
      promptTokens,
      audioTokens: audioTokens(request),
      maxOutputTokens: request.maxOutputTokens,
      tier: reasoningTierOf(request.reasoning)
    },
    defaultOutputTokens
  )
