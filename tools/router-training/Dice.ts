/** Random numbers that are the same in every run: training and evaluation must be repeatable to the last bit. */

export interface Dice {
  /** From 0 up to, but not including, 1. */
  readonly roll: () => number
  /** A whole number from 0 up to, but not including, `count`. */
  readonly below: (count: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(items: ReadonlyArray<A>) => A
}

/** Mulberry32: 32 bits of state, which is plenty for shuffling and typing errors. */
export const dice = (seed: number): Dice => {
  let state = seed | 0
  const roll = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(roll() * count)
  return {
    roll,
    below,
    chance: (probability) => roll() < probability,
    pick: (items) => {
      const item = items[below(items.length)]
      if (item === undefined) throw new RangeError("nothing to pick from")
      return item
    }
  }
}

/** A fixed number from 0 to 2^32 for a text: which fold a row is in does not depend on where it stands. */
export const seedOf = (text: string): number => {
  let state = 0x811c9dc5
  for (let index = 0; index < text.length; index++) state = Math.imul(state ^ text.charCodeAt(index), 0x01000193)
  return state >>> 0
}
