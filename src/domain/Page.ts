/**
 * Long lists in pages. A page starts after the cursor that came with the page before, so rows that are added meanwhile
 * neither repeat nor hide others.
 */

export interface PageRequest {
  /** At least 1. */
  readonly limit: number
  /** Where the page before ended; absent for the first page. */
  readonly cursor?: string | undefined
}

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string
}

/** The page in a list that was read with one item more than it holds, which tells whether another page follows. */
export const pageOf = <A>({ limit }: PageRequest, items: ReadonlyArray<A>, cursorOf: (last: A) => string): Page<A> => {
  const held = items.slice(0, limit)
  const last = held.at(-1)
  return items.length > limit && last !== undefined ? { items: held, next: cursorOf(last) } : { items: held }
}
