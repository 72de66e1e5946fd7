/**
 * Ends open streams properly when the gateway shuts down. Shortly before the limit at which the server cuts
 * connections, every open stream is told to send its last chunk, because a stream must never end without one.
 */
import { Context, Deferred, Duration, Effect, Layer } from "effect"

import { InternalError } from "../../api/Errors.ts"
import type { DrainSignal } from "../../gateway/Settlement.ts"

/** How long before the limit the signal comes: the time left to send the last chunk. */
const timeForLastChunk = Duration.seconds(2)

/** The error of requests that could not finish before the shutdown limit. */
export const shutdownError = InternalError.of(
  "The gateway was stopped before the answer was complete; nothing was charged"
)

/** The shutdown of the gateway, as the streams that are open at that moment see it. */
export class Drain extends Context.Service<
  Drain,
  {
    readonly signal: DrainSignal
    /** Starts the shutdown: requests in flight may take up to `limit`. */
    readonly begin: (limit: Duration.Duration) => Effect.Effect<void>
  }
>()("tollgate/http/edge/Drain") {
  static readonly layer = Layer.effect(
    Drain,
    Effect.map(Deferred.make<never, InternalError>(), (closed) =>
      Drain.of({
        signal: Deferred.await(closed),
        begin: (limit) =>
          Deferred.fail(closed, shutdownError).pipe(
            Effect.delay(Duration.subtract(limit, Duration.min(timeForLastChunk, Duration.divideUnsafe(limit, 2)))),
            Effect.forkDetach,
            Effect.asVoid
          )
      })
    )
  )

  /**
   * Starts the drain when this layer closes. It has to be built after the server, so that it closes before the server
   * begins to wait for the requests in flight.
   */
  static readonly layerBeginOnClose = ({ shutdownTimeout }: { readonly shutdownTimeout: Duration.Duration }) =>
    Layer.effectDiscard(Effect.flatMap(Drain, ({ begin }) => Effect.addFinalizer(() => begin(shutdownTimeout))))
}
