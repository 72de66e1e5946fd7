/**
 * The kinds of chat prompts: how much of all chat each is, and what a strong model gains on it. Both are our judgement:
 * there are no outcomes of open chat that are free to use, and how many prompts of a kind there are says nothing, since
 * more were written of those that are hard to tell.
 */
import type { Axis } from "../../src/catalog/Model.ts"

/** Of all chat, in proportion to each other. */
const shares = {
  creative: 0.28,
  coding: 0.2,
  math: 0.17,
  knowledge: 0.13,
  reasoning: 0.08,
  reading: 0.04,
  extraction: 0.03,
  language: 0.03,
  translation: 0.02,
  instruction: 0.01,
  smalltalk: 0.01,
  agentic: 0.01,
  multilingual: 0.01
} as const

export type Work = keyof typeof shares

interface ChatKind {
  readonly work: Work
  /** Of a strong model over a weak one, on a prompt of grade 3. */
  readonly gain: number
  /** What it asks for above all, if that is one axis. */
  readonly axis?: Axis
}

/** By what people and judges agree on: models differ most in mathematics, code and reasoning, least in small talk. */
const kinds = {
  math: { work: "math", gain: 0.66, axis: "math" },
  fermi: { work: "reasoning", gain: 0.66 },
  coding: { work: "coding", gain: 0.62, axis: "coding" },
  reasoning: { work: "reasoning", gain: 0.62, axis: "reasoning" },
  agentic: { work: "agentic", gain: 0.55, axis: "agentic" },
  counterfactual: { work: "reasoning", gain: 0.45 },
  "common-sense": { work: "reasoning", gain: 0.45 },
  extraction: { work: "extraction", gain: 0.45, axis: "extraction" },
  reading: { work: "reading", gain: 0.42, axis: "reading" },
  instruction: { work: "instruction", gain: 0.38, axis: "instruction" },
  translation: { work: "translation", gain: 0.35, axis: "multilingual" },
  multilingual: { work: "multilingual", gain: 0.35, axis: "multilingual" },
  language: { work: "language", gain: 0.32, axis: "language" },
  creative: { work: "creative", gain: 0.3, axis: "creative" },
  writing: { work: "creative", gain: 0.3, axis: "creative" },
  roleplay: { work: "creative", gain: 0.3, axis: "creative" },
  knowledge: { work: "knowledge", gain: 0.3, axis: "knowledge" },
  smalltalk: { work: "smalltalk", gain: 0.05 }
} as const satisfies Record<string, ChatKind>

export type ChatKindName = keyof typeof kinds

export const isChatKind = (name: string): name is ChatKindName => Object.hasOwn(kinds, name)

export const chatKind = (name: ChatKindName): ChatKind => kinds[name]

/** The share of each of these kinds of work, when there are no others. */
export const sharesAmong = (works: ReadonlyArray<Work>): ReadonlyMap<Work, number> => {
  const total = works.reduce((sum, work) => sum + shares[work], 0)
  return new Map(works.map((work) => [work, shares[work] / total]))
}
