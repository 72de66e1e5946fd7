/**
 * When a request is charged, and for what. A complete answer is charged before its last chunk goes out. An answer that
 * broke off is not charged at all. When the client leaves after the first output, it is charged for what was delivered,
 * and never more than was held. A stream that the gateway itself cuts off counts as broken.
 */
import { Cause, Effect, type Scope, Stream } from "effect"

import type { ChatError, InternalError } from "../api/Errors.ts"
import { costOf } from "../catalog/Price.ts"
import type { CompletionEvent, FinishReason } from "../domain/Completion.ts"
import type { Failure } from "../domain/Failure.ts"
import { none } from "../domain/Usage.ts"
import type { Hold } from "../ledger/CreditLedger.ts"
import { chargeForDelivered } from "../ledger/Pricing.ts"
import { describeCause, failedRequest } from "../observability/ErrorDescription.ts"
import { type LimitedLog, makeLimitedLog } from "../observability/LimitedLog.ts"
import type { ProviderAnswer } from "../providers/dispatch/ProviderAnswer.ts"
import { type ChargedUsage, chargeRequest, usageOfCharge } from "./Charging.ts"
import { leftByClient } from "./ClientLeft.ts"
import { errorFromBrokenStream, unexpectedStreamError } from "./ErrorMapping.ts"
import type { Delta, Meter } from "./Meter.ts"
import type { ReceiptDraft } from "./ReceiptDraft.ts"

/** What a complete answer was charged for. */
export interface Settlement extends ChargedUsage {
  readonly finishReason: FinishReason
}

/** An item of a streamed answer: some output, or how the answer ended. */
export type StreamItem =
  | Delta
  /** The last item of a complete answer, which has been charged. */
  | ({ readonly type: "settled" } & Settlement)
  /** The last item of an answer that broke off, which costs nothing; `charged` is what an earlier try cost. */
  | { readonly type: "broken"; readonly error: ChatError; readonly charged?: ChargedUsage }

/** A provider's answer with everything that its settlement needs. */
export interface UnsettledAnswer<A> {
  readonly answer: ProviderAnswer<A>
  readonly meter: Meter
  readonly hold: Hold
  readonly receipt: ReceiptDraft
  /** Takes the output of a complete answer, by which the holds of later requests are estimated. */
  readonly learn?: (outputTokens: number) => void
}

/** Charges a complete answer. */
export const settle = Effect.fnUntraced(function* <A>(unsettled: UnsettledAnswer<A>) {
  const { answer, meter } = unsettled
  const { finishReason } = meter
  if (finishReason === undefined) return yield* Effect.die(new Error("a complete answer has a finish reason"))
  const metered = meter.complete()
  unsettled.learn?.(metered.usage.output)
  const cost = costOf(answer.target.endpoint.price, metered.usage)
  const charged = yield* chargeRequest(unsettled, { metered, cost, outcome: "completed" })
  return { finishReason, ...charged } satisfies Settlement
})

/** Never succeeds. Fails when the gateway is about to stop and open streams have to end. */
export type DrainSignal = Effect.Effect<never, InternalError>

/** The answer as it goes to the client: metered as it passes, and settled when it is complete. */
export const meteredStream = Effect.fnUntraced(function* (
  unsettled: UnsettledAnswer<Stream.Stream<CompletionEvent, Failure>>,
  drainSignal: DrainSignal,
  write: LimitedLog = makeLimitedLog()
): Effect.fn.Return<Stream.Stream<StreamItem>, never, Scope.Scope> {
  const { answer, hold, meter, receipt } = unsettled
  let hasEnded = false
  yield* Effect.addFinalizer((exit) => {
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
  const breakOff = (error: ChatError): Effect.Effect<StreamItem> => {
    hasEnded = true
    receipt.markBroken()
    receipt.recordUncharged(meter.uncharged())
    return Effect.as(receipt.fileNow, { type: "broken", error, ...(charged && { charged }) })
  }
  const settled = settle(unsettled).pipe(
    Effect.map((settlement): StreamItem => {
      hasEnded = true
      return { type: "settled", ...settlement }
    }),
    Effect.uninterruptible
  )
  return answer.value.pipe(
    Stream.mapError((failure) => errorFromBrokenStream(failure, charged !== undefined)),
    // Stops the provider, but never the settlement: a client that is charged also gets the end of the answer. It is a
    // third of what a packet of a stream costs inside Effect: 14 operations, and a suspension of a fiber of its own.
    Stream.interruptWhen(drainSignal),
    Stream.mapAccumArray(
      () => meter,
      (state, events): readonly [Meter, ReadonlyArray<StreamItem>] => [state, state.pass(events)]
    ),
    Stream.concat(Stream.fromEffect(settled)),
    Stream.catch((error) => Stream.fromEffect(breakOff(error))),
    // The client does not pay for a defect of the gateway, and its stream still ends properly.
    Stream.catchCause((cause) =>
      Stream.fromEffect(
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : Effect.andThen(
              write(failedRequest("A stream failed unexpectedly", describeCause(cause), { request: hold.request })),
              breakOff(unexpectedStreamError(charged !== undefined))
            )
      )
    )
  )
})
