/**
 * What a conversation demands of a model, on the axes that the catalog's capability profiles have.
 *
 * A predicted demand is calibrated before models are ordered by it: reduced to a type of task and a class of
 * difficulty. A typing error, a polite phrase or a translated one rarely moves a request to another type or class, so
 * the same question goes to the same model. Distances that are reported are measured from the demand as it was
 * predicted.
 */
import { type Axis, perAxis } from "../catalog/Model.ts"
import type { ChatRequest } from "../domain/Conversation.ts"

export interface Demand {
  /**
   * The skill that an answer needs per axis, 0 to 1, on the scale of the catalog's profiles. No level exceeds
   * `difficulty`.
   */
  readonly levels: { readonly [A in Axis]: number }
  /** How much a strong model is expected to gain over a weak one, 0 to 1. */
  readonly difficulty: number
}

/** Predicts the demand of a request. It never throws, and its cost is bounded however long the conversation is. */
export interface DemandModel {
  readonly predict: (request: ChatRequest) => Demand
}

/**
 * Types of task, each with the axes that belong to it. Axes of one type are hard to tell apart from the text, and
 * models that are good at one of them are usually good at the other. Every axis belongs to exactly one type.
 */
export const taskTypes: ReadonlyArray<ReadonlyArray<Axis>> = [
  ["coding", "agentic"],
  ["math", "reasoning"],
  ["knowledge", "instruction"],
  ["extraction", "reading"],
  ["creative", "language"],
  ["multilingual"]
]

/** Classes of difficulty: easy, ordinary and hard. A difficulty below `below` is replaced by `value`. */
const difficultyClasses = [
  { below: 0.22, value: 0.15 },
  { below: 0.78, value: 0.55 },
  { below: Infinity, value: 0.92 }
] as const

/**
 * Many texts demand two types of task almost equally. Types whose highest level is at least this share of the overall
 * highest count as equal, and the first of them in `taskTypes` is chosen, so that the choice is stable.
 */
const equalPeakShare = 0.9

/** Axes of the other types keep this share of the difficulty. */
const otherTypesShare = 0.3

const sharesByType = taskTypes.map((type) => perAxis((axis) => (type.includes(axis) ? 1 : otherTypesShare)))

const calibratedDemands = sharesByType.map((shares) =>
  difficultyClasses.map(({ value: difficulty }): Demand => ({
    difficulty,
    levels: perAxis((axis) => shares[axis] * difficulty)
  }))
)

/** The demand of the task type and the difficulty class that `demand` falls into. Calibrating twice changes nothing. */
export const calibrated = (demand: Demand): Demand => {
  const peaks = taskTypes.map((type) => Math.max(...type.map((axis) => demand.levels[axis])))
  const highest = Math.max(...peaks)
  const type = peaks.findIndex((peak) => peak >= equalPeakShare * highest)
  const difficultyClass = difficultyClasses.findIndex(({ below }) => demand.difficulty < below)
  // A demand that contains NaN has neither type nor class and is returned unchanged.
  return calibratedDemands[type]?.[difficultyClass] ?? demand
}
