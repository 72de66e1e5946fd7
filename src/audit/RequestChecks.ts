/**
 * Checks the money of one request: its charges with their facts, its receipt and its hold are compared with each other
 * and with the price that was in force. Pure. A charge is recomputed from the usage that is stored with it and the
 * stored price alone; one of an earlier version, which has no facts, from the usage on the receipt.
 *
 * A receipt that shows no charge is that of a try that failed. Another try of the same request, under the same
 * Idempotency-Key, may have been charged, and then the charge explains itself.
 */
import { billedMillis, costOf, type Price } from "../catalog/Price.ts"
import type { OrganizationId, RequestId } from "../domain/Ids.ts"
import { type Picodollars, picodollars, zero } from "../domain/Money.ts"
import { chargeForDelivered } from "../ledger/Pricing.ts"
import { priceUnder, providerCostOf, statedRates } from "../receipts/ChargedReceipt.ts"
import type { ChargeFacts, Receipt } from "../receipts/Receipt.ts"

/**
 * Each way in which the books can be wrong, and what it means. The names are part of the output of `tollgate ledger
 * verify`, so they must not change. All but `unexplained_charge` are contradictions.
 */
export const checks = {
  account: "an account is not the sum of its entries, or its held part is not the sum of its open holds",
  budget: "what is held of a budget is not the sum of its open holds, or less than nothing is spent of it",
  stray_hold: "an open hold has outlived its lifetime and its gateway",
  ended_hold: "a request has ended and its hold is still open",
  unreadable_receipt: "a receipt cannot be read",
  unknown_price: "no readable price is stored for the catalog version and endpoint of a receipt or charge",
  charge_facts: "a charge is not the cost of what is stored with it, at the price in force",
  provider_cost: "the provider's cost is not that of the stored usage at the price of the provider",
  receipt_rates: "a receipt's rates are not those that were in force",
  receipt_time: "the time billed on a receipt is not the length of its audio under the price in force",
  receipt_cost: "a receipt's cost is not the cost of its usage at the price in force",
  charge_amount: "a charge is not the cost on its receipt",
  missing_charge: "a receipt shows a charge that the journal does not have",
  unowed_charge: "a receipt shows no charge, but the journal has one",
  repeated_charge: "a request is charged more than once",
  misplaced_charge: "a request is charged to an organization that did not make it",
  rejected_charge: "the database rejected a charge, which was set aside and not booked",
  unexplained_charge: "a charge has neither facts nor a receipt to explain it"
} as const

export type CheckName = keyof typeof checks

/** One way in which the records of one request, or one account, are wrong. */
export interface Finding {
  readonly check: CheckName
  readonly organization: OrganizationId
  readonly request?: RequestId
  readonly expected?: string
  readonly found?: string
}

export interface BookedCharge {
  readonly organization: OrganizationId
  readonly amount: Picodollars
  /** What it was computed from; `none` in entries of earlier versions. */
  readonly facts: ChargeFacts | "none" | "unreadable"
  /** The price of the provider that was in force, if one is stored and the facts name one. */
  readonly price: Price | undefined
}

/** All that is stored about one request. */
export interface RequestRecords {
  readonly request: RequestId
  /** The organization of the receipt; `undefined` without one. */
  readonly organization: OrganizationId | undefined
  readonly receipt: Receipt | "none" | "unreadable"
  /** The price of the provider that was in force, if one is stored and the receipt names one. */
  readonly price: Price | undefined
  readonly charges: ReadonlyArray<BookedCharge>
  /** The organization of each open hold. */
  readonly holds: ReadonlyArray<OrganizationId>
  /** The request has just ended while a gateway was running, so some of its records may not be stored yet. */
  readonly settling: boolean
}

type Fault = Pick<Finding, "check" | "expected" | "found">

/** Everything that is wrong with the money of one request; empty if its records agree. */
export const checkRequest = (records: RequestRecords): ReadonlyArray<Finding> => {
  const { charges, holds, request } = records
  const organization = records.organization ?? charges[0]?.organization ?? holds[0]
  if (organization === undefined) return []
  return [...charges.flatMap(chargeFaults), ...receiptFaults(records), ...journalFaults(records)].map((fault) => ({
    ...fault,
    organization,
    request
  }))
}

/** Recomputes a charge from its facts. */
const chargeFaults = ({ amount, facts, price: providerPrice }: BookedCharge): ReadonlyArray<Fault> => {
  if (facts === "none") return []
  if (facts === "unreadable") return [{ check: "charge_facts", expected: "readable facts" }]
  if (providerPrice === undefined) return [{ check: "unknown_price", found: priceNameOf(facts) }]
  const price = priceUnder(providerPrice, facts.rule)
  if (price === undefined) return [{ check: "charge_facts", expected: "a rule that fits the price in force" }]
  const time = billedMillis(price, facts.audio?.millis ?? 0)
  if (time !== facts.usage.audioMillis)
    return [{ check: "charge_facts", expected: formatMillis(time), found: formatMillis(facts.usage.audioMillis) }]
  const cost = costOfUsage(price, facts)
  const charged: ReadonlyArray<Fault> =
    cost === amount ? [] : [{ check: "charge_facts", expected: String(cost), found: String(amount) }]
  return [...charged, ...providerCostFaults(providerPrice, facts)]
}

