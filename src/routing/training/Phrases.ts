/**
 * Chat as people type it, made from our own phrases: public data has few of it, and knows exam questions best. Every
 * pattern belongs to one kind of request; `{name}` stands for any entry of that list.
 */
import { brief, briefs } from "./CreativeBriefs.ts"
import type { Dice } from "./Dice.ts"
import { gradedKinds } from "./GradedPatterns.ts"
import { chatGainOfLabel } from "./Labels.ts"
import { kinds as plainKinds } from "./Patterns.ts"
import { slots } from "./Slots.ts"
import { snippet } from "./Snippets.ts"

export interface Phrase {
  readonly prompt: string
  /** Labels as in rows of data. */
  readonly labels: ReadonlyArray<string>
  /** What a strong model is taken to gain on it. */
  readonly gain: number
}

const kinds = [...plainKinds, ...gradedKinds, briefs]

const patternsOf = kinds.map((kind) => kind.patterns.split("\n"))

/** A request of any kind, each kind as likely as the next. */
export const phrase = (dice: Dice): Phrase => {
  const index = dice.below(kinds.length)
  const kind = kinds[index]
  const patterns = patternsOf[index]
  if (kind === undefined || patterns === undefined) throw new RangeError("there is no such kind")
  const prompt = filled(dice.pick(patterns), dice)
  return { prompt, labels: kind.labels, gain: kind.gain ?? chatGainOfLabel(kind.labels[0] ?? "") }
}

/** A text with its slots filled, those of what fills them included. */
const filled = (text: string, dice: Dice): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, slot: string) => {
    if (slot === "code") return snippet(dice)
    if (slot === "brief") return filled(brief(dice), dice)
    if (slot === "br") return "\n\n"
    const entries = slots[slot]
    if (entries === undefined) throw new RangeError(`no entries for {${slot}}`)
    return dice.pick(entries)
  })
