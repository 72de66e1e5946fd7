/**
 * Charges a request, and says what it is charged. That is not always what this try of it cost: a request is charged
 * once, and an earlier try under the same Idempotency-Key may have been charged before its gateway died. Then that
 * charge stands, and the answer and the receipt of this try tell it.
 */
import { Clock, Effect, Metric, Option } from "effect"

import type { RequestId } from "../domain/Ids.ts"
import { type Picodollars, picodollars, toUsd, zero } from "../domain/Money.ts"
import type { MeteredUsage, Usage } from "../domain/Usage.ts"
import type { Charge } from "../ledger/Charge.ts"
import type { Hold } from "../ledger/CreditLedger.ts"
import type { Settled } from "../ledger/PendingWrite.ts"
import { counterOf } from "../observability/MetricSeries.ts"
import { metricTable } from "../observability/MetricTable.ts"
import type { ChargeFacts, Receipt, RecordedCharge } from "../receipts/Receipt.ts"
import { encodeChargeFacts, readChargeFacts } from "../receipts/StoredReceipt.ts"
import type { ReceiptDraft } from "./ReceiptDraft.ts"
import { withoutCharge } from "./ReceiptParts.ts"

/** What a request is charged, in the end. */
export interface ChargedUsage {
  readonly usage: Usage
  readonly cost: Picodollars
}

/** What this try of a request consumed and cost. */
type Consumption = Omit<RecordedCharge, "uncollected">

interface ChargedRequest {
  readonly hold: Hold
  readonly receipt: ReceiptDraft
}

const implausibleReports = counterOf(metricTable.implausibleUsage)
const uncollectedCharges = counterOf(metricTable.uncollectedCharges)

/** Where the gateway's own count was charged, the operator has to ask the provider what it will bill. */
const ownCountReport = (
  request: RequestId,
  { implausible, unreported }: MeteredUsage,
  facts: ChargeFacts
): Effect.Effect<void> | undefined => {
  const { served, usage } = facts
  if (unreported) {
    return Effect.logWarning("A provider reported no usage; it was counted here").pipe(
      Effect.annotateLogs({ request, ...served, usage })
    )
  }
  if (implausible === undefined) return undefined
  return Effect.andThen(
    Metric.update(implausibleReports, 1),
    Effect.logError("A provider reported usage that cannot be right; it was counted here").pipe(
      Effect.annotateLogs({ request, ...served, reported: implausible, charged: usage })
    )
  )
}

/** The operator pays what the organization of a request with a hard cap cannot. */
const reportUncollected = (request: RequestId, { amount, facts = "" }: Charge) =>
  Option.match(readChargeFacts(facts), {
    onNone: () => Effect.void,
    onSome: ({ served, uncollected = zero }) =>
      uncollected === zero
        ? Effect.void
        : Effect.andThen(
            Metric.update(uncollectedCharges, 1),
            Effect.logWarning("A request cost more than its organization could be charged").pipe(
              Effect.annotateLogs({
                request,
                ...served,
                charged_usd: toUsd(amount),
                uncollected_usd: toUsd(uncollected)
              })
            )
          )
  })

type Collectible = Pick<RecordedCharge, "cost" | "uncollected">

/** What of this cost is charged: with a hard cap, never more than the hold. */
const collected = (hold: Hold, cost: Picodollars): Collectible =>
  hold.isCapped === true && cost > hold.amount
    ? { cost: hold.amount, uncollected: picodollars(cost - hold.amount) }
    : { cost }

/** The facts of a charge without what was lacking when it was booked, in one order of their members. */
const factsAsked = (facts: string): string | undefined =>
  Option.getOrUndefined(
    Option.map(readChargeFacts(facts), ({ uncollected: _lacking, ...asked }) => encodeChargeFacts(asked))
  )

/**
 * What a hard cap left of this charge when it was booked, where its hold had been swept before. `undefined` if the
 * booked charge is that of another try.
 */
const cutCharge = (facts: string, booked: Charge): Collectible | undefined => {
  const asked = factsAsked(facts)
  if (asked === undefined || asked !== factsAsked(booked.facts ?? "")) return undefined
  const uncollected = Option.getOrUndefined(readChargeFacts(booked.facts ?? ""))?.uncollected
  return { cost: booked.amount, uncollected }
}

/** Not interruptible: the answer has been received, and a charge is never left half made. */
export const chargeRequest = (request: ChargedRequest, consumption: Consumption): Effect.Effect<ChargedUsage> =>
  Effect.uninterruptible(
    Clock.clockWith((clock) => settleAndFile(request, consumption, clock.currentTimeMillisUnsafe()))
  )

const settleAndFile = (
  { hold, receipt }: ChargedRequest,
  consumption: Consumption,
  nowMillis: number
): Effect.Effect<ChargedUsage> => {
  const { metered } = consumption
  const collectible = collected(hold, consumption.cost)
  receipt.recordCharge({ ...consumption, ...collectible })
  const chargeFacts = receipt.chargeFacts(nowMillis)
  const facts = encodeChargeFacts(chargeFacts)
  const ownPart = (booked: Charge): Collectible | undefined =>
    booked.facts === facts ? collectible : hold.isCapped === true ? cutCharge(facts, booked) : undefined
  const finalReceipt = (filed: Receipt) => (booked: Charge) => {
    const own = ownPart(booked)
    if (own === undefined) return withoutCharge(filed)
    return { ...filed, cost: own.cost, ...(own.uncollected && { uncollected: own.uncollected }) }
  }
  const reported = (booked: Charge) => reportUncollected(hold.request, booked)
  const file = ({ charge, pending }: Settled): Effect.Effect<ChargedUsage> => {
    const own = ownPart(charge)
    if (own === undefined) receipt.recordEarlierCharge()
    else if (own !== collectible) receipt.recordCharge({ ...consumption, ...own })
    const charged = own === undefined ? usageOfCharge(charge, metered.usage) : { usage: metered.usage, cost: own.cost }
    const booked = pending && hold.isCapped === true ? Effect.tap(pending, reported) : pending
    const final = booked && ((filed: Receipt) => Effect.map(booked, finalReceipt(filed)))
    return Effect.as(receipt.file(nowMillis, final), charged)
  }
  const settled = Effect.flatMap(hold.settle(collectible.cost, facts), (answered) =>
    // What a late answer will cut is not known yet.
    hold.isCapped === true && answered.pending === undefined
      ? Effect.andThen(reported(answered.charge), () => file(answered))
      : file(answered)
  )
  const report = ownCountReport(hold.request, metered, chargeFacts)
  return report === undefined ? settled : Effect.andThen(report, settled)
}

/** An entry of a version that stored no facts says only the amount. */
export const usageOfCharge = ({ amount, facts = "" }: Charge, fallback: Usage): ChargedUsage => ({
  usage: Option.match(readChargeFacts(facts), { onNone: () => fallback, onSome: ({ usage }) => usage }),
  cost: amount
})
