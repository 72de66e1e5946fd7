/** Answers in pieces and answers that went bad, for the properties of the protocols. */
import { Schema } from "effect"

/** Sizes of the pieces a text arrives in. */
export const Sizes = Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 7 })))

export const pieces = (text: string, sizes: ReadonlyArray<number>): ReadonlyArray<string> => {
  const cut: Array<string> = []
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    cut.push(text.slice(at, at + size))
    at += size
  }
  return cut
}

export const junk = [
  null,
  0,
  -1,
  "",
  "x",
  "12",
  true,
  [],
  [null],
  {},
  { a: null },
  [[{ index: "1" }]],
  Number.MAX_VALUE
]

/** A number that leads to a place in JSON, or to a kind of junk. */
export const Pick = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

/** `value` with the part that `pick` leads to replaced. */
export const spoiled = (value: unknown, pick: number, by: unknown): unknown => {
  const keys = typeof value === "object" && value !== null ? Object.keys(value) : []
  const key = keys[pick % (keys.length + 1)]
  if (typeof value !== "object" || value === null || key === undefined) return by
  const next = Math.floor(pick / (keys.length + 1))
  const entries = Object.entries(value).map(([at, part]) => [at, at === key ? spoiled(part, next, by) : part] as const)
  return Array.isArray(value) ? entries.map(([, part]) => part) : Object.fromEntries(entries)
}
