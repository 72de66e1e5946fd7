/**
 * Trains the weights: one pass over the data that collects statistics, some passes that learn skills, and some that
 * learn difficulty. Every pass reads the data again, so it never has to fit into memory. The same data and seed give
 * the same weights.
 */
import { Effect, Stream } from "effect"

import { axes } from "../../src/catalog/Model.ts"
import { typicalGain } from "../../src/routing/TrainedDemand.ts"
import type { Weights } from "../../src/routing/Weights.ts"
import { chatCategory, type ChatTask, sharesAmong } from "./ChatCategories.ts"
import {
  countLabelledRow,
  countRow,
  type DatasetStatistics,
  emptyStatistics,
  groupScores,
  modelGroupsOf
} from "./DatasetStatistics.ts"
import { exampleOf, learnDifficulty, type Learner, learnSkills, makeLearner, quantise, skillsOf } from "./Learner.ts"
import { gsm8kDifficultyOf } from "./OwnLabels.ts"
import { perturbed, trainingWrappers, withExamples } from "./Perturbations.ts"
import { datasetOf, mayTrainOn, type Row, rowKeyOf, rowsOf } from "./Rows.ts"
import { hashOfText, type SeededRandom, seededRandom } from "./SeededRandom.ts"
import { chatCategoryOf, chatGainOf, type SkillTargets, skillTargetsOf, wordProblemGain } from "./TrainingLabels.ts"

export interface TrainingOptions {
  readonly directories: ReadonlyArray<string>
  readonly seed: number
  readonly skillPasses: number
  readonly difficultyPasses: number
  /** Rows for which this is true are not trained on, so that they can be evaluated on. */
  readonly heldOut: (row: Row) => boolean
}

/** The numbers of passes for weights that are shipped. */
export const defaultPasses = { skillPasses: 12, difficultyPasses: 12 } as const

/** The fold of a row, from 0. Prompts of one cluster, and the same prompt in two files, are in the same fold. */
export const foldOf = (row: Row, folds: number): number => hashOfText(row.cluster ?? row.prompt) % folds

export const train = Effect.fnUntraced(function* (options: TrainingOptions) {
  const rows = rowsOf(options.directories).pipe(Stream.filter((row) => mayTrainOn(row) && !options.heldOut(row)))
  const statistics = emptyStatistics()
  yield* Stream.runForEachArray(rows, (chunk) =>
    Effect.sync(() => {
      for (const row of chunk) {
        countRow(statistics, row)
        if (skillTargetsOf(row) !== undefined) countLabelledRow(statistics, row, taskOf(row))
      }
    })
  )
  yield* Effect.logInfo(`${statistics.rows} rows, ${statistics.sourceSizes.size} labelled sources beside chat`)
  const learner = makeLearner(typicalGain)
  for (let index = 0; index < options.skillPasses; index++) {
    const pass = skillPass(learner, statistics, seededRandom(options.seed + index), index)
    yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach(pass.learn)))
    yield* Effect.logInfo(`skills, pass ${index + 1} of ${options.skillPasses}: loss ${pass.loss().toFixed(4)}`)
  }
  const alphas: Array<number> = []
  for (let index = 0; index < options.difficultyPasses; index++) {
    const pass = difficultyPass(learner, statistics, alphas, options.seed)
    yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach(pass.learn)))
    yield* Effect.logInfo(`difficulty, pass ${index + 1} of ${options.difficultyPasses}: ${pass.report()}`)
  }
  const origin = `${statistics.rows} rows, seed ${options.seed}`
  return quantise(learner, origin) satisfies Weights
})

/** The task of a row of chat; `undefined` for other rows. */
const taskOf = (row: Row): ChatTask | undefined => {
  const category = chatCategoryOf(row)
  return category && chatCategory(category).task
}

/** A source counts as if it had at least this many rows, or a handful of prompts would outweigh thousands. */
const sourceRowsMin = 60
/** All chat together counts this many times as much as all other data, since most requests are chat. */
const chatFactor = 2

/**
 * The weight of a row when skills are learned. Chat is weighted by the traffic share of its task. Other sources count
 * by the square root of their size, and their rows weigh 1 on average. Data that is chat alone is weighted as if there
 * were as much other data.
 */
const skillWeights = ({ chatSizes, sourceSizes }: DatasetStatistics): ((row: Row) => number) => {
  const atLeastMin = (size = 0): number => Math.max(size, sourceRowsMin)
  const total = (sizes: ReadonlyMap<unknown, number>): number =>
    [...sizes.values()].reduce((sum, size) => sum + size, 0)
  const roots = [...sourceSizes.values()].reduce((sum, size) => sum + size / Math.sqrt(atLeastMin(size)), 0)
  const unit = total(sourceSizes) / roots
  const allChat = chatFactor * Math.max(total(sourceSizes), total(chatSizes))
  const shares = sharesAmong([...chatSizes.keys()])
  return (row) => {
    const task = taskOf(row)
    if (task === undefined) return unit / Math.sqrt(atLeastMin(sourceSizes.get(datasetOf(row))))
    return (allChat * (shares.get(task) ?? 0)) / atLeastMin(chatSizes.get(task))
  }
}

