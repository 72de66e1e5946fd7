/**
 * The life of a transcription: check the model against the key, hold credit for the length of the audio, dispatch,
 * bill what the answering model used, log. As in chat, leaving the scope without a charge refunds the hold.
 */
import { Array as Arr, Clock, Context, Effect, Layer } from "effect"

import { ModelNotAllowed, type TranscriptionError } from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { costOf } from "../catalog/Price.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { AudioLength, Transcript } from "../domain/Transcription.ts"
import type { Usage } from "../domain/Usage.ts"
import { CreditLedger, type Hold } from "../ledger/CreditLedger.ts"
import { billedUsage, estimateTranscription } from "../ledger/TranscriptionPricing.ts"
import { Dispatch } from "../providers/dispatch/Dispatch.ts"
import type { ProviderAnswer } from "../providers/dispatch/ProviderAnswer.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import { RequestLog } from "../receipts/RequestLog.ts"
import { errorFromExhausted, errorFromLedger } from "./Failures.ts"
import { openReceipt, type ReceiptDraft, type RequestFacts } from "./ReceiptDraft.ts"
import type { TranscriptionCall } from "./TranscriptionCall.ts"

export interface TranscriptionResult {
  readonly text: string
  readonly length: AudioLength
  readonly usage: Usage
  readonly cost: Picodollars
}

export class TranscribeAudio extends Context.Service<
  TranscribeAudio,
  {
    /** Text out of an upload, charged. A request that fails costs nothing. */
    readonly transcribe: (call: TranscriptionCall) => Effect.Effect<TranscriptionResult, TranscriptionError>
  }
>()("tollgate/gateway/TranscribeAudio") {
  static readonly layer = Layer.effect(
    TranscribeAudio,
    Effect.gen(function* () {
      const rooms: Rooms = {
        ledger: yield* CreditLedger,
        dispatch: yield* Dispatch,
        requestLog: yield* RequestLog,
        catalogVersion: (yield* Catalog).version
      }
      return TranscribeAudio.of({ transcribe: (call) => transcribe(rooms, call) })
    })
  )
}

interface Rooms {
  readonly ledger: CreditLedger["Service"]
  readonly dispatch: Dispatch["Service"]
  readonly requestLog: RequestLog["Service"]
  readonly catalogVersion: string
}

const transcribe = Effect.fnUntraced(function* (rooms: Rooms, call: TranscriptionCall) {
  const draft = yield* openReceipt(rooms, subjectOf(call))
  return yield* Effect.gen(function* () {
    const targets = yield* allowed(call)
    const hold = yield* holdFor(rooms, call, targets[0])
    draft.held(hold.amount)
    const answer = yield* rooms.dispatch.transcribe({ held: hold.request, request: call.request, targets }).pipe(
      Effect.tapError((exhausted) => Effect.sync(() => draft.attempted(exhausted.attempts))),
      Effect.mapError(errorFromExhausted)
    )
    draft.answered(answer, yield* Clock.currentTimeMillis)
    return yield* settle(call, answer, hold, draft)
  }).pipe(Effect.tapCause((cause) => Effect.sync(() => draft.failed(cause))))
}, Effect.scoped)

const subjectOf = ({ callName, caller, endUserId, id, request, transcribers }: TranscriptionCall): RequestFacts => ({
  id,
  caller,
  stream: false,
  audio: request.length,
  ...(callName !== undefined && { callName }),
  ...(endUserId !== undefined && { endUserId }),
  ...(transcribers.requested !== undefined && { requestedModel: transcribers.requested })
})

/** The allowlist judges the model that the request resolves to, and narrows those that stand in for it. */
const allowed = ({ caller, transcribers: { targets } }: TranscriptionCall) => {
  const [{ model }] = targets
  const mayUse = targets.filter((target) => caller.models?.has(target.model.id) !== false)
  return Arr.isReadonlyArrayNonEmpty(mayUse) && mayUse[0].model.id === model.id
    ? Effect.succeed(mayUse)
    : Effect.fail(ModelNotAllowed.of(`This API key may not use ${model.id}`))
}

const holdFor = ({ ledger }: Rooms, { caller, id, request }: TranscriptionCall, { endpoint }: Target) =>
  ledger
    .hold({ request: id, organization: caller.organization, amount: estimateTranscription(endpoint, request) })
    .pipe(Effect.mapError(errorFromLedger))

/** Not interruptible: the answer is there, and a charge is never half made. */
const settle = Effect.fnUntraced(function* (
  { request }: TranscriptionCall,
  { target, value }: ProviderAnswer<Transcript>,
  hold: Hold,
  draft: ReceiptDraft
) {
  const counted = billedUsage(target.endpoint, request, value)
  const cost = costOf(target.endpoint.price, counted.usage)
  yield* hold.settle(cost)
  draft.charged(counted, cost, "completed")
  return { text: value.text, length: request.length, usage: counted.usage, cost } satisfies TranscriptionResult
}, Effect.uninterruptible)
