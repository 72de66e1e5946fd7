/**
 * Tells open streams that the gateway will be gone in a moment, while there is still time to end them properly: a
 * stream must never just stop. It begins with the gateway's own end and comes shortly before the limit that cuts them.
 */
import { Context, Deferred, Duration, Effect, Layer } from "effect"

/** What is left for the last chunk when the signal comes. */
const farewell = Duration.seconds(1)

export class Closing extends Context.Service<
  Closing,
  {
    /** Returns when streams have to end. */
    readonly signal: Effect.Effect<void>
    /** The gateway was asked to go: requests in flight have this long. */
    readonly begin: (limit: Duration.Duration) => Effect.Effect<void>
  }
>()("tollgate/http/Closing") {
  static readonly layer = Layer.effect(
    Closing,
    Effect.map(Deferred.make<void>(), (closed) =>
      Closing.of({
        signal: Deferred.await(closed),
        begin: (limit) =>
          Deferred.succeed(closed, undefined).pipe(
            Effect.delay(Duration.subtract(limit, Duration.min(farewell, Duration.divideUnsafe(limit, 2)))),
            Effect.forkDetach,
            Effect.asVoid
          )
      })
    )
  )
}
