/**
 * Pseudo-random numbers that are the same in every run, so that training and evaluation are reproducible bit by bit.
 */

export interface SeededRandom {
  /** A number from 0 up to, but not including, 1. */
  readonly next: () => number
  /** An integer from 0 up to, but not including, `count`. */
  readonly nextBelow: (count: number) => number
  /** True with this probability. */
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(items: ReadonlyArray<A>) => A
}

/** The Mulberry32 generator. Its 32 bits of state suffice for choosing perturbations. */
export const seededRandom = (seed: number): SeededRandom => {
  let state = seed | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const nextBelow = (count: number): number => Math.floor(next() * count)
  return {
    next,
    nextBelow,
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[nextBelow(items.length)]
      if (item === undefined) throw new RangeError("there is nothing to pick from")
      return item
    }
  }
}

/** A 32-bit hash of a text. It decides which fold a row belongs to, independently of the row's position in the data. */
export const hashOfText = (text: string): number => {
  let state = 0x811c9dc5
  for (let index = 0; index < text.length; index++) state = Math.imul(state ^ text.charCodeAt(index), 0x01000193)
  return state >>> 0
}
