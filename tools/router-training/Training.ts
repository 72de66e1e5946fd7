/**
 * The whole training as an effect: one pass that surveys the data, some passes that learn skills, some that learn
 * difficulty. The data is read anew in every pass and never held; the same data and seed give the same weights.
 */
import { Effect, Stream } from "effect"

import { axes } from "../../src/catalog/Model.ts"
import { typicalGain } from "../../src/routing/TrainedDemand.ts"
import type { Weights } from "../../src/routing/Weights.ts"
import { chatKind, sharesAmong, type Work } from "./ChatKinds.ts"
import { type Dice, dice, seedOf } from "./Dice.ts"
import { chatGainOf, chatKindOf, gainOfHardness, type Meaning, meaningOf } from "./Labels.ts"
import { learnDifficulty, learnSkills, type Learner, makeLearner, quantise, skillsOf } from "./Learner.ts"
import { emptySurvey, groupingsOf, note, noteLabelled, scoredBy, type Survey } from "./Outcomes.ts"
import { perturbed, withExamples } from "./Perturb.ts"
import { hardnessOf } from "./ProblemGrades.ts"
import { exampleOf } from "./Reading.ts"
import { rowKeyOf, mayTrainOn, type Row, rowsOf, setOf } from "./Rows.ts"
import { trainingWrappers } from "./Wrappers.ts"

export interface TrainingOptions {
  readonly directories: ReadonlyArray<string>
  readonly seed: number
  readonly skillPasses: number
  readonly difficultyPasses: number
  /** Rows for which this is true take no part, so that they can be measured on. */
  readonly heldOut: (row: Row) => boolean
}

/** How often the data is read for each lesson, for weights that are shipped. */
export const passes = { skillPasses: 12, difficultyPasses: 12 } as const

/** In which of `folds` a row is. Prompts of one cluster, and the same prompt in two files, are in the same. */
export const foldOf = (row: Row, folds: number): number => seedOf(row.cluster ?? row.prompt) % folds

export const train = Effect.fnUntraced(function* (options: TrainingOptions) {
  const rows = rowsOf(options.directories).pipe(Stream.filter((row) => mayTrainOn(row) && !options.heldOut(row)))
  const survey = emptySurvey()
  yield* Stream.runForEachArray(rows, (chunk) =>
    Effect.sync(() => {
      for (const row of chunk) {
        note(survey, row)
        if (meaningOf(row) !== undefined) noteLabelled(survey, row, workOf(row))
      }
    })
  )
  yield* Effect.logInfo(`${survey.rows} rows, ${survey.sizes.size} labelled sources beside chat`)
  const learner = makeLearner(typicalGain)
  for (let pass = 0; pass < options.skillPasses; pass++) {
    const lesson = skillLesson(learner, survey, dice(options.seed + pass), pass)
    yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach(lesson.learn)))
    yield* Effect.logInfo(`skills, pass ${pass + 1} of ${options.skillPasses}: loss ${lesson.loss().toFixed(4)}`)
  }
  const alphas: Array<number> = []
  for (let pass = 0; pass < options.difficultyPasses; pass++) {
    const lesson = difficultyLesson(learner, survey, alphas, options.seed)
    yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach(lesson.learn)))
    yield* Effect.logInfo(`difficulty, pass ${pass + 1} of ${options.difficultyPasses}: ${lesson.report()}`)
  }
  const origin = `${survey.rows} rows, seed ${options.seed}`
  return quantise(learner, origin) satisfies Weights
})

const workOf = (row: Row): Work | undefined => {
  const kind = chatKindOf(row)
  return kind && chatKind(kind).work
}

/** A source counts as if it had at least this many rows, or a handful of prompts would drown thousands. */
const sourceRowsMin = 60
/** Chat is what most requests are; all of it weighs so many times what all else does. */
const chatFactor = 2

/**
 * What a row weighs in the lesson of skills: on average 1 beside chat, where a source weighs the square root of its
 * rows; in chat, by the share of its kind of work. Data that is chat alone is weighed as if there was as much else.
 */
const skillWeights = ({ chatSizes, sizes }: Survey): ((row: Row) => number) => {
  const counted = (size = 0): number => Math.max(size, sourceRowsMin)
  const total = (some: ReadonlyMap<unknown, number>): number => [...some.values()].reduce((sum, size) => sum + size, 0)
  const roots = [...sizes.values()].reduce((sum, size) => sum + size / Math.sqrt(counted(size)), 0)
  const unit = total(sizes) / roots
  const allChat = chatFactor * Math.max(total(sizes), total(chatSizes))
  const shares = sharesAmong([...chatSizes.keys()])
  return (row) => {
    const work = workOf(row)
    if (work === undefined) return unit / Math.sqrt(counted(sizes.get(setOf(row))))
    return (allChat * (shares.get(work) ?? 0)) / counted(chatSizes.get(work))
  }
}

