/**
 * Work that repeats in the background for as long as its scope is open. The rule: a run that fails is logged, and the
 * next one takes place all the same.
 */
import { type Duration, Effect, type Fiber, Schedule, type Scope } from "effect"

import { describeCause } from "./ErrorDescription.ts"

/** What to run, how often, and what to log when it fails. */
export interface BackgroundTask<E, R> {
  readonly run: Effect.Effect<unknown, E, R>
  /** The time from the end of one run to the start of the next. */
  readonly every: Duration.Input
  /** By default the first run comes after one interval. */
  readonly startAtOnce?: boolean
  /** What to log when a run fails. */
  readonly failureMessage: string
}

/** Starts the task, which ends with its scope or when its fiber is interrupted. */
export const repeatInBackground = <E, R>({
  every,
  failureMessage,
  run,
  startAtOnce = false
}: BackgroundTask<E, R>): Effect.Effect<Fiber.Fiber<unknown>, never, R | Scope.Scope> => {
  const attempt = Effect.catchCause(run, (cause) =>
    Effect.annotateLogs(Effect.logWarning(failureMessage), { cause: describeCause(cause) })
  )
  const schedule = Schedule.spaced(every)
  return Effect.forkScoped(startAtOnce ? Effect.repeat(attempt, schedule) : Effect.schedule(attempt, schedule))
}
