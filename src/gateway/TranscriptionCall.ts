/** One transcription request in hand: who asks for what, by which model, under which labels. */
import type { Caller } from "../domain/Caller.ts"
import type { RequestId } from "../domain/Ids.ts"
import type { TranscriptionRequest } from "../domain/Transcription.ts"
import type { TranscriptionTargets } from "./ChooseTranscriptionTargets.ts"

export interface TranscriptionCall {
  readonly id: RequestId
  readonly caller: Caller
  /** What the request's model field leads to. */
  readonly transcribers: TranscriptionTargets
  readonly request: TranscriptionRequest
  readonly callName: string | undefined
  readonly endUserId: string | undefined
}
