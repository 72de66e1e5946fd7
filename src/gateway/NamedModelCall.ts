/**
 * The life of a request that is answered whole by the models it resolves to, such as a transcription or embeddings:
 * check the model against the key's allowlist, limit the tokens, hold credit, dispatch, settle what the answering model
 * used, log. As in chat, closing the scope without a charge refunds the hold.
 */
import { Array as Arr, Clock, Effect, Order } from "effect"

import { ModelNotAllowed } from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { Endpoint } from "../catalog/Model.ts"
import { makeOffers, type Offer } from "../catalog/Offer.ts"
import { costOf } from "../catalog/Price.ts"
import type { Caller } from "../domain/Caller.ts"
import type { HeldRequestId } from "../domain/Ids.ts"
import { max, type Picodollars } from "../domain/Money.ts"
import type { MeteredUsage } from "../domain/Usage.ts"
import { CreditLedger } from "../ledger/CreditLedger.ts"
import { makeLimitedLog } from "../observability/LimitedLog.ts"
import type { Exhausted, ProviderAnswer } from "../providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import type { Adjustment } from "../providers/protocols/Adjustments.ts"
import { type ChargedUsage, chargeRequest } from "./Charging.ts"
import { creditHolder } from "./CreditHold.ts"
import { errorFromExhausted } from "./ErrorMapping.ts"
import { tokenLimiter } from "./LimitTokens.ts"
import { type ReceiptDraft, receiptOpener, type RequestFacts } from "./ReceiptDraft.ts"

type Targets = readonly [Target, ...Array<Target>]

/** One such request, and all in which its kind differs from others. */
export interface NamedModelCall<A> {
  readonly facts: RequestFacts
  /** Whether an earlier try, with the same Idempotency-Key, may have been charged under this id. */
  readonly mayBeCharged: boolean
  /** In order of preference. The first belongs to the model that the request resolves to. */
  readonly targets: Targets
  readonly expectedTokens: (endpoint: Endpoint) => number
  /** The amount to hold. */
  readonly estimate: (endpoint: Endpoint) => Picodollars
  /** The most that the request can cost. */
  readonly worst: (endpoint: Endpoint) => Picodollars
  /** The options that a target does not get as they were asked for. Targets that get all of them come first. */
  readonly adjustments: (target: Target) => ReadonlyArray<Adjustment>
  readonly send: (held: HeldRequestId, targets: Targets) => Effect.Effect<ProviderAnswer<A>, Exhausted>
  readonly billed: (endpoint: Endpoint, value: A) => MeteredUsage
}

/** An answer that has been charged. */
export interface ChargedAnswer<A> extends ChargedUsage {
  readonly value: A
  readonly target: Target
  /** The options that the model did not get as they were asked for. */
  readonly adjustments: ReadonlyArray<Adjustment>
}

/** Yields a function that answers a request and charges for it. A request that fails costs nothing. */
export const namedModelCalls = Effect.gen(function* () {
  const catalog = yield* Catalog
  const ledger = yield* CreditLedger
  const withReceipt = yield* receiptOpener
  const limitTokens = yield* tokenLimiter
  const takeHold = creditHolder(ledger, makeLimitedLog())
  const offerAt = makeOffers(catalog)

  /** Holds what the first candidate is expected to cost, or with a hard cap what any of them can cost. */
  const holdCredit = <A>(call: NamedModelCall<A>, targets: Arr.NonEmptyReadonlyArray<Target>) => {
    const { caller, id } = call.facts
    const amount =
      caller.hardCap === true
        ? targets.map(({ endpoint }) => call.worst(endpoint)).reduce(max)
        : call.estimate(targets[0].endpoint)
    return takeHold({
      request: id,
      organization: caller.organization,
      amount,
      mayBeCharged: call.mayBeCharged,
      ...(caller.budgets && { budgets: caller.budgets }),
      // Neither a transcript nor a vector can be made shorter.
      reduce: () => undefined,
      ...(caller.hardCap === true && { hardCap: { modest: amount, waits: true } })
    })
  }

  const answerInto = Effect.fnUntraced(function* <A>(receipt: ReceiptDraft, call: NamedModelCall<A>) {
    const { caller } = call.facts
    const targets = Arr.sortWith(
      yield* allowedTargets(caller, call.targets, offerAt(caller.pricing)),
      (target) => call.adjustments(target).length,
      Order.Number
    )
    const [first] = targets
    yield* limitTokens(caller, receipt, () => call.expectedTokens(first.endpoint))
    const hold = yield* holdCredit(call, targets)
    receipt.recordHold(hold.amount)
    const answer = yield* call.send(hold.request, targets).pipe(
      Effect.tapError(({ attempts }) => Effect.sync(() => receipt.recordAttempts(attempts))),
      Effect.mapError((exhausted) => errorFromExhausted(exhausted, hold.charged !== undefined))
    )
    receipt.recordAnswer(answer, yield* Clock.currentTimeMillis)
    const { target, value } = answer
    const adjustments = call.adjustments(target)
    receipt.recordAdjustments(adjustments)
    const metered = call.billed(target.endpoint, value)
    const cost = costOf(target.endpoint.price, metered.usage)
    const charged = yield* chargeRequest({ hold, receipt }, { metered, cost, outcome: "completed" })
    return { value, target, adjustments, ...charged } satisfies ChargedAnswer<A>
  })

  return <A>(call: NamedModelCall<A>) => Effect.scoped(withReceipt(call.facts, (receipt) => answerInto(receipt, call)))
})

/**
 * The key must allow the model that the request resolves to; models that would stand in for it are filtered by the key.
 */
const allowedTargets = (caller: Caller, candidates: Targets, offer: Offer | undefined) => {
  const targets = offer === undefined ? candidates : Arr.map(candidates, (one) => chargedTarget(offer, one))
  const [{ model }] = targets
  const allowed = targets.filter((target) => caller.models?.has(target.model.id) !== false)
  return Arr.isReadonlyArrayNonEmpty(allowed) && allowed[0].model.id === model.id
    ? Effect.succeed(allowed)
    : Effect.fail(ModelNotAllowed.of(`This API key may not use ${model.id}`))
}

/** The same target with the price that the caller is charged. */
const chargedTarget = (offer: Offer, target: Target): Target => {
  const found = offer.lookup(target.model.id)
  if (found._tag !== "Served") return target
  const endpoint = found.model.endpoints.find(({ id }) => id === target.endpoint.id)
  return endpoint === undefined ? target : { model: found.model, endpoint }
}
