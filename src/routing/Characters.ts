/**
 * Tables over all 65,536 UTF-16 code units: which kind of character a code unit is, and what it is normalised to. They
 * are total, lone surrogates included, so no text needs a special case.
 */

/** The kinds of character. A kind's number is its position in this list. */
const characterKinds = [
  "other",
  "lowercase",
  "uppercase",
  "otherLetter",
  "ideograph",
  "digit",
  "space",
  "newline",
  "operator",
  "codePunctuation",
  "backtick",
  "backslash",
  "questionMark",
  "sentenceEnd",
  "quote",
  "percentOrCurrency"
] as const
export type CharacterKind = (typeof characterKinds)[number]

export const kindNumber = (kind: CharacterKind): number => characterKinds.indexOf(kind)

export const characterKindCount = characterKinds.length

/**
 * The kind of each code unit, as a number. `lowercase`, `uppercase` and `otherLetter` are letters of scripts that put
 * spaces between words; an `ideograph` is counted as a word of its own.
 */
export const characterKindOf: Uint8Array = (() => {
  const table = new Uint8Array(0x1_0000)
  const range = (from: number, to: number, kind: CharacterKind): void => void table.fill(kindNumber(kind), from, to + 1)
  const each = (characters: string, kind: CharacterKind): void => {
    for (let index = 0; index < characters.length; index++) table[characters.charCodeAt(index)] = kindNumber(kind)
  }
  range(0x00, 0x20, "space")
  range(0xa0, 0xa0, "space")
  range(0x2000, 0x200f, "space")
  range(0x3000, 0x3000, "space")
  range(0x61, 0x7a, "lowercase")
  range(0x41, 0x5a, "uppercase")
  range(0xc0, 0x1fff, "otherLetter")
  range(0xac00, 0xd7a3, "otherLetter")
  range(0x3040, 0x9fff, "ideograph")
  range(0x30, 0x39, "digit")
  each("\n\r", "newline")
  each("+*/^=<>|~−√∑∫≤≥≠±×÷∞∈π∠°", "operator")
  each("{}[];_#&@$", "codePunctuation")
  each("`", "backtick")
  each("\\", "backslash")
  each("??؟", "questionMark")
  each(".!。!।", "sentenceEnd")
  each('"“”«»「」', "quote")
  each("%€£¥", "percentOrCurrency")
  return table
})()

/** Each code unit in lower case, with every digit as `0` and every kind of white space as one space character. */
export const normalisedCodeUnit: Uint16Array = Uint16Array.from({ length: 0x1_0000 }, (_, code) => {
  const kind = characterKindOf[code] ?? 0
  if (kind === kindNumber("space") || kind === kindNumber("newline")) return 0x20
  if (kind === kindNumber("digit")) return 0x30
  const lowered = String.fromCharCode(code).toLowerCase()
  return lowered.length === 1 ? lowered.charCodeAt(0) : code
})
