/**
 * Tells open streams that the gateway will be gone in a moment, while there is still time to end them properly: a
 * stream must never just stop. It begins with the gateway's own end and comes shortly before the limit that cuts them.
 */
import { Context, Deferred, Duration, Effect, Layer } from "effect"

import { InternalError } from "../../api/Errors.ts"
import type { DrainSignal } from "../../gateway/Settlement.ts"

/** What is left for the last chunk when the signal comes. */
const farewell = Duration.seconds(1)

/** What requests are told that the gateway has no time to finish. */
export const shutdownError = InternalError.of(
  "The gateway was stopped before the answer was complete; nothing was charged"
)

export class Drain extends Context.Service<
  Drain,
  {
    readonly signal: DrainSignal
    /** The gateway was asked to go: requests in flight have this long. */
    readonly begin: (limit: Duration.Duration) => Effect.Effect<void>
  }
>()("tollgate/http/edge/Closing") {
  static readonly layer = Layer.effect(
    Drain,
    Effect.map(Deferred.make<never, InternalError>(), (closed) =>
      Drain.of({
        signal: Deferred.await(closed),
        begin: (limit) =>
          Deferred.fail(closed, shutdownError).pipe(
            Effect.delay(Duration.subtract(limit, Duration.min(farewell, Duration.divideUnsafe(limit, 2)))),
            Effect.forkDetach,
            Effect.asVoid
          )
      })
    )
  )
}
