/**
 * Statistics of the training data, and from them how much a strong model gains over a weak one on each prompt. Data
 * sets differ in their models and in how answers were graded, so a prompt is only compared with the mean of its own
 * data set.
 */
import type { ChatTask } from "./ChatCategories.ts"
import { datasetOf, type Row } from "./Rows.ts"

interface ScoreTotal {
  sum: number
  count: number
}

export interface DatasetStatistics {
  /** Labelled rows per source, without chat. */
  readonly sourceSizes: Map<string, number>
  /** Labelled rows of chat per task. */
  readonly chatSizes: Map<ChatTask, number>
  /** Scores per data set and model. */
  readonly scores: Map<string, Map<string, ScoreTotal>>
  rows: number
}

export const emptyStatistics = (): DatasetStatistics => ({
  sourceSizes: new Map(),
  chatSizes: new Map(),
  scores: new Map(),
  rows: 0
})

/** Counts a row and its scores. */
export const countRow = (statistics: DatasetStatistics, row: Row): void => {
  const dataset = datasetOf(row)
  statistics.rows++
  for (const [model, score] of scoresOf(row)) {
    const models = statistics.scores.get(dataset) ?? new Map<string, ScoreTotal>()
    const total = models.get(model) ?? { sum: 0, count: 0 }
    total.sum += score
    total.count++
    models.set(model, total)
    statistics.scores.set(dataset, models)
  }
}

/** Counts a row that has skill targets: by its task if it is chat, otherwise (`undefined`) by its source. */
export const countLabelledRow = (statistics: DatasetStatistics, row: Row, task: ChatTask | undefined): void => {
  const { chatSizes, sourceSizes } = statistics
  if (task === undefined) sourceSizes.set(datasetOf(row), (sourceSizes.get(datasetOf(row)) ?? 0) + 1)
  else chatSizes.set(task, (chatSizes.get(task) ?? 0) + 1)
}

const scoresOf = (row: Row): ReadonlyArray<readonly [model: string, score: number]> => {
  const scores = row.scores ?? { strong: row.strong ?? null, weak: row.weak ?? null }
  return Object.entries(scores).flatMap(([model, score]) => (score === null ? [] : [[model, score] as const]))
}

/** The strong and the weak models of a data set. */
export interface ModelGroups {
  readonly strong: ReadonlySet<string>
  readonly weak: ReadonlySet<string>
  /** The best of the weak models, for a comparison with a router between exactly two models. */
  readonly bestWeak: string
  /** The mean gain of the strong models over the weak ones. */
  readonly gain: number
  readonly rows: number
  /** The weight of a row of this data set when difficulty is learned. */
  readonly weight: number
}

/** Shares of the best mean score. Models in between, and models below `weakFrom`, belong to neither group. */
const strongFrom = 0.93
const weakBelow = 0.88
const weakFrom = 0.4
/**
 * Where even the best model mostly fails, or few rows were graded, scores say more about the grading than the models.
 */
const bestAtLeast = 0.5
const rowsAtLeast = 50

/** The model groups of the data sets that difficulty is learned from. */
export const modelGroupsOf = ({ scores }: DatasetStatistics): ReadonlyMap<string, ModelGroups> => {
  const groups = new Map<string, ModelGroups>()
  for (const [dataset, totals] of scores) {
    const rows = Math.max(...[...totals.values()].map(({ count }) => count))
    const means = [...totals]
      .filter(([, { count }]) => count > 0.8 * rows)
      .map(([model, { count, sum }]) => [model, sum / count] as const)
    const best = Math.max(...means.map(([, mean]) => mean))
    const strong = means.filter(([, mean]) => mean >= strongFrom * best)
    const weak = means.filter(([, mean]) => mean < weakBelow * best && mean >= weakFrom * best)
    const [bestWeak] = weak.toSorted(([, a], [, b]) => b - a)
    if (rows < rowsAtLeast || best < bestAtLeast || bestWeak === undefined) continue
    const gain = meanOf(strong) - meanOf(weak)
    groups.set(dataset, {
      strong: new Set(strong.map(([model]) => model)),
      weak: new Set(weak.map(([model]) => model)),
      bestWeak: bestWeak[0],
      gain,
      rows,
      weight: (totals.size === 2 ? pairWeight : (gain / referenceGain) ** 1.5) / Math.sqrt(rows)
    })
  }
  return groups
}

/** A data set with this gain has weight 1. Where the groups differ less, single prompts say less. */
const referenceGain = 0.25
/** Two models that were chosen for routing between them are exactly what is to be learned, whatever their gain. */
const pairWeight = 4

const meanOf = (means: ReadonlyArray<readonly [string, number]>): number =>
  means.reduce((total, [, mean]) => total + mean, 0) / means.length

/** The mean scores of the strong and the weak models on this row; `undefined` unless both groups have a score. */
export const groupScores = (
  row: Row,
  { strong, weak }: Pick<ModelGroups, "strong" | "weak">
): { readonly strong: number; readonly weak: number } | undefined => {
  const scores = scoresOf(row)
  const mean = (group: ReadonlySet<string>): number => {
    const own = scores.filter(([model]) => group.has(model))
    return own.reduce((total, [, score]) => total + score, 0) / own.length
  }
  const means = { strong: mean(strong), weak: mean(weak) }
  return Number.isNaN(means.strong + means.weak) ? undefined : means
}
