/**
 * The receipt of a charged request, from its charge. The rule: where the journal has a charge with its facts, they
 * decide what a receipt says about money, and the stored receipt only adds how the request was routed and attempted. So
 * a receipt is right although a later try of its request failed, and is there although its gateway was killed.
 */
import { type Price, ratesFor } from "../catalog/Price.ts"
import type { OrganizationId, RequestId } from "../domain/Ids.ts"
import { type Picodollars, picodollars } from "../domain/Money.ts"
import { promptTokens, type Usage } from "../domain/Usage.ts"
import type { ChargeFacts, Receipt } from "./Receipt.ts"

export interface ExplainedCharge {
  readonly id: RequestId
  readonly organization: OrganizationId
  readonly amount: Picodollars
  readonly facts: ChargeFacts
  /** The price that was in force, if it is known. */
  readonly price: Price | undefined
}

/** The rates of a price for this usage, as a receipt states them. */
export const statedRates = (price: Price, usage: Usage): NonNullable<Receipt["rates"]> =>
  Object.fromEntries(
    Object.entries(ratesFor(price, promptTokens(usage))).map(([bucket, rate]) => [bucket, picodollars(rate)])
  )

/** `stored` is the receipt of the last try, if one was stored. */
export const chargedReceipt = (stored: Receipt | undefined, charge: ExplainedCharge): Receipt => {
  if (stored?.usage !== undefined && stored.cost === charge.amount) return stored
  const { amount, facts, id, organization, price } = charge
  return {
    ...(stored?.routing && { routing: stored.routing }),
    attempts: stored?.attempts ?? [],
    ...facts,
    id,
    organization,
    cost: amount,
    ...(price && { rates: statedRates(price, facts.usage) })
  }
}