/** Every so often a text comes with examples of its kind, as people who want a certain form of answer write. */
const examplesChance = 0.08
const examplesMax = 4
const exampleCharactersMax = 700

/** The last rows of every set, and of chat of every kind, to be examples for the next. */
const makeMemory = () => {
  const recent = new Map<string, Array<string>>()
  const keyOfMemory = (row: Row): string => `${setOf(row)} ${chatKindOf(row) ?? ""}`
  return {
    remember: (row: Row): void => {
      if (row.prompt.length > exampleCharactersMax) return
      const rows = recent.get(keyOfMemory(row)) ?? []
      if (rows.push(row.prompt) > examplesMax) rows.shift()
      recent.set(keyOfMemory(row), rows)
    },
    withSomeExamples: (text: string, row: Row, random: Dice): string => {
      const examples = recent.get(keyOfMemory(row)) ?? []
      if (examples.length === 0 || !random.chance(examplesChance)) return text
      return withExamples(text, examples.slice(random.below(examples.length)), random)
    }
  }
}

const skillLesson = (learner: Learner, survey: Survey, random: Dice, pass: number) => {
  const weightOf = skillWeights(survey)
  const { remember, withSomeExamples } = makeMemory()
  let [loss, count] = [0, 0]
  const step = (prompt: string, meaning: Meaning, weight: number): void => {
    const targets = axes.map((axis) => meaning[axis] ?? 0)
    loss += learnSkills(learner, exampleOf(prompt), targets, weight)
    count++
  }
  const anew = (row: Row): string => withSomeExamples(perturbed(row.prompt, trainingWrappers, random), row, random)
  const learn = (row: Row): void => {
    const meaning = meaningOf(row)
    if (meaning !== undefined) {
      step(random.chance(pass > 0 ? 0.65 : 0) ? anew(row) : row.prompt, meaning, weightOf(row))
    }
    remember(row)
  }
  return { learn, loss: () => loss / Math.max(count, 1) }
}

const ridge = 8
/** Each prompt is learned as it is, with this share of its weight, and as somebody else would have typed it. */
const asItIs = 0.8
/** Of a word problem whose gain is known by our judgement alone, and there is one judgement for each. */
const problemWeight = 3
/** Of a row of chat whose gain is known by its kind and grade alone. */
const chatWeight = 1

const difficultyLesson = (learner: Learner, survey: Survey, alphas: Array<number>, seed: number) => {
  const groupings = groupingsOf(survey)
  const [rows, total] = [...groupings.values()].reduce(
    ([rows, total], grouping) => [rows + grouping.rows, total + grouping.rows * grouping.weight],
    [0, 0]
  )
  const meanWeight = total / Math.max(rows, 1)
  const { remember, withSomeExamples } = makeMemory()
  let [at, squares] = [0, 0]
  const step = (prompt: string, target: number, weight: number, set?: string): void => {
    const example = exampleOf(prompt)
    const alpha = alphas[at] ?? 0
    const change = learnDifficulty(
      learner,
      { example, skills: skillsOf(learner, example), target, weight, set, ridge },
      alpha
    )
    alphas[at++] = alpha + change
    squares += change * change
  }
  const stepAll = (row: Row, target: number, weight: number, set?: string): void => {
    step(row.prompt, target, weight * asItIs, set)
    const random = dice(seed ^ seedOf(rowKeyOf(row)))
    const typed = perturbed(row.prompt, trainingWrappers, random)
    step(withSomeExamples(typed, row, random), target, weight * (1 - asItIs), set)
    remember(row)
  }
  const learn = (row: Row): void => {
    const hardness = hardnessOf(row.id ?? "")
    if (hardness !== undefined) return stepAll(row, gainOfHardness(hardness), problemWeight, setOf(row))
    const gain = chatGainOf(row)
    if (gain !== undefined) return stepAll(row, gain, chatWeight)
    const grouping = groupings.get(setOf(row))
    const scored = grouping && scoredBy(row, grouping)
    if (grouping === undefined || scored === undefined) return
    const differs = scored.strong - scored.weak - grouping.gain
    stepAll(row, typicalGain + differs, grouping.weight / meanWeight, setOf(row))
  }
  return {
    learn,
    report: () => `${at} examples, changed by ${Math.sqrt(squares / Math.max(at, 1)).toFixed(4)}`
  }
}
