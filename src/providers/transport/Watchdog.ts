/**
 * The bytes of a response under a time limit. One fiber per response watches the clock, so a packet costs no timer of
 * its own. Only time that we spend waiting for the provider counts as silence: a client that reads slowly is not the
 * provider's fault.
 */
import { type Array as Arr, Cause, Clock, Duration, Effect, Exit, type Pull, Scope, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"

import { type Failure, transient } from "../../domain/Failure.ts"
import { connectionFailure } from "./ConnectionFailure.ts"
import type { Timeouts } from "./Timeouts.ts"

/** Whatever has arrived, one array per wake-up. */
export type Packets = Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, Failure>

/** Milliseconds on a clock that nobody corrects. */
export const monotonicMillis = Effect.map(Clock.Clock, (clock) => millisOn(clock))

const millisOn = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

/** The body's packets. Closes `socket` when the provider falls silent or the call takes too long. */
export const watched = Effect.fnUntraced(function* (options: {
  readonly response: HttpClientResponse.HttpClientResponse
  /** The request's own scope: closing it aborts the request. */
  readonly socket: Scope.Closeable
  readonly startedAtMillis: number
  readonly timeouts: Timeouts
}) {
  const clock = yield* Clock.Clock
  const silenceMillis = Duration.toMillis(options.timeouts.silence)
  const endMillis = options.startedAtMillis + Duration.toMillis(options.timeouts.call)
  let waitingSince: number | undefined
  let expired: Failure | undefined

  const watch = Effect.gen(function* () {
    while (expired === undefined) {
      const now = millisOn(clock)
      const silentAt = (waitingSince ?? now) + silenceMillis
      if (now >= endMillis) expired = transient("timeout", "The provider took too long to answer.")
      else if (now >= silentAt) expired = transient("timeout", "The provider fell silent.")
      else yield* Effect.sleep(Math.min(silentAt, endMillis) - now)
    }
    yield* Scope.close(options.socket, Exit.void)
  })

  const bytes = yield* Stream.toPull(options.response.stream)
  yield* Effect.forkScoped(watch)
  return Effect.suspend((): Packets => {
    waitingSince = millisOn(clock)
    return Effect.matchEffect(bytes, {
      onSuccess: (packets) => {
        waitingSince = undefined
        return Effect.succeed(packets)
      },
      onFailure: (error) => Effect.fail(Cause.isDone(error) ? error : (expired ?? connectionFailure(error)))
    })
  })
})
