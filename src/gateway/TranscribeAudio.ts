/**
 * The transcription of an upload. HTTP authenticates the caller, applies the rate limit and reads the form; what
 * follows is here and in `NamedModelCall`. Credit is held for the length of the audio.
 */
import { Context, Effect, Layer } from "effect"

import type { TranscriptionError } from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { Caller } from "../domain/Caller.ts"
import type { RequestId } from "../domain/Ids.ts"
import type { AudioLength, Transcript, TranscriptionRequest } from "../domain/Transcription.ts"
import { totalTokens } from "../domain/Usage.ts"
import { billedUsage, estimateTranscription, expectedUsage } from "../ledger/TranscriptionPricing.ts"
import { worstTranscription } from "../ledger/WorstCase.ts"
import { Dispatch } from "../providers/dispatch/Dispatch.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import { type Adjustment, transcriptionAdjustmentsOf } from "../providers/protocols/Adjustments.ts"
import type { ChargedUsage } from "./Charging.ts"
import type { TranscriptionTargets } from "./ChooseTranscriptionTargets.ts"
import { type NamedModelCall, namedModelCalls } from "./NamedModelCall.ts"
import type { RequestFacts } from "./ReceiptDraft.ts"

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
  const dispatch = yield* Dispatch
  const answer = yield* namedModelCalls

  const adjustmentsAt =
    (request: TranscriptionRequest) =>
    ({ endpoint, model }: Target): ReadonlyArray<Adjustment> => {
      const dialect = catalog.account(endpoint.provider)?.provider.dialect ?? "generic"
      return transcriptionAdjustmentsOf({ request, endpoint, model, dialect })
    }

  const callOf = (call: TranscriptionCall): NamedModelCall<Transcript> => {
    const { candidates, mayBeCharged = false, request } = call
    return {
      facts: requestFacts(call),
      mayBeCharged,
      targets: candidates.targets,
      expectedTokens: (endpoint) => totalTokens(expectedUsage(endpoint, request)),
      estimate: (endpoint) => estimateTranscription(endpoint, request),
      worst: (endpoint) => worstTranscription(endpoint, request),
      adjustments: adjustmentsAt(request),
      send: (held, targets) => dispatch.transcribe({ held, request, targets }),
      billed: (endpoint, transcript) => billedUsage(endpoint, request, transcript)
    }
  }

  return TranscribeAudio.of({
    transcribe: (call) =>
      Effect.map(answer(callOf(call)), ({ adjustments, cost, usage, value }) => ({
        text: value.text,
        length: call.request.length,
        adjustments,
        cost,
        usage
      }))
  })
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