/** Recomputes what the provider bills. Earlier versions did not store it, and had no rule to charge anything else. */
const providerCostFaults = (
  providerPrice: Price,
  { audio, providerCost, rule, usage }: Pick<ChargeFacts, "audio" | "providerCost" | "rule" | "usage">
): ReadonlyArray<Fault> => {
  if (providerCost === undefined && rule === undefined) return []
  const expected = providerCostOf(providerPrice, usage, audio)
  return expected === providerCost
    ? []
    : [{ check: "provider_cost", expected: String(expected), found: String(providerCost ?? "none") }]
}

/** What this usage is charged, depending on who ended the request and on what could be collected. */
const costOfUsage = (
  price: Price,
  { held, outcome, uncollected = zero, usage }: Pick<ChargeFacts, "held" | "outcome" | "uncollected" | "usage">
): Picodollars =>
  picodollars(
    (outcome === "client_left" ? chargeForDelivered({ price, held, delivered: usage }) : costOf(price, usage)) -
      uncollected
  )

/** Compares the usage, the rates and the cost on the receipt with the price in force. */
function* receiptFaults({ price: providerPrice, receipt }: RequestRecords): Generator<Fault> {
  if (receipt === "none") return
  if (receipt === "unreadable") return yield { check: "unreadable_receipt" }
  const { cost, unchargedUsage, usage } = receipt
  if (usage === undefined) {
    if (cost !== zero) yield { check: "receipt_cost", expected: "0", found: String(cost) }
    if (unchargedUsage === undefined) return
    if (providerPrice === undefined) return yield { check: "unknown_price", found: priceNameOf(receipt) }
    return yield* providerCostFaults(providerPrice, { ...receipt, usage: unchargedUsage })
  }
  const price = providerPrice && priceUnder(providerPrice, receipt.rule)
  if (providerPrice === undefined || price === undefined)
    return yield { check: "unknown_price", found: priceNameOf(receipt) }
  yield* providerCostFaults(providerPrice, { ...receipt, usage })
  const expectedRates = formatRates(statedRates(price, usage))
  const receiptRates = formatRates(receipt)
  if (expectedRates !== receiptRates) yield { check: "receipt_rates", expected: expectedRates, found: receiptRates }
  const time = billedMillis(price, receipt.audio?.millis ?? 0)
  if (time !== usage.audioMillis)
    yield { check: "receipt_time", expected: formatMillis(time), found: formatMillis(usage.audioMillis) }
  const expectedCost = costOfUsage(price, { ...receipt, usage })
  if (expectedCost !== cost) yield { check: "receipt_cost", expected: String(expectedCost), found: String(cost) }
}

/** Compares the charges and the hold with the receipt. */
function* journalFaults({ charges, holds, receipt, settling }: RequestRecords): Generator<Fault> {
  const organization = typeof receipt === "object" ? receipt.organization : undefined
  const charge = charges.find((one) => one.organization === organization) ?? charges[0]
  if (charges.length > 1) yield { check: "repeated_charge", expected: "1", found: String(charges.length) }
  if (holds.length > 0 && (charge !== undefined || !settling)) yield { check: "ended_hold" }
  if (receipt === "unreadable") return
  const amount = String(charge?.amount)
  if (receipt === "none") {
    if (charge?.facts === "none" && !settling) yield { check: "unexplained_charge", found: amount }
  } else if (charge === undefined) {
    if (receipt.usage !== undefined && !settling) yield { check: "missing_charge", expected: String(receipt.cost) }
  } else if (charge.organization !== organization) {
    yield { check: "misplaced_charge", expected: receipt.organization, found: charge.organization }
  } else if (receipt.usage === undefined) {
    if (charge.facts === "none") yield { check: "unowed_charge", found: amount }
  } else if (charge.amount !== receipt.cost) {
    yield { check: "charge_amount", expected: String(receipt.cost), found: amount }
  }
}

const priceNameOf = ({ catalogVersion, served }: Pick<Receipt, "catalogVersion" | "served">): string =>
  `${served?.endpoint ?? "no endpoint"} in catalog ${catalogVersion}`

const formatMillis = (millis: number | undefined): string => (millis === undefined ? "none" : `${millis} ms`)

/** Rates as text that is equal for equal rates. */
const formatRates = ({ rateDivisor, rates = {} }: Pick<Receipt, "rateDivisor" | "rates">): string =>
  Object.entries(rates)
    .map(([bucket, rate]) => `${bucket} ${rate}${rateDivisor === undefined ? "" : `/${rateDivisor}`}`)
    .sort()
    .join(", ")
