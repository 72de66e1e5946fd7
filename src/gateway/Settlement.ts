/**
 * Who pays, and when. A complete answer is charged before its last chunk goes out; one that broke is not charged at
 * all; one that the client left after its first output is charged for what was delivered, never more than was held.
 * What the gateway itself cuts off is broken.
 */
import { Cause, Effect, type Scope, Stream } from "effect"

import type { ChatError, InternalError } from "../api/Errors.ts"
import { costOf } from "../catalog/Price.ts"
import type { CompletionEvent, FinishReason } from "../domain/Completion.ts"
import type { Failure } from "../domain/Failure.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { Usage } from "../domain/Usage.ts"
import type { Hold } from "../ledger/CreditLedger.ts"
import { chargeForDelivered } from "../ledger/Pricing.ts"
import type { ProviderAnswer } from "../providers/dispatch/ProviderAnswer.ts"
import { leftByClient } from "./ClientLeft.ts"
import { errorFromBrokenStream, errorFromDefect } from "./Failures.ts"
import type { Delta, Meter } from "./Meter.ts"
import type { ReceiptDraft } from "./ReceiptDraft.ts"

export interface SettledAnswer {
  readonly finishReason: FinishReason
  readonly usage: Usage
  readonly cost: Picodollars
}

export type StreamItem =
  | Delta
  /** Last, when the answer is complete. */
  | ({ readonly type: "settled" } & SettledAnswer)
  /** Last, when it broke off. */
  | { readonly type: "broken"; readonly error: ChatError }

/** What a settlement needs to know of its request. */
export interface SettlementContext<A> {
  readonly answer: ProviderAnswer<A>
  readonly meter: Meter
  readonly hold: Hold
  readonly draft: ReceiptDraft
}

/** Charges a complete answer. Not interruptible: the answer is there, and a charge is never half made. */
export const settle = Effect.fnUntraced(function* <A>({ answer, draft, hold, meter }: SettlementContext<A>) {
  const { finishReason } = meter
  if (finishReason === undefined) return yield* Effect.die(new Error("a complete answer has a finish reason"))
  const counted = meter.complete()
  const cost = costOf(answer.target.endpoint.price, counted.usage)
  yield* hold.settle(cost)
  draft.charged(counted, cost, "completed")
  return { finishReason, usage: counted.usage, cost } satisfies SettledAnswer
}, Effect.uninterruptible)

/** Fails when the gateway is about to go and streams have to end; until then it does not return. */
export type DrainSignal = Effect.Effect<never, InternalError>

/** The answer as it goes to the client, metered, with its settlement at the end. */
export const metered = Effect.fnUntraced(function* (
  bill: SettlementContext<Stream.Stream<CompletionEvent, Failure>>,
  closing: DrainSignal
): Effect.fn.Return<Stream.Stream<StreamItem>, never, Scope.Scope> {
  const { answer, draft, hold, meter } = bill
  let undecided = true
  yield* Effect.addFinalizer((exit) => {
    if (!undecided || !meter.hasDelivered || !leftByClient(exit)) return Effect.void
    const counted = meter.delivered()
    const cost = chargeForDelivered({
      price: answer.target.endpoint.price,
      held: hold.amount,
      delivered: counted.usage
    })
    draft.charged(counted, cost, "client_left")
    return hold.settle(cost)
  })
  const broke = (error: ChatError): StreamItem => {
    undecided = false
    draft.broke()
    return { type: "broken", error }
  }
  const settling = settle(bill).pipe(
    Effect.map((settled): StreamItem => {
      undecided = false
      return { type: "settled", ...settled }
    }),
    Effect.uninterruptible
  )
  return answer.value.pipe(
    Stream.mapError(errorFromBrokenStream),
    // Stops the provider, never the settlement: whoever is charged also gets the end of the answer.
    Stream.interruptWhen(closing),
    Stream.mapAccumArray(
      () => meter,
      (state, events): readonly [Meter, ReadonlyArray<StreamItem>] => [state, state.pass(events)]
    ),
    Stream.concat(Stream.fromEffect(settling)),
    Stream.catch((error) => Stream.succeed(broke(error))),
    // A fault of ours is not the client's to pay, and its stream has an end as well.
    Stream.catchCause((cause) =>
      Stream.fromEffect(
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : Effect.as(Effect.logError("A stream failed unexpectedly", cause), broke(errorFromDefect))
      )
    )
  )
})
