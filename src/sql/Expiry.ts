/** Removes what has expired, batch by batch, for as long as its room is open. A failure is logged and tried again. */
import { type Duration, Effect, Schedule } from "effect"

export interface ExpirySweep<E> {
  /** Removes one batch; answers whether there may be more. */
  readonly batch: Effect.Effect<boolean, E>
  readonly every: Duration.Input
  /** What to say of a failure. */
  readonly complaint: string
}

export const sweepForever = <E>({ batch, complaint, every }: ExpirySweep<E>): Effect.Effect<void> =>
  batch.pipe(
    Effect.repeat({ while: (more) => more }),
    Effect.catch((error) => Effect.logWarning(complaint, error)),
    Effect.repeat(Schedule.spaced(every)),
    Effect.asVoid
  )
