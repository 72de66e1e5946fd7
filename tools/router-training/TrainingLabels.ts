/**
 * Training targets from the labels of a row: which skills it demands, and for chat and word problems how much a strong
 * model gains on it. A label for a skill that is not an axis is translated to the axes that it needs. A row whose
 * labels say nothing about skills has no targets and is not used to train them.
 */
import { type Axis, axes } from "../../src/catalog/Model.ts"
import { typicalGain } from "../../src/routing/TrainedDemand.ts"
import { chatCategory, type ChatCategoryName, isChatCategory } from "./ChatCategories.ts"
import { arenaHardCategoryOf } from "./OwnLabels.ts"
import type { Row } from "./Rows.ts"

/** How strongly each axis is demanded, 0 to 1. Axes that are left out are not demanded. */
export type SkillTargets = { readonly [A in Axis]?: number }

const targetsByLabel: Readonly<Record<string, SkillTargets>> = {
  ...Object.fromEntries(axes.map((axis) => [axis, { [axis]: 1 }])),
  // Common sense requires reasoning more than it requires knowledge of the world.
  commonsense: { reasoning: 0.7, knowledge: 0.4 },
  summarization: { reading: 1, extraction: 0.5 },
  translation: { multilingual: 1, language: 0.7 },
  smalltalk: {},
  // The remaining labels are categories of chat prompts.
  writing: { creative: 1 },
  roleplay: { creative: 1 },
  fermi: { reasoning: 1, math: 0.6 },
  counterfactual: { knowledge: 0.7, reasoning: 0.7 },
  "common-sense": { reasoning: 0.6, knowledge: 0.6 }
}

/**
 * Sources of tool calls whose tools are not part of the text: such a text does not show that it is about tool calls.
 */
const sourcesWithoutTools = "bfcl-"

/** The target of `multilingual` beside other labels. A sum in Chinese is mathematics first, and only then Chinese. */
const multilingualBesideOthers = 0.6

/** `undefined` when the row has no label that says which skills it demands. */
export const skillTargetsOf = (row: Row): SkillTargets | undefined => {
  if (row.source?.startsWith(sourcesWithoutTools)) return undefined
  const labels = row.labels ?? [categoryOf(row) ?? ""]
  const others = labels.some((label) => label !== "multilingual" && label !== "translation" && targetsByLabel[label])
  const found = labels.flatMap((label) =>
    label === "multilingual" && others ? { multilingual: multilingualBesideOthers } : (targetsByLabel[label] ?? [])
  )
  if (found.length === 0) return undefined
  return Object.fromEntries(axes.map((axis) => [axis, Math.max(...found.map((targets) => targets[axis] ?? 0))]))
}

/**
 * The chat category of a row; `undefined` for rows with outcomes, which are exam questions, and for other categories.
 */
export const chatCategoryOf = (row: Row): ChatCategoryName | undefined => {
  const category = categoryOf(row) ?? ""
  return row.scores === undefined && row.strong === undefined && isChatCategory(category) ? category : undefined
}

const categoryOf = (row: Row): string | undefined => row.category ?? arenaHardCategoryOf(row.id ?? "")

/** How much each grade above or below 3 adds to the gain of the category. */
const gainPerGrade = 0.12

/** The assumed gain of a strong model on a chat prompt; `undefined` when the row is not chat. */
export const chatGainOf = (row: Row): number | undefined => {
  const category = chatCategoryOf(row)
  return category && Math.max(0.05, chatCategory(category).gain + gainPerGrade * ((row.grade ?? 3) - 3))
}

/** On 500 word problems with outcomes, the gain of strong models grew by this much with each step of difficulty. */
const gainPerStep = 0.085
const typicalDifficulty = 4.2

/** The assumed gain of a strong model on a word problem of a difficulty from 1 to 9. */
export const wordProblemGain = (difficulty: number): number =>
  typicalGain + gainPerStep * (difficulty - typicalDifficulty)
