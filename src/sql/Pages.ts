/**
 * Reads a table in pages, each of which starts after the last key of the page before. The rule: a read takes the memory
 * of one page, however long the table is.
 */
import { Effect, Option, Stream } from "effect"

/** Sorts before every other UUID. */
export const nilUuid = "00000000-0000-0000-0000-000000000000"

/**
 * All rows whose key is greater than `after`. `read` returns the first rows after a key, in order of their keys. The
 * stream ends when it returns none.
 */
export const pagesByKey = <Row, E, R>(options: {
  readonly after?: string
  readonly read: (after: string) => Effect.Effect<ReadonlyArray<Row>, E, R>
  readonly keyOf: (row: Row) => string
}): Stream.Stream<Row, E, R> =>
  Stream.paginate(options.after ?? nilUuid, (after) =>
    Effect.map(options.read(after), (rows) => {
      const last = rows.at(-1)
      return [rows, Option.map(Option.fromUndefinedOr(last), options.keyOf)] as const
    })
  )
