/**
 * The time limits of all calls and streams in flight, watched by one timer. One that begins, moves and ends costs a few
 * assignments; a fiber or a timer of its own would cost as much as the rest of a call. The timer is a sleep of
 * Effect's clock, so that a test clock moves it.
 *
 * Deadlines are noticed up to a step late, and never early.
 */
import { Clock, Duration, Effect, Fiber } from "effect"

/** How much later than necessary a deadline may be noticed: calls that expire together are found in one pass. */
const stepMillis = 25

/** A call as the timer sees it. */
export interface Deadline {
  /** On the monotonic clock. Whoever makes it earlier says so with `watch`; it may be made later at any time. */
  expiresAtMillis: number
  /** Called once. The deadline is not watched any more. */
  readonly expire: () => void
}

export interface Deadlines {
  /** The time in milliseconds on the monotonic clock, which is never set back. */
  readonly nowMillis: () => number
  /** Begins to watch a deadline, or learns that it has become earlier. */
  readonly watch: (deadline: Deadline) => void
  readonly forget: (deadline: Deadline) => void
}

/** The timer of a layer, which ends with the scope. */
export const makeDeadlines = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const watched = new Set<Deadline>()
  let wakesAtMillis = Number.POSITIVE_INFINITY
  let sleeping: Fiber.Fiber<void> | undefined

  const nowMillis = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

  const wakeAt = (millis: number): void => {
    sleeping?.interruptUnsafe()
    wakesAtMillis = Math.ceil(millis / stepMillis) * stepMillis
    const wait = clock.sleep(Duration.millis(wakesAtMillis - nowMillis()))
    sleeping = Fiber.runIn(fork(Effect.andThen(wait, Effect.sync(wake))), scope)
  }

  const wake = (): void => {
    // It has slept, and must not be interrupted while it plans the next sleep.
    sleeping = undefined
    wakesAtMillis = Number.POSITIVE_INFINITY
    const now = nowMillis()
    let next = Number.POSITIVE_INFINITY
    for (const deadline of watched) {
      if (deadline.expiresAtMillis > now) next = Math.min(next, deadline.expiresAtMillis)
      else if (watched.delete(deadline)) deadline.expire()
    }
    // An expired call may have begun another one, and with it a sleep.
    if (next < wakesAtMillis) wakeAt(next)
  }

  return {
    nowMillis,
    watch: (deadline) => {
      watched.add(deadline)
      if (deadline.expiresAtMillis < wakesAtMillis) wakeAt(deadline.expiresAtMillis)
    },
    forget: (deadline) => void watched.delete(deadline)
  } satisfies Deadlines
})
