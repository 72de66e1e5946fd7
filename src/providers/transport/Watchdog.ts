/**
 * Puts the body of a response under time limits. One fiber per response watches the clock, so that a packet does not
 * need a timer of its own. Only the time that we spend waiting for the provider counts as silence: a client that reads
 * slowly is not the provider's fault.
 */
import { type Array as Arr, Cause, Clock, Duration, Effect, Exit, type Pull, Scope, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"

import { type Failure, transient } from "../../domain/Failure.ts"
import { connectionFailure } from "./ConnectionFailure.ts"
import type { Timeouts } from "./Timeouts.ts"

/** The bytes of a body. Each pull gives all packets that have arrived since the last one. */
export type Packets = Pull.Pull<Arr.NonEmptyReadonlyArray<Uint8Array>, Failure>

/** The time in milliseconds on the monotonic clock, which is never set back. */
export const monotonicMillis = Effect.map(Clock.Clock, (clock) => millisOn(clock))

const millisOn = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

/** The packets of a body. Closes `socket` when the provider falls silent or the call takes too long. */
export const watchedPackets = Effect.fnUntraced(function* (options: {
  readonly response: HttpClientResponse.HttpClientResponse
  /** The scope of the request alone: closing it aborts the request. */
  readonly socket: Scope.Closeable
  readonly startedAtMillis: number
  readonly timeouts: Timeouts
}) {
  const clock = yield* Clock.Clock
  const silenceMillis = Duration.toMillis(options.timeouts.silence)
  const deadlineMillis = options.startedAtMillis + Duration.toMillis(options.timeouts.call)
  let waitingSince: number | undefined
  let expired: Failure | undefined

  const watch = Effect.gen(function* () {
    while (expired === undefined) {
      const now = millisOn(clock)
      const silenceEndsAt = (waitingSince ?? now) + silenceMillis
      if (now >= deadlineMillis) expired = transient("timeout", "The provider took too long to answer.")
      else if (now >= silenceEndsAt) expired = transient("timeout", "The provider fell silent.")
      else yield* Effect.sleep(Math.min(silenceEndsAt, deadlineMillis) - now)
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
