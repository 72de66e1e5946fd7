/**
 * How the weights are learned. Skills: one logistic regression per axis, by stochastic gradient descent with Adagrad.
 * Difficulty: ridge regression by dual coordinate ascent, which needs one number per example and converges to the exact
 * optimum. It uses the same hashed features and, with the skills fixed, the surface features.
 */
import { axes } from "../../src/catalog/Model.ts"
import { textRequest } from "../../src/domain/Conversation.ts"
import { writeSurfaceFeatures } from "../../src/routing/SurfaceFeatures.ts"
import { bucketCount, extractTextFeatures, lengthScale, makeTextFeatures } from "../../src/routing/TextFeatures.ts"
import { columns, crossInputs, denseInputs, difficultyColumn, type Weights } from "../../src/routing/Weights.ts"

/** The inputs of the model for one text. */
export interface Example {
  /** The buckets in use, and their values, which form a vector of length 1. */
  readonly buckets: Int32Array
  readonly values: Float32Array
  /** The surface features and the constant 1. */
  readonly dense: Float32Array
  /** The factor of `values` in the prediction of difficulty. */
  readonly scale: number
}

const features = makeTextFeatures()

/** Extracts the features of a prompt exactly as the router does from a request. */
export const exampleOf = (prompt: string): Example => {
  extractTextFeatures(textRequest(prompt), features)
  const dense = new Float32Array(denseInputs).fill(1)
  writeSurfaceFeatures(features, dense)
  const buckets = features.used.slice(0, features.usedCount)
  const norm = features.total > 0 ? 1 / features.total : 0
  const values = Float32Array.from(buckets, (bucket) => Math.sqrt((features.counts[bucket] ?? 0) * norm))
  return { buckets, values, dense, scale: lengthScale(features.total) }
}

/** The weights during training, before quantisation. Laid out as in `Weights`. */
export interface Learner {
  readonly table: Float32Array
  readonly dense: Float32Array
  readonly cross: Float32Array
  /** A bias of difficulty per data set, by name. Not part of the weights that are shipped. */
  readonly datasetBiases: Map<string, number>
  /** Sums of squared gradients, for Adagrad. */
  readonly tableSquares: Float32Array
  readonly denseSquares: Float32Array
}

/** All weights are 0, except for the bias of difficulty. */
export const makeLearner = (typicalGain: number): Learner => {
  const dense = new Float32Array(columns * denseInputs)
  // The last input is the constant 1.
  dense[difficultyColumn * denseInputs + denseInputs - 1] = typicalGain
  return {
    table: new Float32Array(bucketCount * columns),
    dense,
    cross: new Float32Array(crossInputs),
    datasetBiases: new Map(),
    tableSquares: new Float32Array(bucketCount * columns),
    denseSquares: new Float32Array(columns * denseInputs)
  }
}

/** Dense inputs are scaled down against hashed features, so that many words outweigh them. */
const denseScale = 0.3
/** The bias of a data set is scaled up, so that it absorbs a difference between data sets before the weights do. */
const biasScale = 3
const learningRate = 0.35
const skillRegularisation = 2e-6

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

/** The predicted skills, 0 to 1 per axis. */
export const skillsOf = (learner: Learner, example: Example): Float64Array =>
  Float64Array.from(axes, (_, axis) => 1 / (1 + Math.exp(-sumOf(learner, axis, example))))

/** One gradient step towards `targets`, 0 to 1 per axis. Returns the loss before the step, in nats. */
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
      update(
        learner.table,
        learner.tableSquares,
        (buckets[index] ?? 0) * columns + axis,
        gradient * (values[index] ?? 0)
      )
    }
    for (let input = 0; input < denseInputs; input++) {
      const step = gradient * (dense[input] ?? 0) * denseScale
      update(learner.dense, learner.denseSquares, axis * denseInputs + input, step)
    }
  }
  return loss
}

const update = (weights: Float32Array, squares: Float32Array, index: number, gradient: number): void => {
  const total = (squares[index] ?? 0) + gradient * gradient
  squares[index] = total
  const weight = weights[index] ?? 0
  weights[index] = weight - (learningRate * (gradient + skillRegularisation * weight)) / (1e-4 + Math.sqrt(total))
}

/** An example for learning difficulty. Its target is the gain of a strong model over a weak one. */
export interface DifficultyStep {
  readonly example: Example
  readonly skills: Float64Array
  readonly target: number
  readonly weight: number
  /** The data set. Data sets are graded and selected differently, so each has a bias of its own. */
  readonly dataset: string | undefined
  /** The strength of the regularisation. */
  readonly ridge: number
}

/**
 * Optimises one coordinate of the dual problem and updates the weights accordingly. `alpha` is the example's dual
 * variable. Returns the change to add to it.
 */
export const learnDifficulty = (learner: Learner, step: DifficultyStep, alpha: number): number => {
  const { dataset, example, ridge, skills, target, weight } = step
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
  const bias = dataset === undefined ? 0 : (learner.datasetBiases.get(dataset) ?? 0)
  const norm = scale ** 2 + denseSquare * squares * (1 + skillSquares) + (dataset === undefined ? 0 : biasScale ** 2)
  const predicted = sumOf(learner, difficultyColumn, example, scale) + crossed + bias
  const change = (target - predicted - alpha / weight) / (1 / weight + norm / ridge)
  const scaledChange = change / ridge
  if (dataset !== undefined) learner.datasetBiases.set(dataset, bias + scaledChange * biasScale ** 2)
  for (let index = 0; index < buckets.length; index++) {
    const at = (buckets[index] ?? 0) * columns + difficultyColumn
    learner.table[at] = (learner.table[at] ?? 0) + scaledChange * scale * (values[index] ?? 0)
  }
  for (let input = 0; input < denseInputs; input++) {
    const delta = scaledChange * denseSquare * (dense[input] ?? 0)
    const at = difficultyColumn * denseInputs + input
    learner.dense[at] = (learner.dense[at] ?? 0) + delta
    for (let axis = 0; axis < axes.length; axis++) {
      const crossAt = axis * denseInputs + input
      learner.cross[crossAt] = (learner.cross[crossAt] ?? 0) + delta * (skills[axis] ?? 0)
    }
  }
  return change
}

/** The weights for the router: the table rounded to 8 bits, with a scale per column that fits its largest weight. */
export const quantise = (learner: Learner, origin: string): Weights => {
  const scales = new Float32Array(columns)
  for (let at = 0; at < learner.table.length; at++) {
    const column = at % columns
    scales[column] = Math.max(scales[column] ?? 0, Math.abs(learner.table[at] ?? 0) / 127)
  }
  const table = Int8Array.from(learner.table, (weight, at) => Math.round(weight / (scales[at % columns] || 1)))
  return { table, scales, dense: learner.dense, cross: learner.cross, origin }
}
