/**
 * Splits a stream of text into the lines of JSON Lines. Only a line feed ends a line, since JSON text may contain other
 * characters that Unicode counts as line breaks; a carriage return before the line feed is harmless white space. Blank
 * lines are dropped, and the last line needs no line feed. At most one line is buffered, and its length is limited.
 */
import { Result, Stream } from "effect"

import { RequestTooLarge } from "../api/Errors.ts"

/** The longest line in characters: as many as the gateway accepts bytes in a request body by default. */
export const lineLengthMax = 32 * 1024 * 1024

/** A line without its line feed, or the error in its place. */
export type JsonLine = Result.Result<string, RequestTooLarge>

/** The beginning of the current line; `undefined` once the line is too long, while its end is searched. */
type Pending = string | undefined

/** The lines of `text`, which may be split anywhere. A line that is too long becomes an error, and reading goes on. */
export const jsonLines = <E, R>(text: Stream.Stream<string, E, R>): Stream.Stream<JsonLine, E, R> =>
  Stream.mapAccumArray(
    text,
    (): Pending => "",
    (pending, pieces) => {
      const ended: Array<JsonLine> = []
      let current = pending
      for (const piece of pieces) current = split(current, piece, ended)
      return [current, ended]
    },
    { onHalt: (pending) => endLine(pending) }
  )

/** Adds the lines that end within `piece` to `ended`, and returns the beginning of the next one. */
const split = (pending: Pending, piece: string, ended: Array<JsonLine>): Pending => {
  let current = pending
  let start = 0
  for (let end = piece.indexOf("\n"); end !== -1; end = piece.indexOf("\n", start)) {
    ended.push(...endLine(append(current, piece.slice(start, end))))
    current = ""
    start = end + 1
  }
  return append(current, piece.slice(start))
}

const append = (pending: Pending, piece: string): Pending =>
  pending === undefined || pending.length + piece.length > lineLengthMax ? undefined : pending + piece

const endLine = (pending: Pending): ReadonlyArray<JsonLine> => {
  if (pending === undefined) return [Result.fail(RequestTooLarge.of(`A line may have ${lineLengthMax} characters`))]
  return pending.trim() === "" ? [] : [Result.succeed(pending)]
}
