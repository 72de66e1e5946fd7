/**
 * What the labels of public data mean on our axes. A label that names a skill we do not measure counts as the skills it
 * needs; one that says nothing leaves every axis open, and open axes are not trained on.
 */
import { type Axis, axes } from "../../src/catalog/Model.ts"
import { typicalGain } from "../../src/routing/TrainedDemand.ts"
import { chatKind, type ChatKindName, isChatKind } from "./ChatKinds.ts"
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

/** What a grade adds to the gain of its kind, above and below the usual one. */
const gainOfGrade = 0.12

/** `undefined` when the row is no chat. */
export const chatGainOf = (row: Row): number | undefined => {
  const kind = chatKindOf(row)
  return kind && Math.max(0.05, chatKind(kind).gain + gainOfGrade * ((row.grade ?? 3) - 3))
}

/** On 500 word problems with outcomes, the gain of strong models grew by so much with each step of hardness. */
const gainOfStep = 0.085
const usualHardness = 4.2

/** What a strong model is taken to gain on a word problem of a hardness from 1 to 9. */
export const gainOfHardness = (hardness: number): number => typicalGain + gainOfStep * (hardness - usualHardness)

/** What kind of chat a row is, when it is one: exams have outcomes. */
export const chatKindOf = (row: Row): ChatKindName | undefined => {
  const kind = kindOf(row) ?? ""
  return row.scores === undefined && row.strong === undefined && isChatKind(kind) ? kind : undefined
}

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
