/**
 * The demand that the order of models goes by: rounded to a kind of work and three steps of difficulty. A typing
 * error, a polite sentence or a translated one rarely moves a request from one kind or step to another, so the same
 * question gets the same model. Distances that are reported stay those of the unrounded demand.
 */
import { type Axis, perAxis } from "../catalog/Model.ts"
import type { Demand } from "./Demand.ts"

/** Skills that models have together, and that requests are hard to tell apart by. Each axis is in one kind. */
export const kindsOfWork: ReadonlyArray<ReadonlyArray<Axis>> = [
  ["coding", "agentic"],
  ["math", "reasoning"],
  ["knowledge", "instruction"],
  ["extraction", "reading"],
  ["creative", "language"],
  ["multilingual"]
]

/** Steps of difficulty: below `to`, it counts as `as`. */
const steps = [
  { to: 0.22, as: 0.15 },
  { to: 0.78, as: 0.55 },
  { to: Infinity, as: 0.92 }
] as const

/**
 * A kind whose peak is this near to the highest is as good as it, and the first such kind counts: many texts ask for
 * two kinds alike, and the same one is to win.
 */
const nearPeak = 0.9

/** Axes of other kinds are asked this share of the difficulty. */
const otherKinds = 0.3

const levelsOfKinds = kindsOfWork.map((kind) => perAxis((axis) => (kind.includes(axis) ? 1 : otherKinds)))

const rounded = levelsOfKinds.map((levels) =>
  steps.map(({ as: difficulty }): Demand => ({
    difficulty,
    levels: perAxis((axis) => levels[axis] * difficulty)
  }))
)

export const calibrated = (demand: Demand): Demand => {
  const peaks = kindsOfWork.map((kind) => Math.max(...kind.map((axis) => demand.levels[axis])))
  const top = Math.max(...peaks)
  const kind = peaks.findIndex((peak) => peak >= nearPeak * top)
  const step = steps.findIndex(({ to }) => demand.difficulty < to)
  // A demand of NaN has no kind and no step; it counts as it is.
  return rounded[kind]?.[step] ?? demand
}
