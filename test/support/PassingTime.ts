/** Lets time pass in tests: on the test clock while something real goes on, or for real. */
import { type Duration, Effect } from "effect"
import { TestClock } from "effect/testing"

/**
 * Moves the test clock while an effect runs that sleeps between its attempts. No faster than real time unless nothing
 * else is to happen meanwhile, because callers of a database wait a few seconds, and a busy one takes longer.
 */
export const whileTimePasses = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  everyFiveMillis: Duration.Input = "5 millis"
) => Effect.raceFirst(effect, Effect.forever(Effect.andThen(TestClock.adjust(everyFiveMillis), realMillis(5))))

export const realMillis = (millis: number) =>
  Effect.promise(() => new Promise((resolve) => setTimeout(resolve, millis)))
