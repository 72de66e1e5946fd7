/**
 * A conversation as numbers: hashed words, word pairs and four-character pieces in a fixed number of buckets, and what
 * the text looks like. One pass over at most `charactersMax` characters with table look-ups and no regular expression,
 * into buffers made once, so that no text, however crafted, makes it slow or makes it fail.
 *
 * The weights file was trained on exactly these numbers: any change here is a new `featureVersion` and a new training.
 */
import type { ChatRequest } from "../domain/Conversation.ts"
import {
  digit,
  foldedOf,
  ideograph,
  characterKindCount,
  characterKindOf,
  lower,
  newline,
  space,
  stop
} from "./Characters.ts"
import { excerptsOf } from "./Excerpt.ts"

/** Distinguishes the features of one release from another's; the weights file carries it. */
export const featureVersion = 3

export const bucketCount = 2 ** 16

/** Where the hashes of words, pairs and pieces begin. The weights file carries them. */
export const hashSeeds = { word: 0x811c9dc5, pair: 0x9e3779b1, piece: 0x85ebca77 } as const

/** Pieces outnumber words about four to one, and say less each. */
const pieceWeight = 0.5

export interface TextFeatures {
  /** Weight found per bucket; 0 in all that are not among the first `touchedCount` of `touched`. */
  readonly counts: Float32Array
  readonly touched: Int32Array
  touchedCount: number
  /** Sum of `counts`. */
  total: number
  /** Weighted number of code units of each kind. */
  readonly kinds: Float32Array
  /** Weighted number of runs. */
  words: number
  numbers: number
  /** Digits joined by a point, a comma or a slash: decimals, thousands and fractions. */
  joins: number
  /** Lone letters before a bracket or a point, as lists of options have them. */
  enumerators: number
  sentences: number
  characters: number
  turns: number
  /** The newest text ends with a colon: it wants to be continued at once, with no room to think. */
  endsOpen: boolean
}

export const makeTextFeatures = (): TextFeatures => ({
  counts: new Float32Array(bucketCount),
  touched: new Int32Array(bucketCount),
  touchedCount: 0,
  total: 0,
  kinds: new Float32Array(characterKindCount),
  words: 0,
  numbers: 0,
  joins: 0,
  enumerators: 0,
  sentences: 0,
  characters: 0,
  turns: 0,
  endsOpen: false
})

/**
 * What words count for difficulty, beside what they count for skills, in a text whose `counts` have this sum. A skill
 * is a matter of shares; of two texts with the same shares, the longer one has more steps. Between 0.6, for a line, and
 * 2, for texts of some thousand characters.
 */
export const lengthScale = (total: number): number => Math.max(0.6, 2 * Math.sqrt(total / (1_000 + total)))

const clear = (features: TextFeatures): void => {
  for (let index = 0; index < features.touchedCount; index++) features.counts[features.touched[index] ?? 0] = 0
  features.kinds.fill(0)
  features.touchedCount = features.total = features.words = features.numbers = features.joins = 0
  features.enumerators = features.sentences = features.characters = features.turns = 0
  features.endsOpen = false
}

/** Replaces what `features` held by what the conversation shows. */
export const readTextFeatures = (request: ChatRequest, features: TextFeatures): void => {
  clear(features)
  for (const { text, weight } of excerptsOf(request)) {
    readText(text, weight, features)
    if (features.turns++ === 0) features.endsOpen = endsWithColon(text)
  }
}

const colon = 0x3a
const wideColon = 0xff1a

const endsWithColon = (text: string): boolean => {
  for (let index = text.length - 1; index >= 0; index--) {
    const code = text.charCodeAt(index)
    const kind = characterKindOf[code]
    if (kind !== space && kind !== newline) return code === colon || code === wideColon
  }
  return false
}

/** Spreads a hash over its low bits. */
const bucketOf = (hash: number): number => {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (mixed ^ (mixed >>> 13)) & (bucketCount - 1)
}

const add = (features: TextFeatures, hash: number, weight: number): void => {
  const bucket = bucketOf(hash)
  const count = features.counts[bucket] ?? 0
  if (count === 0) features.touched[features.touchedCount++] = bucket
  features.counts[bucket] = count + weight
  features.total += weight
}

const fnvPrime = 0x01000193

const readText = (text: string, weight: number, features: TextFeatures): void => {
  const length = text.length
  const weightOfPiece = weight * pieceWeight
  // The hash of the word under way and of the word before it; 0 when there is none.
  let word = 0
  let wordBefore = 0
  let wordStart = 0
  // The last three code units as they were folded, and the kind of the last.
  let c1 = 0x20
  let c2 = 0
  let c3 = 0
  let kindBefore = space
  const endWord = (end: number, mark: number): void => {
    if (word === 0) return
    add(features, word, weight)
    if (wordBefore !== 0) add(features, Math.imul(wordBefore ^ hashSeeds.pair, fnvPrime) ^ word, weight)
    const alone = end - wordStart === 1 && characterKindOf[text.charCodeAt(wordStart)] !== digit
    if (alone && (mark === 0x29 || mark === 0x2e || mark === 0x3a)) features.enumerators += weight
    features.words += weight
    wordBefore = word
    word = 0
  }
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index)
    const kind = characterKindOf[code] ?? 0
    const c0 = foldedOf[code] ?? 0
    features.kinds[kind] = (features.kinds[kind] ?? 0) + weight
    const inWord = kind >= lower && kind <= digit
    if (!inWord || kind === ideograph) endWord(index, code)
    if (inWord) {
      if (word === 0) {
        word = hashSeeds.word
        wordStart = index
      }
      word = Math.imul(word ^ c0, fnvPrime)
      // A script without spaces has a word per character, and its pairs are what words are elsewhere.
      if (kind === ideograph) endWord(index, 0)
      else if (kind === digit && kindBefore !== digit) countNumber(text, index, weight, features)
    } else if (kind === stop || kind === newline) features.sentences += kindBefore === kind ? 0 : weight
    kindBefore = kind
    if (c0 === 0x20 && c1 === 0x20) continue
    if (c3 !== 0) {
      const piece = Math.imul(Math.imul(Math.imul(hashSeeds.piece ^ c3, fnvPrime) ^ c2, fnvPrime) ^ c1, fnvPrime) ^ c0
      add(features, Math.imul(piece, fnvPrime), weightOfPiece)
    }
    c3 = c2
    c2 = c1
    c1 = c0
  }
  endWord(length, 0)
  features.characters += weight * length
}

/** A run of digits begins at `index`; one that continues a number is a join, not another number. */
const countNumber = (text: string, index: number, weight: number, features: TextFeatures): void => {
  const mark = index < 2 ? 0 : text.charCodeAt(index - 1)
  const joins =
    (mark === 0x2e || mark === 0x2c || mark === 0x2f) && characterKindOf[text.charCodeAt(index - 2)] === digit
  if (joins) features.joins += weight
  else features.numbers += weight
}
