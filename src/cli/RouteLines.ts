/**
 * Text to lines, for JSON Lines: a line ends at a line feed and nowhere else, since JSON text may hold every other
 * character that some call a line break. A carriage return before it goes with it, blank lines are no lines, and the
 * last one may end with the input. What waits for its end is bounded.
 */
import { Result, Stream } from "effect"

import { RequestTooLarge } from "../api/Errors.ts"

/** Characters one line may have, as many as the gateway takes bytes by default. */
export const lengthMax = 32 * 1024 * 1024

export type Line = Result.Result<string, RequestTooLarge>

/** The line under way; `undefined` once it is too long, when only its end matters. */
type Pending = string | undefined

export const lines = <E, R>(text: Stream.Stream<string, E, R>): Stream.Stream<Line, E, R> =>
  Stream.mapAccumArray(
    text,
    (): Pending => "",
    (pending, pieces) => {
      const ended: Array<Line> = []
      let current = pending
      for (const piece of pieces) current = feed(current, piece, ended)
      return [current, ended]
    },
    { onHalt: (pending) => close(pending) }
  )

const feed = (pending: Pending, piece: string, ended: Array<Line>): Pending => {
  let current = pending
  let start = 0
  for (let end = piece.indexOf("\n"); end !== -1; end = piece.indexOf("\n", start)) {
    ended.push(...close(grown(current, piece.slice(start, end))))
    current = ""
    start = end + 1
  }
  return grown(current, piece.slice(start))
}

const grown = (pending: Pending, piece: string): Pending =>
  pending === undefined || pending.length + piece.length > lengthMax ? undefined : pending + piece

const close = (pending: Pending): ReadonlyArray<Line> => {
  if (pending === undefined) return [Result.fail(RequestTooLarge.of(`A line may have ${lengthMax} characters`))]
  return pending.trim() === "" ? [] : [Result.succeed(pending)]
}
