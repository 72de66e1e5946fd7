/**
 * Ends open streams properly when the gateway shuts down. Shortly before the limit at which the server cuts
 * connections, every open stream is told to send its last chunk, because a stream must never end without one.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"

import { InternalError } from "../../api/Errors.ts"
import type { DrainSignal } from "../../gateway/Settlement.ts"

/** How long before the limit the signal comes: the time left to send the last chunk. */
const timeForLastChunk = Duration.seconds(2)

/** The error of requests that could not finish before the shutdown limit. */
export const shutdownError = InternalError.of(
  "The gateway was stopped before the answer was complete; nothing was charged"
)

/** A signal that comes when `fire` is called. One set of listeners for all streams: a stream needs no fiber for it. */
export const makeDrainSignal = (error: InternalError = shutdownError) => {
  const listeners = new Set<(error: InternalError) => void>()
  let hasFired = false
  const signal: DrainSignal = {
    listen: (listener) => {
      if (hasFired) listener(error)
      else listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
  const fire = (): void => {
    hasFired = true
    for (const listener of listeners) listener(error)
    listeners.clear()
  }
  return { fire, signal }
}

/** The shutdown of the gateway, as the streams that are open at that moment see it. */
export class Drain extends Context.Service<
  Drain,
  {
    readonly signal: DrainSignal
    /** How many requests have been received whose answers have not been sent completely. */
    readonly requests: { open: number }
    /** Starts the shutdown: requests in flight may take up to `limit`. */
    readonly begin: (limit: Duration.Duration) => Effect.Effect<void>
  }
>()("tollgate/http/edge/Drain") {
  static readonly layer = Layer.effect(
    Drain,
    Effect.gen(function* () {
      const { fire, signal } = makeDrainSignal()
      const requests = { open: 0 }
      let beganAtMillis: number | undefined
      // This layer closes when the server has closed.
      yield* Effect.addFinalizer(() =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          beganAtMillis === undefined
            ? Effect.void
            : Effect.logInfo("All requests have ended").pipe(
                Effect.annotateLogs({ openRequests: requests.open, durationMillis: now - beganAtMillis })
              )
        )
      )
      const begin = Effect.fnUntraced(function* (limit: Duration.Duration) {
        beganAtMillis = yield* Clock.currentTimeMillis
        const timeLeft = Duration.min(timeForLastChunk, Duration.divideUnsafe(limit, 2))
        yield* Effect.sync(fire).pipe(Effect.delay(Duration.subtract(limit, timeLeft)), Effect.forkDetach)
      })
      return Drain.of({ signal, requests, begin })
    })
  )

  /**
   * Starts the drain when this layer closes. It has to be built after the server, so that it closes before the server
   * begins to wait for the requests in flight.
   */
  static readonly layerBeginOnClose = ({ shutdownTimeout }: { readonly shutdownTimeout: Duration.Duration }) =>
    Layer.effectDiscard(
      Effect.gen(function* () {
        const { begin, requests } = yield* Drain
        const received = yield* receivedSignal
        yield* Effect.addFinalizer(() =>
          Effect.logInfo("Tollgate is stopping").pipe(
            Effect.annotateLogs({
              ...(received.signal !== undefined && { signal: received.signal }),
              openRequests: requests.open,
              limitMillis: Duration.toMillis(shutdownTimeout)
            }),
            Effect.andThen(begin(shutdownTimeout))
          )
        )
      })
    )
}

interface ReceivedSignal {
  signal?: NodeJS.Signals
}

/** The signal that stops this process, for as long as the scope is open. The runtime interrupts, and forgets which. */
const receivedSignal = Effect.acquireRelease(
  Effect.sync(() => {
    const received: ReceivedSignal = {}
    const note = (signal: NodeJS.Signals): void => void Object.assign(received, { signal })
    // Before the listeners of the runtime, which may stop the gateway at once.
    for (const signal of stopSignals) process.prependListener(signal, note)
    return { received, note }
  }),
  ({ note }) => Effect.sync(() => stopSignals.forEach((signal) => process.removeListener(signal, note)))
).pipe(Effect.map(({ received }) => received))

const stopSignals = ["SIGTERM", "SIGINT"] as const
