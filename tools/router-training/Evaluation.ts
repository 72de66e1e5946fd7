/**
 * Evaluates the router by cross-validation: every fold of the data is predicted with weights that were trained on the
 * other folds, so no row is predicted with weights that have seen it.
 */
import { Clock, Effect, Stream } from "effect"

import { type Axis, axes, type Model, perAxis, type Profile } from "../../src/catalog/Model.ts"
import { textRequest } from "../../src/domain/Conversation.ts"
import { estimatePromptTokens } from "../../src/domain/TokenCount.ts"
import type { Demand, DemandModel } from "../../src/routing/Demand.ts"
import { rankModels, shortfall } from "../../src/routing/Ranking.ts"
import { chatCategory } from "./ChatCategories.ts"
import { countRow, emptyStatistics, groupScores, type ModelGroups, modelGroupsOf } from "./DatasetStatistics.ts"
import { areaUnderCurve, type Outcome, quantile } from "./Metrics.ts"
import { poolModelsOf, type PoolRow } from "./ModelPool.ts"
import { heldOutWrappers, withOtherOptionMarks, withTypos, withWrapper } from "./Perturbations.ts"
import { datasetOf, type Row, rowsOf } from "./Rows.ts"
import { type SeededRandom, seededRandom } from "./SeededRandom.ts"
import { chatCategoryOf } from "./TrainingLabels.ts"

/** The profiles of two made-up models to route between: a strong model, and an open model of the next lower class. */
const flatProfile = (skill: number, exceptions: { readonly [A in Axis]?: number }): Profile =>
  perAxis((axis) => exceptions[axis] ?? skill)
const strong = flatProfile(0.5, { math: 0.45, reasoning: 0.45, agentic: 0.42 })
const weak = flatProfile(0.35, { coding: 0.25, math: 0.18, reasoning: 0.25, agentic: 0.2 })

/** The score by which a router between the two models decides: the difference of their distances. */
const expectedGain = (levels: Demand["levels"]): number => {
  const distance = shortfall(levels)
  return distance(weak) - distance(strong)
}

/** Categories of chat in which models are known to differ most, and least. */
const categoriesOfHighGain = ["math", "coding", "reasoning", "fermi", "extraction"]
const categoriesOfLowGain = ["creative", "writing", "roleplay", "knowledge", "smalltalk"]

/** The prediction for one row of chat. */
export interface ChatPrediction {
  readonly category: string
  readonly grade: number | undefined
  /** The expected gain. */
  readonly score: number
  /** Whether the axis of the category had the highest level; `undefined` for a category without an axis. */
  readonly correct: boolean | undefined
}

/**
 * The share of pairs in which the prompt with more gain has the higher score: over pairs of categories with high and
 * low gain, and over pairs of grades above and below 3. NaN without such pairs.
 */
export const pairwiseOrder = (
  rows: ReadonlyArray<ChatPrediction>
): { readonly categories: number; readonly grades: number } => {
  const scores = (which: (row: ChatPrediction) => boolean) => rows.filter(which).map(({ score }) => score)
  return {
    categories: areaUnderCurve(
      scores(({ category }) => categoriesOfHighGain.includes(category)),
      scores(({ category }) => categoriesOfLowGain.includes(category))
    ),
    grades: areaUnderCurve(
      scores(({ grade }) => (grade ?? 3) > 3),
      scores(({ grade }) => (grade ?? 3) < 3)
    )
  }
}

/** What was collected over all folds. */
export interface EvaluationResults {
  /** By data set, with the mean of the weak models. */
  readonly outcomes: Map<string, Array<Outcome>>
  /** The same with only the best of the weak models, as for a router between two models. */
  readonly outcomesOfBestWeak: Map<string, Array<Outcome>>
  /** Rows of chat by data set. */
  readonly chat: Map<string, Array<ChatPrediction>>
  /** Rows with a score and a cost for every model. */
  readonly pool: Array<PoolRow>
  /** Some prompts of every data set, to measure stability and latency with the shipped catalog. */
  readonly prompts: Array<string>
}

export const emptyResults = (): EvaluationResults => ({
  outcomes: new Map(),
  outcomesOfBestWeak: new Map(),
  chat: new Map(),
  pool: [],
  prompts: []
})

/** How many prompts of each data set stability is measured on. */
const promptsPerDataset = 60

export interface FoldOptions {
  readonly demandModel: DemandModel
  readonly directories: ReadonlyArray<string>
  readonly inFold: (row: Row) => boolean
}

const appendTo = <A>(lists: Map<string, Array<A>>, key: string, item: A): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}

