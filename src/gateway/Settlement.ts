/**
 * When a request is charged, and for what. A complete answer is charged before its last chunk goes out. An answer that
 * broke off is not charged at all. When the client leaves after the first output, it is charged for what was delivered,
 * and never more than was held. A stream that the gateway itself cuts off counts as broken.
 */
import { Cause, Effect, type Scope } from "effect"

import type { ChatError, InternalError } from "../api/Errors.ts"
import { costOf } from "../catalog/Price.ts"
import type { FinishReason } from "../domain/Completion.ts"
import type { PacketSource } from "../domain/PacketSource.ts"
import { none } from "../domain/Usage.ts"
import type { Hold } from "../ledger/CreditLedger.ts"
import { chargeForDelivered } from "../ledger/Pricing.ts"
import { describeCause, failedRequest } from "../observability/ErrorDescription.ts"
import { type LimitedLog, makeLimitedLog } from "../observability/LimitedLog.ts"
import type { EventPackets, ProviderAnswer } from "../providers/dispatch/ProviderAnswer.ts"
import { type ChargedUsage, chargeRequest, usageOfCharge } from "./Charging.ts"
import { leftByClient } from "./ClientLeft.ts"
import { errorFromBrokenStream, unexpectedStreamError } from "./ErrorMapping.ts"
import type { Delta, Meter } from "./Meter.ts"
import type { ReceiptDraft } from "./ReceiptDraft.ts"

/** What a complete answer was charged for. */
export interface Settlement extends ChargedUsage {
  readonly finishReason: FinishReason
  /** The stop sequence at which the answer ended, where that is known. */
  readonly stopSequence?: string
}

/** How a streamed answer ended. */
export type LastItem =
  /** A complete answer, which has been charged. */
  | ({ readonly type: "settled" } & Settlement)
  /** An answer that broke off, which costs nothing; `charged` is what an earlier try cost. */
  | { readonly type: "broken"; readonly error: ChatError; readonly charged?: ChargedUsage }

/** The output of a streamed answer, and its last item once it has been settled. */
export type StreamItems = PacketSource<Delta, Effect.Effect<LastItem>>

/** A provider's answer with everything that its settlement needs. */
export interface UnsettledAnswer<A> {
  readonly answer: ProviderAnswer<A>
  readonly meter: Meter
  readonly hold: Hold
  readonly receipt: ReceiptDraft
  /** Takes the output of a complete answer, by which the holds of later requests are estimated. */
  readonly learn?: (outputTokens: number) => void
}

/** Charges a complete answer. What it is charged for is read from the meter when this is called. */
export const settle = <A>(unsettled: UnsettledAnswer<A>): Effect.Effect<Settlement> => {
  const { answer, meter } = unsettled
  const { finishReason, stopSequence } = meter
  if (finishReason === undefined) return Effect.die(new Error("a complete answer has a finish reason"))
  const metered = meter.complete()
  unsettled.learn?.(metered.usage.output)
  const cost = costOf(answer.target.endpoint.price, metered.usage)
  const charged = chargeRequest(unsettled, { metered, cost, outcome: "completed" })
  const end = { finishReason, ...(stopSequence !== undefined && { stopSequence }) }
  return Effect.map(charged, (usage) => ({ ...end, ...usage }))
}

/** The moment at which open streams have to end, because the gateway is about to stop. */
export interface DrainSignal {
  /** Calls the listener once, at once if the moment has come. What it returns takes the listener away. */
  readonly listen: (listener: (error: InternalError) => void) => () => void
}

/**
 * The answer as it goes to the client: metered as it passes, and settled when it is complete. When the gateway drains,
 * the stream ends with an error, but never instead of a settlement that has begun: a client that is charged also gets
 * the end of the answer.
 */
export const meteredStream = Effect.fnUntraced(function* (
  unsettled: UnsettledAnswer<EventPackets>,
  drainSignal: DrainSignal,
  write: LimitedLog = makeLimitedLog()
): Effect.fn.Return<StreamItems, never, Scope.Scope> {
  const { answer, hold, meter, receipt } = unsettled
  let hasEnded = false
  const output = meteredOutput(unsettled, drainSignal)
  yield* Effect.addFinalizer((exit) => {
    output.ignoreDrain()
    if (hasEnded) return Effect.void
    if (!meter.hasDelivered || !leftByClient(exit)) {
      return Effect.sync(() => receipt.recordUncharged(meter.uncharged()))
    }
    const metered = meter.delivered()
    const cost = chargeForDelivered({
      price: answer.target.endpoint.price,
      held: hold.amount,
      delivered: metered.usage
    })
    return chargeRequest(unsettled, { metered, cost, outcome: "client_left" })
  })
  const charged = hold.charged && usageOfCharge(hold.charged, none)
  const breakOff = (error: ChatError): Effect.Effect<LastItem> => {
    hasEnded = true
    receipt.markBroken()
    receipt.recordUncharged(meter.uncharged())
    return Effect.as(receipt.fileNow, { type: "broken", error, ...(charged && { charged }) })
  }
  const settled = Effect.map(
    Effect.uninterruptible(Effect.suspend(() => settle(unsettled))),
    (settlement): LastItem => {
      hasEnded = true
      return { type: "settled", ...settlement }
    }
  )
  const end = Effect.andThen(output.end, settled).pipe(
    Effect.catch(breakOff),
    // The client does not pay for a defect of the gateway, and its stream still ends properly.
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(
            write(failedRequest("A stream failed unexpectedly", describeCause(cause), { request: hold.request })),
            breakOff(unexpectedStreamError(charged !== undefined))
          )
    )
  )
  return { read: output.read, whenReady: output.whenReady, end: () => end }
})

/** The output of a stream as it passes the meter. Its end fails unless the provider has finished. */
const meteredOutput = ({ answer, hold, meter }: UnsettledAnswer<EventPackets>, drainSignal: DrainSignal) => {
  const events = answer.value
  /** Set when nothing more is read, with the reason unless the events are over. */
  let over: { readonly error?: ChatError; readonly defect?: unknown } | undefined
  let ready: (() => void) | undefined
  const ignoreDrain = drainSignal.listen((error) => {
    over ??= { error }
    ready?.()
  })
  const readOutput = (): ReadonlyArray<Delta> | "over" | undefined => {
    while (over === undefined) {
      const packet = events.read()
      if (packet === undefined) return undefined
      if (packet === "over") over = {}
      else {
        const output = meter.pass(packet)
        if (output.length > 0) return output
      }
    }
    return "over"
  }
  const read = () => {
    try {
      return readOutput()
    } catch (defect) {
      over = { defect }
      return "over"
    }
  }
  const whenReady = (listener: () => void) => {
    ready = listener
    events.whenReady(listener)
  }
  const end = Effect.suspend((): Effect.Effect<void, ChatError> => {
    if (over?.error !== undefined) return Effect.fail(over.error)
    if (over?.defect !== undefined) return Effect.die(over.defect)
    return Effect.mapError(events.end(), (failure) => errorFromBrokenStream(failure, hold.charged !== undefined))
  })
  return { end, ignoreDrain, read, whenReady }
}
