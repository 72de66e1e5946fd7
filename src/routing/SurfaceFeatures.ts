/**
 * Surface features of a text: what it looks like, whatever its words, in a few numbers between 0 and about 1. They
 * measure its length, digits, punctuation and scripts, and transfer from one kind of text to another better than words
 * do.
 */
import { kindNumber } from "./Characters.ts"
import type { TextFeatures } from "./TextFeatures.ts"

/** The weights have one input for each, in this order. The features named `prose…` follow from those before them. */
const surfaceFeatureNames = [
  "length",
  "wordLength",
  "digits",
  "operators",
  "codePunctuation",
  "backticks",
  "backslashes",
  "otherLetters",
  "ideographs",
  "newlines",
  "questionMarks",
  "uppercase",
  "numbers",
  "numberSeparators",
  "enumerators",
  "sentences",
  "percentsAndCurrencies",
  "quotes",
  "sentenceLength",
  "prose",
  "proseLength",
  "proseNumbers",
  "proseSentences",
  "endsWithColon"
] as const
export const surfaceFeatureCount = surfaceFeatureNames.length

const lowercase = kindNumber("lowercase")
const uppercase = kindNumber("uppercase")
const otherLetter = kindNumber("otherLetter")
const ideograph = kindNumber("ideograph")
const digit = kindNumber("digit")
const newline = kindNumber("newline")
const operator = kindNumber("operator")
const codePunctuation = kindNumber("codePunctuation")
const backtick = kindNumber("backtick")
const backslash = kindNumber("backslash")
const questionMark = kindNumber("questionMark")
const quote = kindNumber("quote")
const percentOrCurrency = kindNumber("percentOrCurrency")

/** Writes the surface features to the first `surfaceFeatureCount` elements of `output`. */
export const writeSurfaceFeatures = (features: TextFeatures, output: Float32Array): void => {
  const count = (kind: number): number => features.kinds[kind] ?? 0
  const characters = Math.max(features.characters, 1)
  const letters = Math.max(count(lowercase) + count(uppercase) + count(otherLetter) + count(ideograph), 1)
  const words = Math.max(features.words, 1)
  output[0] = Math.log1p(features.characters) / 8
  output[1] = Math.min(1, letters / words / 10)
  output[2] = Math.min(1, (count(digit) / characters) * 8)
  output[3] = Math.min(1, (count(operator) / characters) * 12)
  output[4] = Math.min(1, (count(codePunctuation) / characters) * 12)
  output[5] = Math.min(1, count(backtick) / 6)
  output[6] = Math.min(1, (count(backslash) / characters) * 20)
  output[7] = count(otherLetter) / letters
  output[8] = count(ideograph) / letters
  output[9] = Math.min(1, (count(newline) / characters) * 20)
  output[10] = Math.log1p(count(questionMark)) / 3
  output[11] = Math.min(1, (count(uppercase) / letters) * 4)
  output[12] = Math.log1p(features.numbers) / 4
  output[13] = Math.log1p(features.separators) / 3
  output[14] = Math.log1p(features.enumerators) / 3
  output[15] = Math.log1p(features.sentences) / 4
  output[16] = Math.log1p(count(percentOrCurrency)) / 3
  output[17] = Math.log1p(count(quote)) / 3
  output[18] = Math.min(1, words / Math.max(features.sentences, 1) / 40)
  // How much of a text is prose, without formulas, code or options. In prose each further sentence is a further step.
  const symbols = (output[3] ?? 0) + (output[4] ?? 0) + (output[6] ?? 0)
  const prose = Math.max(0, 1 - symbols - 3 * (output[14] ?? 0))
  output[19] = prose
  output[20] = prose * (output[0] ?? 0)
  output[21] = prose * (output[12] ?? 0)
  output[22] = prose * (output[15] ?? 0)
  output[23] = features.endsWithColon ? 1 : 0
}
