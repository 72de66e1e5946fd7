/** Time of day that a test moves by hand, where real sockets forbid the test clock. Sleeps and timeouts stay real. */
import { Clock, Duration, Effect } from "effect"

/** Runs a test in which no time passes but what it lets pass by `pass`. */
export const withManualTime = <A, E, R>(
  test: (pass: (duration: Duration.Input) => Effect.Effect<void>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Clock.Clock, (live) => {
    let millis = live.currentTimeMillisUnsafe()
    const clock: Clock.Clock = Object.assign(Object.create(live), {
      currentTimeMillisUnsafe: () => millis,
      currentTimeMillis: Effect.sync(() => millis)
    })
    const pass = (duration: Duration.Input) =>
      Effect.sync(() => {
        millis += Duration.toMillis(Duration.fromInputUnsafe(duration))
      })
    return Effect.provideService(test(pass), Clock.Clock, clock)
  })
