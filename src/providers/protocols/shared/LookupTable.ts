/**
 * Tables of the words that providers use, written under the word that the gateway uses for them and read the other way
 * round. A word must not stand under two keys.
 */
export type WordsByKey<Key extends string> = { readonly [K in Key]?: ReadonlyArray<string> }

/** The key under which each word of these tables stands. */
export const lookupTable = <Key extends string>(...tables: ReadonlyArray<WordsByKey<Key>>): ReadonlyMap<string, Key> =>
  new Map(
    tables.flatMap((table) =>
      // Object.keys widens the keys of a record that is declared with exactly these.
      (Object.keys(table) as Array<Key>).flatMap((key) => (table[key] ?? []).map((word) => [word, key] as const))
    )
  )
