/**
 * The life of a transcription. HTTP authenticates the caller, applies the rate limit and reads the form; what follows
 * is here: check the model against the key's allowlist, hold credit for the length of the audio, dispatch, settle what
 * the answering model used, log. As in chat, closing the scope without a charge refunds the hold.
 */
import { Array as Arr, Clock, Context, Effect, Layer, Order } from "effect"

import { ModelNotAllowed, type TranscriptionError } from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { makeOffers, type Offer } from "../catalog/Offer.ts"
import { costOf } from "../catalog/Price.ts"
import type { Caller } from "../domain/Caller.ts"
import type { RequestId } from "../domain/Ids.ts"
import { max } from "../domain/Money.ts"
import type { AudioLength, Transcript, TranscriptionRequest } from "../domain/Transcription.ts"
import { totalTokens } from "../domain/Usage.ts"
import { CreditLedger, type Hold } from "../ledger/CreditLedger.ts"
import { billedUsage, estimateTranscription, expectedUsage } from "../ledger/TranscriptionPricing.ts"
import { worstTranscription } from "../ledger/WorstCase.ts"
import { makeLimitedLog } from "../observability/LimitedLog.ts"
import { Dispatch } from "../providers/dispatch/Dispatch.ts"
import type { ProviderAnswer } from "../providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import { type Adjustment, transcriptionAdjustmentsOf } from "../providers/protocols/Adjustments.ts"
import { type ChargedUsage, chargeRequest } from "./Charging.ts"
import type { TranscriptionTargets } from "./ChooseTranscriptionTargets.ts"
import { creditHolder } from "./CreditHold.ts"
import { errorFromExhausted } from "./ErrorMapping.ts"
import { tokenLimiter } from "./LimitTokens.ts"
import { type ReceiptDraft, receiptOpener, type RequestFacts } from "./ReceiptDraft.ts"

/** A transcription request whose form was read and checked. */
export interface TranscriptionCall {
  /** Also the id of the hold, the charge and the receipt. */
  readonly id: RequestId
  /** Whether an earlier try, with the same Idempotency-Key, may have been charged under this id. */
  readonly mayBeCharged?: boolean
  readonly caller: Caller
  /** The targets that the `model` field of the form leads to. */
  readonly candidates: TranscriptionTargets
  readonly request: TranscriptionRequest
  readonly callName: string | undefined
  readonly endUserId: string | undefined
}

/** A transcription that has been charged. */
export interface TranscriptionResult extends ChargedUsage {
  readonly text: string
  readonly length: AudioLength
  /** The options that the model did not get as they were asked for. */
  readonly adjustments: ReadonlyArray<Adjustment>
}

export class TranscribeAudio extends Context.Service<
  TranscribeAudio,
  {
    /** Transcribes an upload and charges for it. A request that fails costs nothing. */
    readonly transcribe: (call: TranscriptionCall) => Effect.Effect<TranscriptionResult, TranscriptionError>
  }
>()("tollgate/gateway/TranscribeAudio") {
  static readonly layer = Layer.effect(
    TranscribeAudio,
    Effect.suspend(() => make)
  )
}

const make = Effect.gen(function* () {
  const catalog = yield* Catalog
  const ledger = yield* CreditLedger
  const dispatch = yield* Dispatch
  const openReceipt = yield* receiptOpener
  const limitTokens = yield* tokenLimiter
  const takeHold = creditHolder(ledger, makeLimitedLog())
  const offerAt = makeOffers(catalog)

  /** Holds what the first candidate costs for audio of this length, or with a hard cap what any of them can cost. */
  const holdCredit = (
    { caller, id, mayBeCharged = false, request }: TranscriptionCall,
    targets: Arr.NonEmptyReadonlyArray<Target>
  ) => {
    const amount =
      caller.hardCap === true
        ? targets.map(({ endpoint }) => worstTranscription(endpoint, request)).reduce(max)
        : estimateTranscription(targets[0].endpoint, request)
    return takeHold({
      request: id,
      organization: caller.organization,
      amount,
      mayBeCharged,
      ...(caller.budgets && { budgets: caller.budgets }),
      // A transcript cannot be made shorter.
      reduce: () => undefined,
      ...(caller.hardCap === true && { hardCap: { modest: amount, waits: true } })
    })
  }

  const adjustmentsAt =
    (request: TranscriptionRequest) =>
    ({ endpoint, model }: Target): ReadonlyArray<Adjustment> => {
      const dialect = catalog.account(endpoint.provider)?.provider.dialect ?? "generic"
      return transcriptionAdjustmentsOf({ request, endpoint, model, dialect })
    }

  const transcribe = Effect.fnUntraced(function* (call: TranscriptionCall) {
    const receipt = yield* openReceipt(requestFacts(call))
    return yield* Effect.gen(function* () {
      const adjustments = adjustmentsAt(call.request)
      // Those that take every option come first.
      const targets = Arr.sortWith(
        yield* allowedTargets(call, offerAt(call.caller.pricing)),
        (target) => adjustments(target).length,
        Order.Number
      )
      const [first] = targets
      yield* limitTokens(call.caller, receipt, () => totalTokens(expectedUsage(first.endpoint, call.request)))
      const hold = yield* holdCredit(call, targets)
      receipt.recordHold(hold.amount)
      const answer = yield* dispatch.transcribe({ held: hold.request, request: call.request, targets }).pipe(
        Effect.tapError(({ attempts }) => Effect.sync(() => receipt.recordAttempts(attempts))),
        Effect.mapError((exhausted) => errorFromExhausted(exhausted, hold.charged !== undefined))
      )
      receipt.recordAnswer(answer, yield* Clock.currentTimeMillis)
      const adjusted = adjustments(answer.target)
      receipt.recordAdjustments(adjusted)
      return { ...(yield* settle(call, answer, hold, receipt)), adjustments: adjusted }
    }).pipe(Effect.tapCause((cause) => receipt.recordFailure(cause)))
  }, Effect.scoped)

  return TranscribeAudio.of({ transcribe })
})

const requestFacts = ({ callName, caller, candidates, endUserId, id, request }: TranscriptionCall): RequestFacts => ({
  id,
  caller,
  stream: false,
  audio: request.length,
  ...(callName !== undefined && { callName }),
  ...(endUserId !== undefined && { endUserId }),
  ...(candidates.requested !== undefined && { requestedModel: candidates.requested })
})

/**
 * The key must allow the model that the request resolves to; models that would stand in for it are filtered by the key.
 */
const allowedTargets = ({ caller, candidates }: TranscriptionCall, offer: Offer | undefined) => {
  const targets =
    offer === undefined ? candidates.targets : Arr.map(candidates.targets, (one) => chargedTarget(offer, one))
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

const settle = Effect.fnUntraced(function* (
  { request }: TranscriptionCall,
  { target, value }: ProviderAnswer<Transcript>,
  hold: Hold,
  receipt: ReceiptDraft
) {
  const metered = billedUsage(target.endpoint, request, value)
  const cost = costOf(target.endpoint.price, metered.usage)
  const charged = yield* chargeRequest({ hold, receipt }, { metered, cost, outcome: "completed" })
  return { text: value.text, length: request.length, ...charged }
})