/** The probability that a perturbed text begins with examples of its data set, as in few-shot prompts. */
const examplesChance = 0.08
const examplesMax = 4
const exampleCharactersMax = 700

/** Keeps the latest short prompts of every data set and every category of chat as examples for the next ones. */
const makeRecentPrompts = () => {
  const recent = new Map<string, Array<string>>()
  const keyOf = (row: Row): string => `${datasetOf(row)} ${chatCategoryOf(row) ?? ""}`
  return {
    remember: (row: Row): void => {
      if (row.prompt.length > exampleCharactersMax) return
      const prompts = recent.get(keyOf(row)) ?? []
      if (prompts.push(row.prompt) > examplesMax) prompts.shift()
      recent.set(keyOf(row), prompts)
    },
    /** `text`, at random preceded by some of the prompts. */
    withRecentExamples: (text: string, row: Row, random: SeededRandom): string => {
      const examples = recent.get(keyOf(row)) ?? []
      if (examples.length === 0 || !random.chance(examplesChance)) return text
      return withExamples(text, examples.slice(random.nextBelow(examples.length)), random)
    }
  }
}

/** The probability, from the second pass on, that skills are learned from a perturbed text. */
const perturbedShare = 0.65

const skillPass = (learner: Learner, statistics: DatasetStatistics, random: SeededRandom, index: number) => {
  const weightOf = skillWeights(statistics)
  const { remember, withRecentExamples } = makeRecentPrompts()
  let [loss, count] = [0, 0]
  const step = (prompt: string, skillTargets: SkillTargets, weight: number): void => {
    const targets = axes.map((axis) => skillTargets[axis] ?? 0)
    loss += learnSkills(learner, exampleOf(prompt), targets, weight)
    count++
  }
  const variantOf = (row: Row): string =>
    withRecentExamples(perturbed(row.prompt, trainingWrappers, random), row, random)
  const learn = (row: Row): void => {
    const targets = skillTargetsOf(row)
    if (targets !== undefined) {
      step(random.chance(index > 0 ? perturbedShare : 0) ? variantOf(row) : row.prompt, targets, weightOf(row))
    }
    remember(row)
  }
  return { learn, loss: () => loss / Math.max(count, 1) }
}

/** The strength of the regularisation of difficulty. */
const ridge = 8
/** Difficulty is learned from each prompt as it is, with this share of its weight, and from a perturbed variant. */
const unperturbedWeight = 0.8
/** The weight of a word problem, whose gain is only known from a single rating of ours. */
const wordProblemWeight = 3
/** The weight of a row of chat, whose gain is only known from its category and grade. */
const chatWeight = 1

const difficultyPass = (learner: Learner, statistics: DatasetStatistics, alphas: Array<number>, seed: number) => {
  const groupsByDataset = modelGroupsOf(statistics)
  const [rows, total] = [...groupsByDataset.values()].reduce(
    ([rows, total], groups) => [rows + groups.rows, total + groups.rows * groups.weight],
    [0, 0]
  )
  const meanWeight = total / Math.max(rows, 1)
  const { remember, withRecentExamples } = makeRecentPrompts()
  let [index, squares] = [0, 0]
  const step = (prompt: string, target: number, weight: number, dataset?: string): void => {
    const example = exampleOf(prompt)
    const alpha = alphas[index] ?? 0
    const change = learnDifficulty(
      learner,
      { example, skills: skillsOf(learner, example), target, weight, dataset, ridge },
      alpha
    )
    alphas[index++] = alpha + change
    squares += change * change
  }
  const stepWithVariant = (row: Row, target: number, weight: number, dataset?: string): void => {
    step(row.prompt, target, weight * unperturbedWeight, dataset)
    const random = seededRandom(seed ^ hashOfText(rowKeyOf(row)))
    const variant = perturbed(row.prompt, trainingWrappers, random)
    step(withRecentExamples(variant, row, random), target, weight * (1 - unperturbedWeight), dataset)
    remember(row)
  }
  const learn = (row: Row): void => {
    const difficulty = gsm8kDifficultyOf(row.id ?? "")
    if (difficulty !== undefined) {
      return stepWithVariant(row, wordProblemGain(difficulty), wordProblemWeight, datasetOf(row))
    }
    const chatGain = chatGainOf(row)
    if (chatGain !== undefined) return stepWithVariant(row, chatGain, chatWeight)
    const groups = groupsByDataset.get(datasetOf(row))
    const scores = groups && groupScores(row, groups)
    if (groups === undefined || scores === undefined) return
    const aboveMean = scores.strong - scores.weak - groups.gain
    stepWithVariant(row, typicalGain + aboveMean, groups.weight / meanWeight, datasetOf(row))
  }
  return {
    learn,
    report: () => `${index} examples, changed by ${Math.sqrt(squares / Math.max(index, 1)).toFixed(4)}`
  }
}
