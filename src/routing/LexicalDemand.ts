/**
 * Demand from words and from the look of the text: a lexicon in several languages, counts of digits, operators and code
 * marks, scripts and length. One pass over at most `charactersMax` characters with table look-ups and no regular
 * expressions, so that no text, however crafted, makes it slow or makes it fail.
 */
import { type Axis, axes } from "../catalog/Model.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { Demand, DemandModel } from "./Demand.ts"
import { excerptsOf } from "./Excerpt.ts"
import { lexicon, pairLexicon, pairOf, type Sign } from "./Lexicon.ts"

/** How much one word of a list says; the common words of some lists say little each. */
const wordWeight = {
  coding: 0.9,
  math: 0.9,
  reasoning: 0.6,
  knowledge: 0.35,
  creative: 0.8,
  instruction: 0.35,
  extraction: 0.7,
  reading: 0.4,
  language: 0.6,
  multilingual: 0.8,
  agentic: 0.3,
  hard: 0.8,
  easy: 0.7
} as const satisfies Record<Sign, number>

/** What any conversation asks for, before a word is read. */
const everyday: { readonly [A in Axis]?: number } = {
  knowledge: 0.2,
  instruction: 0.25,
  language: 0.2,
  reasoning: 0.15
}

/** In a text of this many words one sign counts about 0.7 of what it counts alone. */
const wordsOfShortText = 120
const charactersOfLongText = 2_500
const wordLengthMax = 24

export const lexicalDemand: DemandModel = {
  predict: (request) => {
    const signs = readSigns(request)
    const has = (sign: Sign): number => saturate(signs[sign])
    const length = Math.min(1, signs.characters / charactersOfLongText)
    const effort = Math.max(has("math"), has("coding") * 0.9, has("reasoning") * 0.7)
    const difficulty = clamp(
      0.35 + 0.5 * has("hard") + 0.1 * length + 0.2 * effort - 0.3 * has("easy") * (1 - has("hard"))
    )
    const scale = 0.5 + 0.5 * difficulty
    // `fromEntries` forgets its keys; they are exactly the axes.
    const levels = Object.fromEntries(
      axes.map((axis) => [axis, scale * saturate(signs[axis] + (everyday[axis] ?? 0))])
    ) as Demand["levels"]
    return { levels, difficulty }
  }
}

type Signs = { [S in Sign]: number } & { characters: number }

/** Evidence per sign, open-ended: texts by weight, then what the request itself shows. */
const readSigns = (request: ChatRequest): Signs => {
  const signs = emptySigns()
  for (const { text, weight } of excerptsOf(request)) {
    const found = emptySigns()
    const surface = readText(text, found)
    const density = 1 / Math.sqrt(1 + surface.words / wordsOfShortText)
    addSurface(found, surface, density)
    for (const sign of signNames) signs[sign] += weight * density * found[sign]
    signs.characters += weight * text.length
  }
  // What is hard is hard to think through, whatever it is about.
  signs.reasoning += 0.6 * signs.hard
  if (request.tools.length > 0) signs.agentic += 0.9
  if (request.messages.at(-1)?.role === "tool") signs.agentic += 0.6
  if (request.responseFormat.type !== "text") {
    signs.extraction += 0.4
    signs.instruction += 0.4
  }
  return signs
}

interface Surface {
  words: number
  characters: number
  letters: number
  foreign: number
  digits: number
  operators: number
  codeMarks: number
  fences: number
}

