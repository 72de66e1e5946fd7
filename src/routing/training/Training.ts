/**
 * The whole training as an effect: one pass that surveys the data, some passes that learn skills, some that learn
 * difficulty. The data is read anew in every pass and never held; the same data and seed give the same weights.
 */
import { Effect, Stream } from "effect"

import { axes } from "../../catalog/Model.ts"
import type { Weights } from "../Weights.ts"
import { type Dice, dice, seedOf } from "./Dice.ts"
import { chatGainOf, chatKindOf, meaningOf, usualGain } from "./Labels.ts"
import { learnDifficulty, learnSkills, type Learner, makeLearner, quantise, skillsOf } from "./Learner.ts"
import { emptySurvey, groupingsOf, note, scoredBy, type Survey } from "./Outcomes.ts"
import { perturbed, withExamples } from "./Perturb.ts"
import { phrase } from "./Phrases.ts"
import { exampleOf } from "./Reading.ts"
import { keyOf, mayTrainOn, type Row, rowsOf, setOf } from "./Rows.ts"
import { trainingWrappers } from "./Wrappers.ts"

export interface Options {
  readonly directories: ReadonlyArray<string>
  readonly seed: number
  readonly skillPasses: number
  readonly difficultyPasses: number
  /** Rows for which this is true take no part, so that they can be measured on. */
  readonly heldOut: (row: Row) => boolean
}

/** How often the data is read for each lesson, for weights that are shipped. */
export const passes = { skillPasses: 6, difficultyPasses: 12 } as const

/** In which of `folds` a row is. Prompts of one cluster, and the same prompt in two files, are in the same. */
export const foldOf = (row: Row, folds: number): number => seedOf(row.cluster ?? row.prompt) % folds

export const train = Effect.fnUntraced(function* (options: Options) {
  const rows = rowsOf(options.directories).pipe(Stream.filter((row) => mayTrainOn(row) && !options.heldOut(row)))
  const survey = emptySurvey()
  yield* Stream.runForEachArray(rows, (chunk) =>
    Effect.sync(() => {
      for (const row of chunk) note(survey, row, meaningOf(row) !== undefined)
    })
  )
  yield* Effect.logInfo(`${survey.rows} rows, ${survey.sizes.size} labelled sources`)
  const learner = makeLearner()
  for (let pass = 0; pass < options.skillPasses; pass++) {
    const lesson = skillLesson(learner, survey, dice(options.seed + pass), pass)
    yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach(lesson.learn)))
    yield* Effect.logInfo(`skills, pass ${pass + 1} of ${options.skillPasses}: loss ${lesson.loss().toFixed(4)}`)
  }
  const alphas: Array<number> = []
  for (let pass = 0; pass < options.difficultyPasses; pass++) {
    const lesson = difficultyLesson(learner, survey, alphas, options.seed)
    yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach(lesson.learn)))
    lesson.finish()
    yield* Effect.logInfo(`difficulty, pass ${pass + 1} of ${options.difficultyPasses}: ${lesson.report()}`)
  }
  const origin = `${survey.rows} rows, seed ${options.seed}`
  return quantise(learner, origin) satisfies Weights
})

/** A source counts as if it had at least this many rows, or a handful of prompts would drown thousands. */
const sourceRowsMin = 60
/** Real chat is what most requests are, and the data has little of it. */
const chatFactor = 4
/** Every so many rows comes a phrase of ours. */
const rowsPerPhrase = 2
const phraseWeight = 1

/** Every so often a text comes with examples of its kind, as people who want a certain form of answer write. */
const examplesChance = 0.08
const examplesMax = 4
const exampleCharactersMax = 700

/** The last rows of every set, to be examples for the next. */
const makeMemory = () => {
  const recent = new Map<string, Array<string>>()
  return {
    remember: (row: Row): void => {
      if (row.prompt.length > exampleCharactersMax) return
      const rows = recent.get(setOf(row)) ?? []
      if (rows.push(row.prompt) > examplesMax) rows.shift()
      recent.set(setOf(row), rows)
    },
    withSomeExamples: (text: string, row: Row, random: Dice): string => {
      const examples = recent.get(setOf(row)) ?? []
      if (examples.length === 0 || !random.chance(examplesChance)) return text
      return withExamples(text, examples.slice(random.below(examples.length)), random)
    }
  }
}

