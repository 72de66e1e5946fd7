/**
 * Predicts demand with the trained weights. A linear model over hashed words and character 4-grams predicts which
 * skills a conversation needs, and together with the surface features how difficult it is. Deterministic: the same
 * request and weights give the same demand. One set of buffers serves all requests, since a prediction runs without
 * suspending.
 */
import { axes, perAxis } from "../catalog/Model.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { DemandModel } from "./Demand.ts"
import { surfaceFeatureCount, writeSurfaceFeatures } from "./SurfaceFeatures.ts"
import { extractTextFeatures, lengthScale, makeTextFeatures, type TextFeatures } from "./TextFeatures.ts"
import { columns, denseInputs, difficultyColumn, type Weights } from "./Weights.ts"

/** The least skill of an axis that follows from parameters of the request rather than from its text. */
const agenticWithTools = 0.6
const agenticAfterToolResult = 0.75
const extractionWithJson = 0.5

/** The gain of a strong model over a weak one on a prompt of which nothing is known. Training starts from it. */
export const typicalGain = 0.45

/**
 * Predicted gains lie close together, since single prompts are hard to tell apart. The sigmoid around the typical gain
 * has this slope, so that difficulty uses its whole range from 0 to 1.
 */
const difficultySlope = 16

/** Every axis has at least this share of the difficulty as its level: hard questions need all-round models. */
const minimumLevelShare = 0.5

/**
 * The highest skill counts as 1, however confidently it was predicted, and the others in proportion to it; unless even
 * the highest is below this.
 */
const minimumPeak = 0.1

export const trainedDemand = (weights: Weights): DemandModel => {
  const features = makeTextFeatures()
  const dense = new Float32Array(denseInputs)
  // The last input is the constant one, for the bias.
  dense[surfaceFeatureCount] = 1
  const sums = new Float64Array(columns)
  const skills = new Float64Array(axes.length)
  return {
    predict: (request) => {
      extractTextFeatures(request, features)
      writeSurfaceFeatures(features, dense)
      sumRows(weights, features, sums)
      const norm = features.total > 0 ? 1 / Math.sqrt(features.total) : 0
      sums[difficultyColumn] = (sums[difficultyColumn] ?? 0) * lengthScale(features.total)
      for (let column = 0; column < columns; column++) {
        sums[column] = (sums[column] ?? 0) * (weights.scales[column] ?? 0) * norm + denseSum(weights, column, dense)
      }
      for (let axis = 0; axis < axes.length; axis++) skills[axis] = sigmoid(sums[axis] ?? 0)
      const gain = (sums[difficultyColumn] ?? 0) + crossSum(weights, skills, dense)
      raiseByParameters(request, skills)
      const difficulty = sigmoid(difficultySlope * (gain - typicalGain))
      let peak = minimumPeak
      for (let axis = 0; axis < axes.length; axis++) peak = Math.max(peak, skills[axis] ?? 0)
      const level = (skill: number): number =>
        difficulty * (minimumLevelShare + (1 - minimumLevelShare) * (skill / peak))
      return { levels: perAxis((_, axis) => level(skills[axis] ?? 0)), difficulty }
    }
  }
}

/** The hot loop: adds up the weights of every bucket in use, each times the square root of the bucket's count. */
const sumRows = ({ table }: Weights, { counts, used, usedCount }: TextFeatures, sums: Float64Array): void => {
  sums.fill(0)
  for (let index = 0; index < usedCount; index++) {
    const bucket = used[index] ?? 0
    const value = Math.sqrt(counts[bucket] ?? 0)
    const row = bucket * columns
    for (let column = 0; column < columns; column++) {
      sums[column] = (sums[column] ?? 0) + value * (table[row + column] ?? 0)
    }
  }
}

const denseSum = (weights: Weights, column: number, dense: Float32Array): number => {
  let sum = 0
  const row = column * denseInputs
  for (let input = 0; input < denseInputs; input++) sum += (weights.dense[row + input] ?? 0) * (dense[input] ?? 0)
  return sum
}

/** The products of skills and surface features: what a surface feature means for difficulty depends on the topic. */
const crossSum = (weights: Weights, skills: Float64Array, dense: Float32Array): number => {
  let sum = 0
  for (let axis = 0; axis < axes.length; axis++) {
    const row = axis * denseInputs
    let inner = 0
    for (let input = 0; input < denseInputs; input++) inner += (weights.cross[row + input] ?? 0) * (dense[input] ?? 0)
    sum += inner * (skills[axis] ?? 0)
  }
  return sum
}

const agentic = axes.indexOf("agentic")
const extraction = axes.indexOf("extraction")

const raiseByParameters = (request: ChatRequest, skills: Float64Array): void => {
  const raise = (axis: number, skill: number): void => void (skills[axis] = Math.max(skills[axis] ?? 0, skill))
  if (request.tools.length > 0) raise(agentic, agenticWithTools)
  if (request.messages.at(-1)?.role === "tool") raise(agentic, agenticAfterToolResult)
  if (request.responseFormat.type !== "text") raise(extraction, extractionWithJson)
}

const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value))
