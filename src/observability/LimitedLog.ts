/**
 * Log lines that a storm of failures would repeat. Of lines with one key a limited number is written each minute; the
 * others are counted, and the next line that is written says how many they were.
 */
import { Clock, Effect, type LogLevel } from "effect"

export interface LimitedLine {
  /** Lines with the same key are limited together. */
  readonly key: string
  readonly level: LogLevel.Severity
  readonly message: string
  /** How many are written in a minute. */
  readonly perMinute: number
  /** Only called for a line that is written. */
  readonly annotations: () => { readonly [name: string]: unknown }
}

/** Writes the line, or counts it. */
export type LimitedLog = (line: LimitedLine) => Effect.Effect<void>

const windowMillis = 60_000
/** Keys that are remembered; the oldest is forgotten for a new one. */
const maxKeys = 1_000

interface Window {
  startedAtMillis: number
  written: number
  leftOut: number
}

/** A log with counts of its own. */
export const makeLimitedLog = (): LimitedLog => {
  const windows = new Map<string, Window>()

  const windowOf = (key: string, now: number): Window => {
    const found = windows.get(key)
    if (found !== undefined) {
      if (now - found.startedAtMillis >= windowMillis) Object.assign(found, { startedAtMillis: now, written: 0 })
      return found
    }
    const [oldest] = windows.keys()
    if (windows.size >= maxKeys && oldest !== undefined) windows.delete(oldest)
    const opened: Window = { startedAtMillis: now, written: 0, leftOut: 0 }
    windows.set(key, opened)
    return opened
  }

  return ({ annotations, key, level, message, perMinute }) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const window = windowOf(key, now)
      if (window.written >= perMinute) {
        window.leftOut++
        return Effect.void
      }
      window.written++
      const { leftOut } = window
      window.leftOut = 0
      return Effect.logWithLevel(level)(message).pipe(
        Effect.annotateLogs({ ...annotations(), ...(leftOut > 0 && { leftOut }) })
      )
    })
}
