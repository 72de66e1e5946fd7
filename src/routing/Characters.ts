/**
 * What each UTF-16 code unit counts as when a text is read for its demand, and which code unit it is read as. Total
 * over all 65,536 code units, lone surrogates among them, so that no text needs a special case.
 */

/** The kinds of code unit, in the order of their numbers. */
export const characterKinds = [
  "other",
  "lower",
  "capital",
  "foreign",
  "ideograph",
  "digit",
  "space",
  "newline",
  "operator",
  "codeMark",
  "backtick",
  "backslash",
  "question",
  "stop",
  "quote",
  "percent"
] as const
export type CharacterKind = (typeof characterKinds)[number]

const numberOf = (kind: CharacterKind): number => characterKinds.indexOf(kind)

export const characterKindCount = characterKinds.length
export const lower = numberOf("lower")
export const ideograph = numberOf("ideograph")
export const digit = numberOf("digit")
export const space = numberOf("space")
export const newline = numberOf("newline")
export const stop = numberOf("stop")

/** Letters of scripts that put spaces between words have kinds from `lower` up to, but not including, `ideograph`. */
export const characterKindOf: Uint8Array = (() => {
  const table = new Uint8Array(0x1_0000)
  const range = (from: number, to: number, kind: CharacterKind): void => void table.fill(numberOf(kind), from, to + 1)
  const each = (characters: string, kind: CharacterKind): void => {
    for (let index = 0; index < characters.length; index++) table[characters.charCodeAt(index)] = numberOf(kind)
  }
  range(0x00, 0x20, "space")
  range(0xa0, 0xa0, "space")
  range(0x2000, 0x200f, "space")
  range(0x3000, 0x3000, "space")
  range(0x61, 0x7a, "lower")
  range(0x41, 0x5a, "capital")
  range(0xc0, 0x1fff, "foreign")
  range(0xac00, 0xd7a3, "foreign")
  range(0x3040, 0x9fff, "ideograph")
  range(0x30, 0x39, "digit")
  each("\n\r", "newline")
  each("+*/^=<>|~−√∑∫≤≥≠±×÷∞∈π∠°", "operator")
  each("{}[];_#&@$", "codeMark")
  each("`", "backtick")
  each("\\", "backslash")
  each("??؟", "question")
  each(".!。!।", "stop")
  each('"“”«»「」', "quote")
  each("%€£¥", "percent")
  return table
})()

/** Lower case, every digit as `0`, and everything that separates words as one space. */
export const foldedOf: Uint16Array = Uint16Array.from({ length: 0x1_0000 }, (_, code) => {
  const kind = characterKindOf[code] ?? 0
  if (kind === space || kind === newline) return 0x20
  if (kind === digit) return 0x30
  const lowered = String.fromCharCode(code).toLowerCase()
  return lowered.length === 1 ? lowered.charCodeAt(0) : code
})
