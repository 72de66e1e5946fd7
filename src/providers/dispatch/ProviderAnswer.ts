/** How a dispatch ends: with the answer of one target, or with every target tried in vain. */
import { Data, type Duration } from "effect"

import type { Attempt } from "../../domain/Attempt.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { Target } from "./Target.ts"

/** No target answered. `last` is the failure that ended the walk. */
export class Exhausted extends Data.TaggedError("Exhausted")<{
  readonly last: Failure
  readonly attempts: ReadonlyArray<Attempt>
  /** Set when every target was rate-limited: the shortest wait any of them asked for. */
  readonly rateLimited?: { readonly retryAfter: Duration.Duration }
}> {}

export interface ProviderAnswer<A> {
  readonly target: Target
  readonly attempts: ReadonlyArray<Attempt>
  readonly value: A
}
