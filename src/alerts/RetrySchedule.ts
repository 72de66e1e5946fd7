/** When a delivery that failed is tried again: seven attempts in all, over a bit more than a day. */
import { Duration } from "effect"

const delays = [
  Duration.seconds(10),
  Duration.minutes(1),
  Duration.minutes(10),
  Duration.hours(1),
  Duration.hours(6),
  Duration.hours(24)
]

/** The share by which a delay may be longer or shorter, so that what failed together is not tried together. */
const jitter = 0.2

/**
 * The milliseconds from a failed attempt to the next one; `undefined` after the last. `attempts` is how many there
 * were, and `chance` is from 0 to 1.
 */
export const retryDelayMillis = (attempts: number, chance: number): number | undefined => {
  const delay = delays[attempts - 1]
  return delay && Math.round(Duration.toMillis(delay) * (1 - jitter + 2 * jitter * chance))
}
