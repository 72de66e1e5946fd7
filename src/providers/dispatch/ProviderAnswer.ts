/** How a dispatch ends: with the answer of one target, or with the failures of all that were tried. */
import { Data, type Duration } from "effect"

import type { Attempt } from "../../domain/Attempt.ts"
import type { Failure } from "../../domain/Failure.ts"
import type { Target } from "./Target.ts"

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