const skillLesson = (learner: Learner, survey: Survey, random: Dice, pass: number) => {
  const weightOf = (size: number): number => 1 / Math.sqrt(Math.max(size, sourceRowsMin))
  const sizes = [...survey.sizes.values()]
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const meanWeight = sizes.reduce((sum, size) => sum + size * weightOf(size), 0) / Math.max(total, 1)
  const { remember, withSomeExamples } = makeMemory()
  let [loss, count] = [0, 0]
  const step = (prompt: string, row: Row, weight: number): void => {
    const meaning = meaningOf(row)
    if (meaning === undefined) return
    const targets = axes.map((axis) => meaning[axis] ?? 0)
    loss += learnSkills(learner, exampleOf(prompt), targets, weight)
    count++
  }
  const learn = (row: Row): void => {
    const changed = pass > 0 && random.chance(0.65)
    const anew = (): string => withSomeExamples(perturbed(row.prompt, trainingWrappers, random), row, random)
    const chat = chatKindOf(row) === undefined ? 1 : chatFactor
    const weight = (chat * weightOf(survey.sizes.get(setOf(row)) ?? 1)) / meanWeight
    step(changed ? anew() : row.prompt, row, weight)
    remember(row)
    if (!random.chance(1 / rowsPerPhrase)) return
    const { labels, prompt } = phrase(random)
    step(random.chance(0.5) ? perturbed(prompt, trainingWrappers, random) : prompt, { prompt, labels }, phraseWeight)
  }
  return { learn, loss: () => loss / Math.max(count, 1) }
}

const ridge = 8
/** Each prompt is learned as it is and so many times as others would have typed it. */
const variants = 1
/** What the prompt as it is weighs of the whole. */
const asItIs = 0.8
const phraseCount = 2_500
/** Of a row of chat whose gain is known by its kind alone. */
const chatWeight = 1
/** How far a whole set departs from the usual gain when models fail on more or less of it. */
const setShare = 0.3

const difficultyLesson = (learner: Learner, survey: Survey, alphas: Array<number>, seed: number) => {
  const groupings = groupingsOf(survey)
  const [rows, total] = [...groupings.values()].reduce(
    ([rows, total], grouping) => [rows + grouping.rows, total + grouping.rows * grouping.weight],
    [0, 0]
  )
  const meanWeight = total / Math.max(rows, 1)
  const { remember, withSomeExamples } = makeMemory()
  let [at, squares] = [0, 0]
  const step = (prompt: string, target: number, weight: number): void => {
    const example = exampleOf(prompt)
    const alpha = alphas[at] ?? 0
    const change = learnDifficulty(
      learner,
      { example, skills: skillsOf(learner, example), target, weight, ridge },
      alpha
    )
    alphas[at++] = alpha + change
    squares += change * change
  }
  const stepAll = (row: Row, target: number, weight: number): void => {
    step(row.prompt, target, weight * asItIs)
    const random = dice(seed ^ seedOf(keyOf(row)))
    for (let variant = 0; variant < variants; variant++) {
      const typed = perturbed(row.prompt, trainingWrappers, random)
      step(withSomeExamples(typed, row, random), target, (weight * (1 - asItIs)) / variants)
    }
    remember(row)
  }
  const learn = (row: Row): void => {
    const chatGain = chatGainOf(row)
    if (chatGain !== undefined) return stepAll(row, chatGain, chatWeight)
    const grouping = groupings.get(setOf(row))
    const scored = grouping && scoredBy(row, grouping)
    if (grouping === undefined || scored === undefined) return
    const differs = scored.strong - scored.weak - grouping.gain
    const target = usualGain + setShare * (grouping.failures - usualGain) + differs
    stepAll(row, target, grouping.weight / meanWeight)
  }
  const finish = (): void => {
    const random = dice(seed)
    for (let index = 0; index < phraseCount; index++) {
      const { gain, prompt } = phrase(random)
      const typed = random.chance(0.5) ? perturbed(prompt, trainingWrappers, random) : prompt
      step(typed, gain, chatWeight)
    }
  }
  return {
    learn,
    finish,
    report: () => `${at} examples, changed by ${Math.sqrt(squares / Math.max(at, 1)).toFixed(4)}`
  }
}