/** Looks every word up, each distinct one once, and counts what the text looks like. */
const readText = (text: string, found: Signs): Surface => {
  const surface: Surface = {
    words: 0,
    characters: text.length,
    letters: 0,
    foreign: 0,
    digits: 0,
    operators: 0,
    codeMarks: 0,
    fences: 0
  }
  const seen = new Set<ReadonlyArray<Sign>>()
  const note = (signs: ReadonlyArray<Sign> | undefined): void => {
    if (signs === undefined || seen.has(signs)) return
    seen.add(signs)
    for (const sign of signs) found[sign] += wordWeight[sign]
  }
  let wordStart = -1
  for (let index = 0; index <= text.length; index++) {
    const code = index < text.length ? text.charCodeAt(index) : space
    const kind = kinds[code] ?? 0
    if ((kind & letter) !== 0 || (wordStart !== -1 && (kind & joiner) !== 0)) {
      if (wordStart === -1) wordStart = index
      surface.letters++
      if (code >= 0x80) surface.foreign++
      continue
    }
    if (wordStart !== -1) {
      if (index - wordStart <= wordLengthMax) note(lexicon.get(text.slice(wordStart, index).toLowerCase()))
      surface.words++
      wordStart = -1
    }
    if ((kind & ideograph) !== 0) {
      if (index + 1 < text.length) note(pairLexicon.get(pairOf(code, text.charCodeAt(index + 1))))
      surface.letters++
      surface.foreign++
      // Two characters make about one word.
      surface.words += 0.5
    } else if (kind !== 0) countMark(kind, surface)
  }
  return surface
}

const countMark = (kind: number, surface: Surface): void => {
  if ((kind & digit) !== 0) surface.digits++
  if ((kind & operator) !== 0) surface.operators++
  if ((kind & codeMark) !== 0) surface.codeMarks++
  if ((kind & fence) !== 0) surface.fences++
}

const letter = 1
const ideograph = 2
const digit = 4
const operator = 8
const codeMark = 16
const fence = 32
/** Part of a word once it has begun: `c++`, `c#`, `np-hard`. */
const joiner = 64
const space = 32

/** What each code unit is, as a set of bits; lone surrogates are nothing. */
const kinds: Uint8Array = (() => {
  const table = new Uint8Array(0x10000)
  const markRange = (from: number, to: number, kind: number): void => {
    for (let code = from; code <= to; code++) table[code] = (table[code] ?? 0) | kind
  }
  const mark = (characters: string, kind: number): void => {
    for (const character of characters) markRange(character.charCodeAt(0), character.charCodeAt(0), kind)
  }
  markRange(0x41, 0x5a, letter)
  markRange(0x61, 0x7a, letter)
  markRange(0xc0, 0xd6, letter)
  markRange(0xd8, 0xf6, letter)
  markRange(0xf8, 0x1fff, letter)
  markRange(0xac00, 0xd7a3, letter)
  markRange(0x3040, 0x9fff, ideograph)
  markRange(0x30, 0x39, digit)
  mark("+*/^=%<>$\\|√∑∫≤≥≠±×÷∞∈", operator)
  mark("{}[];_#&", codeMark)
  mark("`", fence)
  mark("+#-", joiner)
  return table
})()

/** Shares of characters beyond what prose has, as evidence; `density` is undone, since a share knows no length. */
const addSurface = (found: Signs, surface: Surface, density: number): void => {
  const size = Math.max(surface.characters, 40)
  const beyond = (count: number, usual: number): number => Math.max(0, count / size - usual)
  const code = Math.min(1.5, beyond(surface.codeMarks, 0.02) * 24) + Math.min(1, surface.fences / 6)
  const math = Math.min(1.2, beyond(surface.operators, 0.01) * 14 + beyond(surface.digits, 0.03) * 4)
  const foreign = surface.letters === 0 ? 0 : surface.foreign / surface.letters
  const long = Math.min(1, surface.characters / charactersOfLongText)
  found.coding += code / density
  found.math += (code > 0.8 ? math * 0.3 : math) / density
  found.multilingual += Math.min(1.2, foreign * 2) / density
  found.reading += (0.6 * long) / density
  found.extraction += (0.2 * long) / density
}

const signNames: ReadonlyArray<Sign> = [...axes, "hard", "easy"]

const emptySigns = (): Signs => ({
  coding: 0,
  math: 0,
  reasoning: 0,
  knowledge: 0,
  creative: 0,
  instruction: 0,
  extraction: 0,
  reading: 0,
  language: 0,
  multilingual: 0,
  agentic: 0,
  hard: 0,
  easy: 0,
  characters: 0
})

/** From 0 towards 1: the first signs say most. */
const saturate = (evidence: number): number => 1 - Math.exp(-evidence)

const clamp = (value: number): number => Math.min(1, Math.max(0, value))
