/** When a worker that ended is started again. */
import { Duration } from "effect"

const firstDelayMillis = 500
const longestDelayMillis = 30_000
/** A worker that served for this long was no part of a series of failures. */
const steadyMillis = 60_000

/**
 * How many workers of a slot have ended in a row, with the one that has just ended. `servedMillis`: how long it
 * listened; undefined if it never did.
 */
export const failuresInARow = (before: number, servedMillis: number | undefined): number =>
  servedMillis !== undefined && servedMillis >= steadyMillis ? 1 : before + 1

/** Doubles with every failure in a row, up to half a minute. */
export const restartDelay = (failures: number): Duration.Duration =>
  Duration.millis(Math.min(longestDelayMillis, firstDelayMillis * 2 ** (failures - 1)))
