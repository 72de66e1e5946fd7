/**
 * What a text looks like, in few numbers between 0 and about 1: how long, how many digits, which marks, which scripts.
 * They carry over from one kind of text to another better than words do.
 */
import { type CharacterKind, characterKinds } from "./Characters.ts"
import type { TextFeatures } from "./TextFeatures.ts"

/** In the order of the columns of the weights. */
export const surfaceNames = [
  "length",
  "wordLength",
  "digits",
  "operators",
  "codeMarks",
  "backticks",
  "backslashes",
  "foreign",
  "ideographs",
  "newlines",
  "questions",
  "capitals",
  "numbers",
  "joins",
  "enumerators",
  "sentences",
  "percents",
  "quotes",
  "sentenceLength",
  "prose",
  "proseLength",
  "proseNumbers",
  "proseSentences",
  "openEnd"
] as const
export const surfaceCount = surfaceNames.length

const at = (kind: CharacterKind): number => characterKinds.indexOf(kind)
const [digit, operator, codeMark, backtick, backslash] = [
  at("digit"),
  at("operator"),
  at("codeMark"),
  at("backtick"),
  at("backslash")
]
const [lower, capital, foreign, ideograph, newline] = [
  at("lower"),
  at("capital"),
  at("foreign"),
  at("ideograph"),
  at("newline")
]
const [question, percent, quote] = [at("question"), at("percent"), at("quote")]

/** Writes the numbers of `features` to the first `surfaceCount` places of `into`. */
export const surfaceOf = (features: TextFeatures, into: Float32Array): void => {
  const count = (kind: number): number => features.kinds[kind] ?? 0
  const characters = Math.max(features.characters, 1)
  const letters = Math.max(count(lower) + count(capital) + count(foreign) + count(ideograph), 1)
  const words = Math.max(features.words, 1)
  into[0] = Math.log1p(features.characters) / 8
  into[1] = Math.min(1, letters / words / 10)
  into[2] = Math.min(1, (count(digit) / characters) * 8)
  into[3] = Math.min(1, (count(operator) / characters) * 12)
  into[4] = Math.min(1, (count(codeMark) / characters) * 12)
  into[5] = Math.min(1, count(backtick) / 6)
  into[6] = Math.min(1, (count(backslash) / characters) * 20)
  into[7] = count(foreign) / letters
  into[8] = count(ideograph) / letters
  into[9] = Math.min(1, (count(newline) / characters) * 20)
  into[10] = Math.log1p(count(question)) / 3
  into[11] = Math.min(1, (count(capital) / letters) * 4)
  into[12] = Math.log1p(features.numbers) / 4
  into[13] = Math.log1p(features.joins) / 3
  into[14] = Math.log1p(features.enumerators) / 3
  into[15] = Math.log1p(features.sentences) / 4
  into[16] = Math.log1p(count(percent)) / 3
  into[17] = Math.log1p(count(quote)) / 3
  into[18] = Math.min(1, words / Math.max(features.sentences, 1) / 40)
  // Told in words, without formulas, code or options: there, every further sentence is a further step.
  const marks = (into[3] ?? 0) + (into[4] ?? 0) + (into[6] ?? 0)
  const prose = Math.max(0, 1 - marks - 3 * (into[14] ?? 0))
  into[19] = prose
  into[20] = prose * (into[0] ?? 0)
  into[21] = prose * (into[12] ?? 0)
  into[22] = prose * (into[15] ?? 0)
  into[23] = features.endsOpen ? 1 : 0
}
