/**
 * A conversation as numbers: hashed words, word pairs and character 4-grams in a fixed number of buckets, and counts of
 * what the text looks like. One pass over at most `charactersMax` characters with table look-ups and no regular
 * expression, into buffers that are allocated once, so no text, however crafted, can make it slow or make it fail.
 *
 * The shipped weights were trained on exactly these numbers: any change here requires a new `featureVersion` and new
 * training.
 */
import type { ChatRequest } from "../domain/Conversation.ts"
import { characterKindCount, characterKindOf, kindNumber, normalisedCodeUnit } from "./Characters.ts"
import { weightedTextsOf } from "./WeightedTexts.ts"

/** Changes whenever the features do. The weights file states the version that it was trained on. */
export const featureVersion = 3

export const bucketCount = 2 ** 16

/** The initial values of the hashes of words, word pairs and character 4-grams. The weights file states them too. */
export const hashSeeds = { word: 0x811c9dc5, pair: 0x9e3779b1, piece: 0x85ebca77 } as const

/** Character 4-grams count less than words: there are about four times as many, and each carries less meaning. */
const fourGramWeight = 0.5

/** Counts are weighted by the weight of the text that they were found in. */
export interface TextFeatures {
  /** Weighted count per bucket; 0 in all buckets but the first `usedCount` of `used`. */
  readonly counts: Float32Array
  readonly used: Int32Array
  usedCount: number
  /** The sum of `counts`. */
  total: number
  /** Code units of each kind of character. */
  readonly kinds: Float32Array
  words: number
  numbers: number
  /** Points, commas and slashes between digits, as in decimals, thousands and fractions. */
  separators: number
  /** Single letters before a closing bracket, a full stop or a colon, as in lists of options. */
  enumerators: number
  sentences: number
  characters: number
  /** Unweighted number of texts. */
  texts: number
  /** The newest text ends with a colon: it wants to be completed directly, without any reasoning first. */
  endsWithColon: boolean
}

export const makeTextFeatures = (): TextFeatures => ({
  counts: new Float32Array(bucketCount),
  used: new Int32Array(bucketCount),
  usedCount: 0,
  total: 0,
  kinds: new Float32Array(characterKindCount),
  words: 0,
  numbers: 0,
  separators: 0,
  enumerators: 0,
  sentences: 0,
  characters: 0,
  texts: 0,
  endsWithColon: false
})

/**
 * The factor by which hashed features count in the prediction of difficulty, for a text whose `counts` sum to `total`.
 * A skill depends on the shares of words alone, but of two texts with the same shares the longer one takes more steps
 * to answer. From 0.6 for a line to 2 for a text of some thousand characters.
 */
export const lengthScale = (total: number): number => Math.max(0.6, 2 * Math.sqrt(total / (1_000 + total)))

/** Overwrites `features` with those of the conversation. */
export const extractTextFeatures = (request: ChatRequest, features: TextFeatures): void => {
  clear(features)
  for (const { text, weight } of weightedTextsOf(request)) {
    addText(text, weight, features)
    if (features.texts++ === 0) features.endsWithColon = endsWithColon(text)
  }
}

const clear = (features: TextFeatures): void => {
  for (let index = 0; index < features.usedCount; index++) features.counts[features.used[index] ?? 0] = 0
  features.kinds.fill(0)
  features.usedCount = features.total = features.words = features.numbers = features.separators = 0
  features.enumerators = features.sentences = features.characters = features.texts = 0
  features.endsWithColon = false
}

const lowercase = kindNumber("lowercase")
const ideograph = kindNumber("ideograph")
const digit = kindNumber("digit")
const space = kindNumber("space")
const newline = kindNumber("newline")
const sentenceEnd = kindNumber("sentenceEnd")

const spaceCharacter = 0x20
const closingBracket = 0x29
const comma = 0x2c
const fullStop = 0x2e
const slash = 0x2f
const colon = 0x3a
const fullWidthColon = 0xff1a

const endsWithColon = (text: string): boolean => {
  for (let index = text.length - 1; index >= 0; index--) {
    const code = text.charCodeAt(index)
    const kind = characterKindOf[code]
    if (kind !== space && kind !== newline) return code === colon || code === fullWidthColon
  }
  return false
}

/** Mixes a hash, so that its low bits depend on all of it. */
const bucketOf = (hash: number): number => {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (mixed ^ (mixed >>> 13)) & (bucketCount - 1)
}

const add = (features: TextFeatures, hash: number, weight: number): void => {
  const bucket = bucketOf(hash)
  const count = features.counts[bucket] ?? 0
  if (count === 0) features.used[features.usedCount++] = bucket
  features.counts[bucket] = count + weight
  features.total += weight
}

const fnvPrime = 0x01000193

const addText = (text: string, weight: number, features: TextFeatures): void => {
  const length = text.length
  const weightOfFourGram = weight * fourGramWeight
  // The hashes of the current word and of the word before it; 0 when there is none.
  let word = 0
  let previousWord = 0
  let wordStart = 0
  // The last three normalised code units, the newest first, and the kind of the last code unit.
  let c1 = spaceCharacter
  let c2 = 0
  let c3 = 0
  let previousKind = space
  const endWord = (end: number, next: number): void => {
    if (word === 0) return
    add(features, word, weight)
    if (previousWord !== 0) add(features, Math.imul(previousWord ^ hashSeeds.pair, fnvPrime) ^ word, weight)
    const isLetter = end - wordStart === 1 && characterKindOf[text.charCodeAt(wordStart)] !== digit
    if (isLetter && (next === closingBracket || next === fullStop || next === colon)) features.enumerators += weight
    features.words += weight
    previousWord = word
    word = 0
  }
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index)
    const kind = characterKindOf[code] ?? 0
    const c0 = normalisedCodeUnit[code] ?? 0
    features.kinds[kind] = (features.kinds[kind] ?? 0) + weight
    const inWord = kind >= lowercase && kind <= digit
    if (!inWord || kind === ideograph) endWord(index, code)
    if (inWord) {
      if (word === 0) {
        word = hashSeeds.word
        wordStart = index
      }
      word = Math.imul(word ^ c0, fnvPrime)
      // In a script without spaces each character is a word, and pairs of them are what words are elsewhere.
      if (kind === ideograph) endWord(index, 0)
      else if (kind === digit && previousKind !== digit) countNumber(text, index, weight, features)
    } else if (kind === sentenceEnd || kind === newline) features.sentences += previousKind === kind ? 0 : weight
    previousKind = kind
    if (c0 === spaceCharacter && c1 === spaceCharacter) continue
    if (c3 !== 0) {
      const hash = Math.imul(Math.imul(Math.imul(hashSeeds.piece ^ c3, fnvPrime) ^ c2, fnvPrime) ^ c1, fnvPrime) ^ c0
      add(features, Math.imul(hash, fnvPrime), weightOfFourGram)
    }
    c3 = c2
    c2 = c1
    c1 = c0
  }
  endWord(length, 0)
  features.characters += weight * length
}

/** Counts the run of digits that begins at `index`. One that continues a number counts as a separator instead. */
const countNumber = (text: string, index: number, weight: number, features: TextFeatures): void => {
  const before = index < 2 ? 0 : text.charCodeAt(index - 1)
  const continues =
    (before === fullStop || before === comma || before === slash) &&
    characterKindOf[text.charCodeAt(index - 2)] === digit
  if (continues) features.separators += weight
  else features.numbers += weight
}
