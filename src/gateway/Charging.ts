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
import { counterOf } from "../observability/MetricSeries.ts"
import { metricTable } from "../observability/MetricTable.ts"
import type { ChargeFacts, RecordedCharge } from "../receipts/Receipt.ts"
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
const reportOwnCount = (request: RequestId, { implausible, unreported }: MeteredUsage, facts: ChargeFacts) => {
  const { served, usage } = facts
  if (unreported) {
    return Effect.logWarning("A provider reported no usage; it was counted here").pipe(
      Effect.annotateLogs({ request, ...served, usage })
    )
  }
  if (implausible === undefined) return Effect.void
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

/** What of this cost is charged: with a hard cap, never more than the hold. */
const collected = (hold: Hold, cost: Picodollars): Pick<RecordedCharge, "cost" | "uncollected"> =>
  hold.isCapped === true && cost > hold.amount
    ? { cost: hold.amount, uncollected: picodollars(cost - hold.amount) }
    : { cost }

/** Not interruptible: the answer has been received, and a charge is never left half made. */
export const chargeRequest = Effect.fnUntraced(function* ({ hold, receipt }: ChargedRequest, consumption: Consumption) {
  const nowMillis = yield* Clock.currentTimeMillis
  const { metered } = consumption
  const collectible = collected(hold, consumption.cost)
  const { cost } = collectible
  receipt.recordCharge({ ...consumption, ...collectible })
  const chargeFacts = receipt.chargeFacts(nowMillis)
  yield* reportOwnCount(hold.request, metered, chargeFacts)
  const facts = encodeChargeFacts(chargeFacts)
  const { charge, pending } = yield* hold.settle(cost, facts)
  if (hold.isCapped === true) yield* reportUncollected(hold.request, charge)
  const isOwn = (booked: Charge): boolean => booked.facts === facts
  if (!isOwn(charge)) receipt.recordEarlierCharge()
  yield* receipt.file(
    nowMillis,
    pending && ((filed) => Effect.map(pending, (booked) => (isOwn(booked) ? filed : withoutCharge(filed))))
  )
  return isOwn(charge) ? { usage: metered.usage, cost } : usageOfCharge(charge, metered.usage)
}, Effect.uninterruptible)

/** An entry of a version that stored no facts says only the amount. */
export const usageOfCharge = ({ amount, facts = "" }: Charge, fallback: Usage): ChargedUsage => ({
  usage: Option.match(readChargeFacts(facts), { onNone: () => fallback, onSome: ({ usage }) => usage }),
  cost: amount
})
