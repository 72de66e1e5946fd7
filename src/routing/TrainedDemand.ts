/**
 * Demand from the trained weights: a linear model over hashed words and pieces says which skills a conversation asks
 * for, and with what the text looks like, how hard it is. Pure and deterministic; the same buffers serve every
 * request, since nothing in a prediction waits.
 */
import { axes, perAxis } from "../catalog/Model.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { DemandModel } from "./Demand.ts"
import { surfaceCount, surfaceOf } from "./SurfaceFeatures.ts"
import { lengthScale, makeTextFeatures, readTextFeatures } from "./TextFeatures.ts"
import { columns, denseInputs, difficultyColumn, type Weights } from "./Weights.ts"

/** What a request asks for by its form, whatever its words: tools are there to be used. */
const agenticWithTools = 0.6
const agenticAfterTool = 0.75
const structuredOutput = 0.5

/** What a strong model gains over a weak one on a text of which nothing is known; training starts from it. */
export const usualGain = 0.45

/**
 * Predicted gains lie close together, since single prompts are hard to tell apart. Around the usual one they are spread
 * so that difficulty uses its whole range.
 */
const spread = 16

/** Every conversation asks this share of its difficulty on every axis: hard questions need all-round models. */
const everyAxis = 0.5

/** The skill asked most counts in full however surely it was recognised, unless hardly any was. */
const mostAtLeast = 0.1

export const trainedDemand = (weights: Weights): DemandModel => {
  const features = makeTextFeatures()
  const dense = new Float32Array(denseInputs)
  dense[surfaceCount] = 1
  const sums = new Float64Array(columns)
  const asked = new Float64Array(axes.length)
  return {
    predict: (request) => {
      readTextFeatures(request, features)
      surfaceOf(features, dense)
      sumRows(weights, features.counts, features.touched, features.touchedCount, sums)
      const norm = features.total > 0 ? 1 / Math.sqrt(features.total) : 0
      sums[difficultyColumn] = (sums[difficultyColumn] ?? 0) * lengthScale(features.total)
      for (let column = 0; column < columns; column++) {
        sums[column] = (sums[column] ?? 0) * (weights.steps[column] ?? 0) * norm + denseSum(weights, column, dense)
      }
      for (let axis = 0; axis < axes.length; axis++) asked[axis] = sigmoid(sums[axis] ?? 0)
      const gain = (sums[difficultyColumn] ?? 0) + crossSum(weights, asked, dense)
      addForm(request, asked)
      const difficulty = sigmoid(spread * (gain - usualGain))
      let most = mostAtLeast
      for (let axis = 0; axis < axes.length; axis++) most = Math.max(most, asked[axis] ?? 0)
      const level = (skill: number): number => difficulty * (everyAxis + (1 - everyAxis) * (skill / most))
      return { levels: perAxis((_, at) => level(asked[at] ?? 0)), difficulty }
    }
  }
}

/** The hot loop: every bucket's row, times the square root of what was found in it. */
const sumRows = (
  { table }: Weights,
  counts: Float32Array,
  touched: Int32Array,
  touchedCount: number,
  sums: Float64Array
): void => {
  sums.fill(0)
  for (let index = 0; index < touchedCount; index++) {
    const bucket = touched[index] ?? 0
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

/** What the look of a text says about difficulty depends on what the text is about. */
const crossSum = (weights: Weights, asked: Float64Array, dense: Float32Array): number => {
  let sum = 0
  for (let axis = 0; axis < axes.length; axis++) {
    const row = axis * denseInputs
    let inner = 0
    for (let input = 0; input < denseInputs; input++) inner += (weights.cross[row + input] ?? 0) * (dense[input] ?? 0)
    sum += inner * (asked[axis] ?? 0)
  }
  return sum
}

const agentic = axes.indexOf("agentic")
const extraction = axes.indexOf("extraction")

const addForm = (request: ChatRequest, asked: Float64Array): void => {
  const raise = (axis: number, level: number): void => void (asked[axis] = Math.max(asked[axis] ?? 0, level))
  if (request.tools.length > 0) raise(agentic, agenticWithTools)
  if (request.messages.at(-1)?.role === "tool") raise(agentic, agenticAfterTool)
  if (request.responseFormat.type !== "text") raise(extraction, structuredOutput)
}

const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value))
