/**
 * How the weights are learned. Skills: logistic regression, one per axis, by gradient steps whose size shrinks with
 * what a weight has already moved. Difficulty: ridge regression by dual coordinate ascent, which needs one number per
 * example and finds the exact optimum, over the same words and, with the skills fixed, over the look of the text.
 */
import { axes } from "../../src/catalog/Model.ts"
import { bucketCount } from "../../src/routing/TextFeatures.ts"
import { columns, crossInputs, denseInputs, difficultyColumn, type Weights } from "../../src/routing/Weights.ts"

/** One text as the learner sees it: buckets with their values, of length 1 together, and the look of the text. */
export interface Example {
  readonly buckets: Int32Array
  readonly values: Float32Array
  readonly dense: Float32Array
  /** What `values` are multiplied by for difficulty. */
  readonly scale: number
}

export interface Learner {
  readonly table: Float32Array
  readonly dense: Float32Array
  readonly cross: Float32Array
  /** How far each set lies from what its texts say, by the name of the set. Not part of the weights. */
  readonly offsets: Map<string, number>
  /** Sums of squared gradients. */
  readonly tableMoved: Float32Array
  readonly denseMoved: Float32Array
}

/** Knows nothing but the gain of a text of which nothing is known. */
export const makeLearner = (usualGain: number): Learner => {
  const dense = new Float32Array(columns * denseInputs)
  // The last input is always 1.
  dense[difficultyColumn * denseInputs + denseInputs - 1] = usualGain
  return {
    table: new Float32Array(bucketCount * columns),
    dense,
    cross: new Float32Array(crossInputs),
    offsets: new Map(),
    tableMoved: new Float32Array(bucketCount * columns),
    denseMoved: new Float32Array(columns * denseInputs)
  }
}

/** The look of a text counts this much of a word, so that many words outweigh it. */
const denseScale = 0.3
/** Of the offset of a set: it gives way long before the weights do. */
const offsetScale = 3
const rate = 0.35
const ridgeOfSkills = 2e-6

const sumOf = (learner: Learner, column: number, { buckets, dense, values }: Example, scale = 1): number => {
  let sum = 0
  for (let index = 0; index < buckets.length; index++) {
    sum += (values[index] ?? 0) * (learner.table[(buckets[index] ?? 0) * columns + column] ?? 0)
  }
  sum *= scale
  const row = column * denseInputs
  for (let input = 0; input < denseInputs; input++) sum += (dense[input] ?? 0) * (learner.dense[row + input] ?? 0)
  return sum
}

export const skillsOf = (learner: Learner, example: Example): Float64Array =>
  Float64Array.from(axes, (_, axis) => 1 / (1 + Math.exp(-sumOf(learner, axis, example))))

/** One step towards `targets`, 0 to 1 per axis; answers the loss before it, in nats. */
export const learnSkills = (
  learner: Learner,
  example: Example,
  targets: ReadonlyArray<number>,
  weight: number
): number => {
  const skills = skillsOf(learner, example)
  const { buckets, dense, values } = example
  let loss = 0
  for (let axis = 0; axis < axes.length; axis++) {
    const [skill, target] = [skills[axis] ?? 0, targets[axis] ?? 0]
    loss -= target * Math.log(skill + 1e-9) + (1 - target) * Math.log(1 - skill + 1e-9)
    const gradient = weight * (skill - target)
    for (let index = 0; index < buckets.length; index++) {
      move(learner.table, learner.tableMoved, (buckets[index] ?? 0) * columns + axis, gradient * (values[index] ?? 0))
    }
    for (let input = 0; input < denseInputs; input++) {
      const step = gradient * (dense[input] ?? 0) * denseScale
      move(learner.dense, learner.denseMoved, axis * denseInputs + input, step)
    }
  }
  return loss
}

const move = (weights: Float32Array, moved: Float32Array, at: number, gradient: number): void => {
  const total = (moved[at] ?? 0) + gradient * gradient
  moved[at] = total
  const weight = weights[at] ?? 0
  weights[at] = weight - (rate * (gradient + ridgeOfSkills * weight)) / (1e-4 + Math.sqrt(total))
}

export interface DifficultyStep {
  readonly example: Example
  readonly skills: Float64Array
  readonly target: number
  readonly weight: number
  /** Sets are graded and chosen differently; within one, targets are compared with its own offset. */
  readonly set: string | undefined
  /** The ridge: how many examples it takes to move a weight. */
  readonly ridge: number
}

/**
 * One coordinate of the dual: answers what to add to the example's own number, `alpha`, after having added it to the
 * weights.
 */
export const learnDifficulty = (learner: Learner, step: DifficultyStep, alpha: number): number => {
  const { example, ridge, set, skills, target, weight } = step
  const { buckets, dense, scale, values } = example
  const denseSquare = denseScale ** 2
  let squares = 0
  let crossed = 0
  for (let input = 0; input < denseInputs; input++) squares += (dense[input] ?? 0) ** 2
  let skillSquares = 0
  for (let axis = 0; axis < axes.length; axis++) {
    const skill = skills[axis] ?? 0
    skillSquares += skill * skill
    for (let input = 0; input < denseInputs; input++) {
      crossed += skill * (dense[input] ?? 0) * (learner.cross[axis * denseInputs + input] ?? 0)
    }
  }
  const offset = set === undefined ? 0 : (learner.offsets.get(set) ?? 0)
  const norm = scale ** 2 + denseSquare * squares * (1 + skillSquares) + (set === undefined ? 0 : offsetScale ** 2)
  const predicted = sumOf(learner, difficultyColumn, example, scale) + crossed + offset
  const change = (target - predicted - alpha / weight) / (1 / weight + norm / ridge)
  const each = change / ridge
  if (set !== undefined) learner.offsets.set(set, offset + each * offsetScale ** 2)
  for (let index = 0; index < buckets.length; index++) {
    const at = (buckets[index] ?? 0) * columns + difficultyColumn
    learner.table[at] = (learner.table[at] ?? 0) + each * scale * (values[index] ?? 0)
  }
  for (let input = 0; input < denseInputs; input++) {
    const move = each * denseSquare * (dense[input] ?? 0)
    const at = difficultyColumn * denseInputs + input
    learner.dense[at] = (learner.dense[at] ?? 0) + move
    for (let axis = 0; axis < axes.length; axis++) {
      const crossAt = axis * denseInputs + input
      learner.cross[crossAt] = (learner.cross[crossAt] ?? 0) + move * (skills[axis] ?? 0)
    }
  }
  return change
}

/** Rounded to small integers: per column the step fits the largest weight. */
export const quantise = (learner: Learner, origin: string): Weights => {
  const steps = new Float32Array(columns)
  for (let at = 0; at < learner.table.length; at++) {
    const column = at % columns
    steps[column] = Math.max(steps[column] ?? 0, Math.abs(learner.table[at] ?? 0) / 127)
  }
  const table = Int8Array.from(learner.table, (weight, at) => Math.round(weight / (steps[at % columns] || 1)))
  return { table, scales: steps, dense: learner.dense, cross: learner.cross, origin }
}
