/**
 * The terms of this folder. A request with an `Idempotency-Key` first makes a claim on its key. While the claim is open
 * the request is in flight, and repeats of it wait. Once its answer is recorded, repeats get a replay of it. A repeat
 * that can get neither a claim nor a replay is a conflict.
 */
import type { Effect } from "effect"

import type { EndpointName } from "../domain/Caller.ts"
import type { OrganizationId, RequestId } from "../domain/Ids.ts"

/** A request with an `Idempotency-Key`. The key belongs to an organization and an endpoint. */
export interface IdempotentRequest {
  readonly organization: OrganizationId
  readonly endpoint: EndpointName
  readonly key: string
  /** The content that repeats are compared by. Only its hash is stored. */
  readonly body: Uint8Array
  /** The id of this request itself, which is not always the one that it is answered under. */
  readonly request: RequestId
}

/** An answer as it was sent: plain, or the whole text of a stream. */
export interface RecordedAnswer {
  readonly contentType: string
  readonly body: Uint8Array
  /** The parameters that the model did not get as they were asked for, separated by commas. Absent without any. */
  readonly adjusted?: string
}

/** A larger answer is sent to its client and not recorded. */
export const maxRecordedBytes = 1024 * 1024

/** How a request ended that was charged, but whose answer cannot be replayed. */
export type UnrecordedOutcome = "too_large" | "client_left"

/** How a request ended. `failed`: without an answer and without a charge. */
export type RequestOutcome = RecordedAnswer | UnrecordedOutcome | "failed"

/** The right to answer the request. If its scope closes before `end`, the next repeat can claim the key. */
export interface Claim {
  readonly _tag: "Claim"
  /** The id to answer under: the request's own, or that of an earlier request whose outcome is not known. */
  readonly request: RequestId
  /** Never fails: an outcome that cannot be stored is logged, and counts as not known. */
  readonly end: (outcome: RequestOutcome) => Effect.Effect<void>
}

/** The recorded answer of an earlier request. */
export interface Replay {
  readonly _tag: "Replay"
  /** The id that the recorded answer was given under. */
  readonly request: RequestId
  readonly answer: RecordedAnswer
}

/** Why a repeat gets neither a claim nor a replay. */
export type Conflict =
  /** The key was used with another body. */
  | { readonly _tag: "Conflict"; readonly reason: "different_body" }
  /** An earlier request was in flight for as long as this one could wait. */
  | { readonly _tag: "Conflict"; readonly reason: "in_flight" }
  /** The earlier request with this id was charged, and its answer cannot be replayed. */
  | { readonly _tag: "Conflict"; readonly reason: UnrecordedOutcome; readonly request: RequestId }
