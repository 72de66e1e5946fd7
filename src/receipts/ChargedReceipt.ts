/**
 * The receipt of a charged request, from its charge. The rule: where the journal has a charge with its facts, they
 * decide what a receipt says about money, and the stored receipt only adds how the request was routed and attempted. So
 * a receipt is right although a later try of its request failed, and is there although its gateway was killed.
 */
import { Result } from "effect"

import { chargedPrice } from "../catalog/ChargeRules.ts"
import { costOf, type Price, ratesFor, usageUnder } from "../catalog/Price.ts"
import type { OrganizationId, RequestId } from "../domain/Ids.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"
import type { ChargeRule } from "../domain/PriceEntry.ts"
import { promptTokens, type Usage } from "../domain/Usage.ts"
import type { ChargeFacts, Receipt } from "./Receipt.ts"

export interface ExplainedCharge {
  readonly id: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
  readonly facts: ChargeFacts
  /** The price of the provider that was in force, if it is known. */
  readonly price: Price | undefined
}

/** The rates of a price for this usage, as a receipt states them. */
export const statedRates = (
  price: Price,
  usage: Usage
): Required<Pick<Receipt, "rates">> & Pick<Receipt, "rateDivisor"> => ({
  rates: Object.fromEntries(
    Object.entries(ratesFor(price, promptTokens(usage))).map(([bucket, rate]) => [bucket, picodollars(rate)])
  ),
  ...(price.divisor !== undefined && { rateDivisor: price.divisor })
})

/** The price that was charged, from that of the provider; `undefined` for a rule that does not fit it. */
export const priceUnder = (providerPrice: Price, rule: ChargeRule | undefined): Price | undefined =>
  rule === undefined ? providerPrice : Result.getOrUndefined(chargedPrice(providerPrice, rule.charge))

/** What the provider bills for a usage that was metered under another price. */
export const providerCostOf = (providerPrice: Price, usage: Usage, audio: Receipt["audio"]): Picodollars =>
  costOf(providerPrice, usageUnder(providerPrice, usage, audio?.millis ?? 0))

/** `stored` is the receipt of the last try, if one was stored. */
export const chargedReceipt = (stored: Receipt | undefined, charge: ExplainedCharge): Receipt => {
  if (stored?.usage !== undefined && stored.cost === charge.amount) return stored
  const { amount, facts, id, organization } = charge
  const price = charge.price && priceUnder(charge.price, facts.rule)
  return {
    ...(stored?.routing && { routing: stored.routing }),
    attempts: stored?.attempts ?? [],
    ...facts,
    id,
    organization,
    cost: amount,
    ...(price && statedRates(price, facts.usage))
  }
}
