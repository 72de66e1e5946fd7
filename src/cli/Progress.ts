/**
 * How far a long command has come, as a line on standard error that is drawn over itself, and erased at the end. It is
 * drawn on a terminal only: logs and pipes get nothing.
 */
import { Effect, type Scope, Stdio, Stream } from "effect"

const barWidth = 30

/** Back to the start of the line, which is then erased. */
const eraseLine = "\r\u001B[2K"

/** A bar where the end is known, else a count. `unit` is what is counted, such as `requests`. */
export const progressLine = (done: number, unit: string, total?: number): string => {
  const count = done.toLocaleString("en-US")
  if (total === undefined || total === 0) return `${count} ${unit}`
  const share = Math.min(1, done / total)
  const bar = "#".repeat(Math.floor(share * barWidth)).padEnd(barWidth)
  return `[${bar}] ${Math.floor(share * 100)} %  ${count} of ${total.toLocaleString("en-US")} ${unit}`
}

/** Counts what is done. */
export type Advance = (count: number) => Effect.Effect<void>

/**
 * The line is there until the scope closes. `total` is found out only where it is shown. A terminal that cannot be
 * written to stops no command.
 */
export const progress = <E = never, R = never>(
  unit: string,
  total?: Effect.Effect<number, E, R>
): Effect.Effect<Advance, E, R | Stdio.Stdio | Scope.Scope> =>
  Effect.gen(function* () {
    const stdio = yield* Stdio.Stdio
    if (!(yield* stdio.stderrIsTerminal)) return () => Effect.void
    const write = (text: string) => Effect.ignore(Stream.run(Stream.make(text), stdio.stderr({ endOnDone: false })))
    yield* Effect.addFinalizer(() => write(eraseLine))
    const expected = total && (yield* total)
    let done = 0
    return (count: number) =>
      Effect.suspend(() => {
        done += count
        return write(eraseLine + progressLine(done, unit, expected))
      })
  })
