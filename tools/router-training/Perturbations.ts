/**
 * Variants of a prompt as somebody else would have typed it: with typing errors, wrapped in other phrases, or with its
 * options formatted differently. The question stays the same, so the demand should as well. Training and evaluation use
 * different wrappers, or the evaluation would measure how well the wrappers were memorised.
 */
import { Schema } from "effect"

import type { SeededRandom } from "./SeededRandom.ts"
import wrappers from "./wrappers.json" with { type: "json" }

const Phrases = Schema.NonEmptyArray(Schema.NonEmptyString)

/** Phrases that people write around a question. An introduction precedes it, a closing follows it. */
const WrapperPhrases = Schema.Struct({ greetings: Phrases, introductions: Phrases, closings: Phrases })
export type WrapperPhrases = typeof WrapperPhrases.Type

/** `heldOutWrappers` are for evaluation only. */
export const { heldOut: heldOutWrappers, training: trainingWrappers } = Schema.decodeUnknownSync(
  Schema.Struct({ training: WrapperPhrases, heldOut: WrapperPhrases })
)(wrappers)

/** The keys beside each key of a QWERTY keyboard. */
const neighbours: Readonly<Record<string, string>> = {
  a: "sq",
  b: "vn",
  c: "xv",
  d: "sf",
  e: "wr",
  f: "dg",
  g: "fh",
  h: "gj",
  i: "uo",
  j: "hk",
  k: "jl",
  l: "k",
  m: "n",
  n: "bm",
  o: "ip",
  p: "o",
  r: "et",
  s: "ad",
  t: "ry",
  u: "yi",
  v: "cb",
  w: "qe",
  y: "tu"
}

/** Mistypes about `share` of the letters: left out, doubled, swapped with the next one, or a neighbouring key. */
export const withTypos = (text: string, share: number, { chance, next, nextBelow }: SeededRandom): string => {
  let typed = ""
  for (let index = 0; index < text.length; index++) {
    const letter = text.charAt(index)
    const neighbour = neighbours[letter]
    if (neighbour === undefined || !chance(share)) {
      typed += letter
      continue
    }
    const kind = next()
    if (kind < 0.25) continue
    if (kind < 0.5) typed += letter + letter
    else if (kind < 0.75 && index + 1 < text.length) typed += text.charAt(++index) + letter
    else typed += neighbour.charAt(nextBelow(neighbour.length))
  }
  return typed
}

/** Adds a greeting, an introduction and a closing, each with some probability. */
export const withWrapper = (
  text: string,
  { closings, greetings, introductions }: WrapperPhrases,
  { chance, pick }: SeededRandom
): string => {
  const gap = chance(0.5) ? "\n\n" : chance(0.5) ? "\n" : " "
  const greeting = chance(0.3) ? `${pick(greetings)} ` : ""
  const introduction = chance(0.8) ? `${pick(introductions)}${gap}` : ""
  const closing = chance(0.6) ? `${gap}${pick(closings)}` : ""
  return greeting + introduction + text + closing
}

const optionMarks = ["A. ", "A) ", "(A) ", "[A] ", "A: "]

/** Formats the options of a multiple-choice question, if they are on lines of their own, with another common mark. */
export const withOtherOptionMarks = (text: string, { pick }: SeededRandom): string => {
  const mark = pick(optionMarks)
  return text
    .split("\n")
    .map((line) => {
      const option = /^[([]?([A-J])[.):\]]\s?(.*)$/.exec(line)
      return option === null ? line : mark.replace("A", option[1] ?? "") + (option[2] ?? "")
    })
    .join("\n")
}

/** Puts examples with answers, correct or not, before the question, as in few-shot prompts. */
export const withExamples = (text: string, examples: ReadonlyArray<string>, { chance, pick }: SeededRandom): string => {
  const label = chance(0.5) ? "Answer:" : chance(0.5) ? "A:" : ""
  const shown = examples.map((example) => {
    const answer = /^\W?A[.):\]]/m.test(example) ? pick(["A", "B", "C", "D"]) : ""
    return `${example}\n${label} ${answer}\n\n`
  })
  return `${shown.join("")}${text}\n${label}`
}

/** Applies some of the above at random. One text in about six stays as it is. */
export const perturbed = (text: string, phrases: WrapperPhrases, random: SeededRandom): string => {
  let changed = text
  if (random.chance(0.5)) changed = withOtherOptionMarks(changed, random)
  if (random.chance(0.5)) changed = withTypos(changed, 0.01 + 0.03 * random.next(), random)
  if (random.chance(0.6)) changed = withWrapper(changed, phrases, random)
  return random.chance(0.1) ? changed.toLowerCase() : changed
}
