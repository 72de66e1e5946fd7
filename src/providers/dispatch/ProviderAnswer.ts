/** How a dispatch ends: with the answer of one target, or with the failures of all that were tried. */
import { Data, type Duration, type Effect } from "effect"

import type { Attempt } from "../../domain/Attempt.ts"
import type { CompletionEvent } from "../../domain/Completion.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { PacketSource } from "../../domain/PacketSource.ts"
import type { Target } from "./Target.ts"

/** The events of a stream by packets. Its end fails if the stream broke off. */
export type EventPackets = PacketSource<CompletionEvent, Effect.Effect<void, Failure>>

/** No target answered. `last` is the failure after which no target was left to try. */
export class Exhausted extends Data.TaggedError("Exhausted")<{
  readonly last: Failure
  readonly attempts: ReadonlyArray<Attempt>
  /** Only if every target was rate-limited: the shortest wait that any of them asked for. */
  readonly rateLimited?: { readonly retryAfter: Duration.Duration }
}> {}

export interface ProviderAnswer<A> {
  readonly target: Target
  readonly attempts: ReadonlyArray<Attempt>
  readonly value: A
}
