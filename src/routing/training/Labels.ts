/**
 * What the labels of public data mean on our axes. A label that names a skill we do not measure counts as the skills it
 * needs; one that says nothing leaves every axis open, and open axes are not trained on.
 */
import { type Axis, axes } from "../../catalog/Model.ts"
import { usualGain } from "../TrainedDemand.ts"
import { chatLabelOf } from "./ChatLabels.ts"
import type { Row } from "./Rows.ts"

/** How much of each axis a label asks for; axes it does not name are not asked for. */
export type Meaning = { readonly [A in Axis]?: number }

const meanings: Readonly<Record<string, Meaning>> = {
  ...Object.fromEntries(axes.map((axis) => [axis, { [axis]: 1 }])),
  // Everyday sense is thinking more than knowledge of the world.
  commonsense: { reasoning: 0.7, knowledge: 0.4 },
  summarization: { reading: 1, extraction: 0.5 },
  translation: { multilingual: 1, language: 0.7 },
  smalltalk: {},
  // Categories of chat prompts.
  writing: { creative: 1 },
  roleplay: { creative: 1 },
  fermi: { reasoning: 1, math: 0.6 },
  counterfactual: { knowledge: 0.7, reasoning: 0.7 },
  "common-sense": { reasoning: 0.6, knowledge: 0.6 }
}

/** Calls of tools whose descriptions were left out of the text say nothing about how such a text reads. */
const withoutTheirTools = "bfcl-"

/**
 * The gain of a strong model over a weak one on chat of a kind, for which no outcomes are free to use: what people and
 * judges agree on is that models differ most in mathematics, code and reasoning, and least in small talk.
 */
const chatGains: Readonly<Record<string, number>> = {
  math: 0.66,
  fermi: 0.66,
  coding: 0.62,
  reasoning: 0.62,
  agentic: 0.55,
  counterfactual: 0.45,
  extraction: 0.45,
  reading: 0.42,
  instruction: 0.38,
  translation: 0.35,
  language: 0.32,
  creative: 0.3,
  writing: 0.3,
  roleplay: 0.3,
  knowledge: 0.3,
  smalltalk: 0.05
}

/**
 * How much of all chat each kind is taken to be, by our judgement. How many prompts there are of a kind says nothing
 * about that: more were written of those that are hard to tell.
 */
const chatShares: Readonly<Record<string, number>> = {
  creative: 0.3,
  coding: 0.2,
  math: 0.15,
  knowledge: 0.14,
  reasoning: 0.08,
  reading: 0.04,
  extraction: 0.03,
  language: 0.03,
  instruction: 0.01,
  translation: 0.01,
  smalltalk: 0.01
}

const shareOfOthers = 0.01

export const chatShareOf = (mainKind: string): number => chatShares[mainKind] ?? shareOfOthers

const mainKinds: Readonly<Record<string, string>> = {
  writing: "creative",
  roleplay: "creative",
  fermi: "reasoning",
  counterfactual: "reasoning",
  "common-sense": "reasoning"
}

/** Which kind a kind of chat shares its weight with. */
export const mainKindOf = (kind: string): string => mainKinds[kind] ?? kind

/** What a grade adds to the gain of its kind, above and below the usual one. */
const gainOfGrade = 0.12

/** `undefined` when the row is no chat of a known kind. */
export const chatGainOf = (row: Row): number | undefined => {
  const gain = chatGains[chatKindOf(row) ?? ""]
  return gain === undefined ? undefined : Math.max(0.05, gain + gainOfGrade * ((row.grade ?? 3) - 3))
}

/** On 500 word problems with outcomes, the gain of strong models grew by so much with each step of hardness. */
const gainOfStep = 0.085
const usualHardness = 4.2

/** What a strong model is taken to gain on a word problem of a hardness from 1 to 9. */
export const gainOfHardness = (hardness: number): number => usualGain + gainOfStep * (hardness - usualHardness)

/** What kind of chat a row is, when it is one: exams have outcomes. */
export const chatKindOf = (row: Row): string | undefined =>
  row.scores === undefined && row.strong === undefined ? kindOf(row) : undefined

const kindOf = (row: Row): string | undefined => row.category ?? chatLabelOf(row.id ?? "")

/** The work comes first: a sum in Chinese is mathematics, and only then Chinese. */
const besidesOtherWork = 0.6

/** `undefined` when the row says nothing about what it asks for. */
export const meaningOf = (row: Row): Meaning | undefined => {
  if (row.source?.startsWith(withoutTheirTools)) return undefined
  const labels = row.labels ?? [kindOf(row) ?? ""]
  const others = labels.some((label) => label !== "multilingual" && label !== "translation" && meanings[label])
  const found = labels.flatMap((label) =>
    label === "multilingual" && others ? { multilingual: besidesOtherWork } : (meanings[label] ?? [])
  )
  if (found.length === 0) return undefined
  return Object.fromEntries(axes.map((axis) => [axis, Math.max(...found.map((meaning) => meaning[axis] ?? 0))]))
}
