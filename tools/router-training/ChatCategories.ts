/**
 * Categories of chat prompts: what share of chat traffic each task has, and how much a strong model gains on each
 * category. Both are our judgement. No outcomes of open-ended chat are free to use, and the number of prompts per
 * category in the training data says nothing, since more were written for categories that are hard to recognise.
 */
import type { Axis } from "../../src/catalog/Model.ts"

/** Shares of all chat traffic, in proportion to each other. */
const trafficShares = {
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

export type ChatTask = keyof typeof trafficShares

export interface ChatCategory {
  /** Several categories may belong to one task. */
  readonly task: ChatTask
  /** The gain of a strong model over a weak one, 0 to 1, on a prompt of grade 3. */
  readonly gain: number
  /** The axis that it demands above all others, if there is a single one. */
  readonly axis?: Axis
}

/** In general, models differ most in mathematics, code and reasoning, and least in small talk. */
const categories = {
  math: { task: "math", gain: 0.66, axis: "math" },
  fermi: { task: "reasoning", gain: 0.66 },
  coding: { task: "coding", gain: 0.62, axis: "coding" },
  reasoning: { task: "reasoning", gain: 0.62, axis: "reasoning" },
  agentic: { task: "agentic", gain: 0.55, axis: "agentic" },
  counterfactual: { task: "reasoning", gain: 0.45 },
  "common-sense": { task: "reasoning", gain: 0.45 },
  extraction: { task: "extraction", gain: 0.45, axis: "extraction" },
  reading: { task: "reading", gain: 0.42, axis: "reading" },
  instruction: { task: "instruction", gain: 0.38, axis: "instruction" },
  translation: { task: "translation", gain: 0.35, axis: "multilingual" },
  multilingual: { task: "multilingual", gain: 0.35, axis: "multilingual" },
  language: { task: "language", gain: 0.32, axis: "language" },
  creative: { task: "creative", gain: 0.3, axis: "creative" },
  writing: { task: "creative", gain: 0.3, axis: "creative" },
  roleplay: { task: "creative", gain: 0.3, axis: "creative" },
  knowledge: { task: "knowledge", gain: 0.3, axis: "knowledge" },
  smalltalk: { task: "smalltalk", gain: 0.05 }
} as const satisfies Record<string, ChatCategory>

export type ChatCategoryName = keyof typeof categories

export const isChatCategory = (name: string): name is ChatCategoryName => Object.hasOwn(categories, name)

export const chatCategory = (name: ChatCategoryName): ChatCategory => categories[name]

/** The share of each of these tasks in chat traffic that consists of them alone. The shares add up to 1. */
export const sharesAmong = (tasks: ReadonlyArray<ChatTask>): ReadonlyMap<ChatTask, number> => {
  const total = tasks.reduce((sum, task) => sum + trafficShares[task], 0)
  return new Map(tasks.map((task) => [task, trafficShares[task] / total]))
}
