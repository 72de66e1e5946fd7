/**
 * Ranked failover. Walks the targets in order until one answers; a failure that another target may not share moves on,
 * and nothing that already reached the client is ever repeated.
 */
import { Context, Data, type Duration, type Effect, type Scope, type Stream } from "effect"

import type { Attempt } from "../domain/Attempt.ts"
import type { Completion, CompletionEvent } from "../domain/Completion.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { Failure } from "../domain/Failure.ts"
import type { Target } from "./Target.ts"

/** No target answered. `last` is the failure that ended the walk. */
export class Exhausted extends Data.TaggedError("Exhausted")<{
  readonly last: Failure
  readonly attempts: ReadonlyArray<Attempt>
  /** Set when every target was rate-limited: the shortest wait any of them asked for. */
  readonly rateLimited?: { readonly retryAfter: Duration.Duration }
}> {}

export interface Call {
  readonly request: ChatRequest
  /** In order of preference, endpoints of one model beside each other. */
  readonly targets: readonly [Target, ...Array<Target>]
  /** An opaque, organization-bound key for the provider's cache affinity; never the client's own session id. */
  readonly affinity?: string
}

export interface Answer<A> {
  readonly target: Target
  readonly attempts: ReadonlyArray<Attempt>
  readonly value: A
}

export class Dispatch extends Context.Service<
  Dispatch,
  {
    /** A plain answer. Its `finishReason` is always set. */
    readonly complete: (call: Call) => Effect.Effect<Answer<Completion>, Exhausted>
    /**
     * A streamed answer, after its first output has arrived: until then failures fail over. The stream begins with that
     * output, ends after `finish`, and fails with the target's failure if it breaks. The connection lives in the scope.
     */
    readonly open: (
      call: Call
    ) => Effect.Effect<Answer<Stream.Stream<CompletionEvent, Failure>>, Exhausted, Scope.Scope>
  }
>()("tollgate/providers/Dispatch") {}