/** Predicts the rows of one fold, and adds the outcomes to `results`. */
export const evaluateFold = Effect.fnUntraced(function* (
  results: EvaluationResults,
  { demandModel, directories, inFold }: FoldOptions
) {
  const rows = rowsOf(directories)
  const statistics = emptyStatistics()
  yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach((row) => countRow(statistics, row))))
  const groupsByDataset = modelGroupsOf(statistics)
  const promptCounts = new Map<string, number>()
  const evaluateRow = (row: Row): void => {
    if (!inFold(row)) return
    const dataset = datasetOf(row)
    const { levels } = demandModel.predict(textRequest(row.prompt))
    const score = expectedGain(levels)
    const groups = groupsByDataset.get(dataset)
    const compare = (outcomes: EvaluationResults["outcomes"], pair: Pick<ModelGroups, "strong" | "weak">): void => {
      const scores = groupScores(row, pair)
      if (scores !== undefined) appendTo(outcomes, dataset, { ...scores, score })
    }
    if (groups !== undefined) {
      compare(results.outcomes, groups)
      compare(results.outcomesOfBestWeak, { ...groups, weak: new Set([groups.bestWeak]) })
    }
    const models = poolModelsOf(row)
    if (models !== undefined) results.pool.push({ models, levels })
    const category = chatCategoryOf(row)
    if (category !== undefined) {
      const { axis } = chatCategory(category)
      const correct = axis && axes.every((other) => levels[other] <= levels[axis])
      appendTo(results.chat, dataset, { category, grade: row.grade, correct, score })
    }
    const count = promptCounts.get(dataset) ?? 0
    promptCounts.set(dataset, count + 1)
    if (count < promptsPerDataset) results.prompts.push(row.prompt)
  }
  yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach(evaluateRow)))
})

/** By name. The length of a name seeds its random choices, so renaming a perturbation changes the results slightly. */
const perturbations: Readonly<Record<string, (text: string, random: SeededRandom) => string>> = {
  "typing errors (3% of letters)": (text, random) => withTypos(text, 0.03, random),
  "another wrapper, translated or not": (text, random) => withWrapper(text, heldOutWrappers, random),
  "options set out another way": withOtherOptionMarks,
  "all of them": (text, random) =>
    withOtherOptionMarks(withWrapper(withTypos(text, 0.02, random), heldOutWrappers, random), random)
}

export interface Stability {
  /** By perturbation, the share of the prompts changed by it that keep their model. */
  readonly kept: ReadonlyMap<string, number>
  /** The share of prompts per chosen model. */
  readonly mix: ReadonlyMap<string, number>
}

/** Which of `models` is ranked first for each prompt, and whether it stays first when the prompt is perturbed. */
export const stabilityOf = (
  models: ReadonlyArray<Model>,
  demandModel: DemandModel,
  prompts: ReadonlyArray<string>
): Stability => {
  const choose = (prompt: string): string => {
    const request = { ...textRequest(prompt), reasoning: { effort: "high", exclude: false } } as const
    const routingRequest = { request, promptTokens: estimatePromptTokens(request), allowed: undefined }
    return rankModels(models, routingRequest, demandModel).candidates[0]?.model.id ?? ""
  }
  const chosen = prompts.map((prompt) => [prompt, choose(prompt)] as const)
  const mix = new Map<string, number>()
  for (const [, model] of chosen) mix.set(model, (mix.get(model) ?? 0) + 1 / chosen.length)
  const kept = Object.entries(perturbations).map(([name, perturb]) => {
    const random = seededRandom(name.length)
    const variants = chosen.map(([prompt, model]) => [perturb(prompt, random), prompt, model] as const)
    const changed = variants.filter(([variant, prompt]) => variant !== prompt)
    return [name, changed.filter(([variant, , model]) => choose(variant) === model).length / changed.length] as const
  })
  return { kept: new Map(kept), mix }
}

export interface LatencyMeasurement {
  readonly characters: number
  readonly p50Millis: number
  readonly p99Millis: number
}

/** Decisions before the measurement, so that V8 has compiled the code, and decisions that are measured. */
const warmUpDecisions = 500
const measuredDecisions = 4_000

/** Measures how long a decision takes, prediction and ranking together, on texts of a given length. */
export const latencyOf = (models: ReadonlyArray<Model>, demandModel: DemandModel, prompts: ReadonlyArray<string>) =>
  Effect.map(Clock.Clock, (clock) => (characters: number): LatencyMeasurement => {
    const text = prompts.join("\n\n")
    const times: Array<number> = []
    for (let index = 0; index < warmUpDecisions + measuredDecisions; index++) {
      const from = (index * 997) % Math.max(1, text.length - characters)
      const request = textRequest(text.slice(from, from + characters))
      const routingRequest = { request, promptTokens: estimatePromptTokens(request), allowed: undefined }
      const startedAt = clock.monotonicTimeNanosUnsafe()
      rankModels(models, routingRequest, demandModel)
      if (index >= warmUpDecisions) times.push(Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e6)
    }
    return { characters, p50Millis: quantile(times, 0.5), p99Millis: quantile(times, 0.99) }
  })
