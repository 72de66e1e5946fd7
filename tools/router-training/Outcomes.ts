/**
 * How much a strong model gains over a weak one on a prompt, from how models did on it. Sets differ in models and in
 * how answers were graded, so a prompt is compared with the mean of its own set.
 */
import type { Work } from "./ChatKinds.ts"
import type { Row } from "./Rows.ts"
import { setOf } from "./Rows.ts"

interface Tally {
  sum: number
  count: number
}

export interface Survey {
  /** Labelled rows per source, and of chat per kind of work. */
  readonly sizes: Map<string, number>
  readonly chatSizes: Map<Work, number>
  /** What was scored, per set and model. */
  readonly models: Map<string, Map<string, Tally>>
  rows: number
}

export const emptySurvey = (): Survey => ({
  sizes: new Map(),
  chatSizes: new Map(),
  models: new Map(),
  rows: 0
})

/** Every row counts once, before training. */
export const note = (survey: Survey, row: Row): void => {
  const set = setOf(row)
  survey.rows++
  for (const [model, score] of scoresOf(row)) {
    const models = survey.models.get(set) ?? new Map<string, Tally>()
    const tally = models.get(model) ?? { sum: 0, count: 0 }
    tally.sum += score
    tally.count++
    models.set(model, tally)
    survey.models.set(set, models)
  }
}

/** A labelled row counts once more, with its source or, when it is chat, with its kind of work. */
export const noteLabelled = (survey: Survey, row: Row, work: Work | undefined): void => {
  if (work === undefined) survey.sizes.set(setOf(row), (survey.sizes.get(setOf(row)) ?? 0) + 1)
  else survey.chatSizes.set(work, (survey.chatSizes.get(work) ?? 0) + 1)
}

const scoresOf = (row: Row): ReadonlyArray<readonly [model: string, score: number]> => {
  const scores = row.scores ?? { strong: row.strong ?? null, weak: row.weak ?? null }
  return Object.entries(scores).flatMap(([model, score]) => (score === null ? [] : [[model, score] as const]))
}

/** Models this close to the best of a set are strong; weak are those below, but not so far that they know nothing. */
const strongFrom = 0.93
const weakBelow = 0.88
const weakFrom = 0.4
/** Where even the best model mostly fails, or few rows were graded, scores say more about the grading. */
const bestAtLeast = 0.5
const rowsAtLeast = 50

export interface Grouping {
  readonly strong: ReadonlySet<string>
  readonly weak: ReadonlySet<string>
  /** The best of the weak: a router between two models has one. */
  readonly bestWeak: string
  /** Mean of what the strong gain. */
  readonly gain: number
  readonly rows: number
  /** Two models that were chosen to be told apart are what routing is between, whatever their gain. */
  readonly weight: number
}

/** The sets that difficulty is learned from. */
export const groupingsOf = ({ models }: Survey): ReadonlyMap<string, Grouping> => {
  const groupings = new Map<string, Grouping>()
  for (const [set, tallies] of models) {
    const rows = Math.max(...[...tallies.values()].map(({ count }) => count))
    const means = [...tallies]
      .filter(([, { count }]) => count > 0.8 * rows)
      .map(([m, t]) => [m, t.sum / t.count] as const)
    const best = Math.max(...means.map(([, mean]) => mean))
    const strong = means.filter(([, mean]) => mean >= strongFrom * best)
    const weak = means.filter(([, mean]) => mean < weakBelow * best && mean >= weakFrom * best)
    const [bestWeak] = weak.toSorted(([, a], [, b]) => b - a)
    if (rows < rowsAtLeast || best < bestAtLeast || bestWeak === undefined) continue
    const gain = meanOf(strong) - meanOf(weak)
    groupings.set(set, {
      strong: new Set(strong.map(([model]) => model)),
      weak: new Set(weak.map(([model]) => model)),
      bestWeak: bestWeak[0],
      gain,
      rows,
      weight: (tallies.size === 2 ? pairWeight : (gain / gainOfOne) ** 1.5) / Math.sqrt(rows)
    })
  }
  return groupings
}

/** Where groups differ little, single prompts say little. A set with this gain weighs 1. */
const gainOfOne = 0.25
const pairWeight = 4

const meanOf = (means: ReadonlyArray<readonly [string, number]>): number =>
  means.reduce((total, [, mean]) => total + mean, 0) / means.length

/** How the strong and the weak models did on this row, on average; `undefined` when none of either was scored. */
export const scoredBy = (
  row: Row,
  { strong, weak }: Pick<Grouping, "strong" | "weak">
): { readonly strong: number; readonly weak: number } | undefined => {
  const scores = scoresOf(row)
  const mean = (group: ReadonlySet<string>): number => {
    const own = scores.filter(([model]) => group.has(model))
    return own.reduce((total, [, score]) => total + score, 0) / own.length
  }
  const means = { strong: mean(strong), weak: mean(weak) }
  return Number.isNaN(means.strong + means.weak) ? undefined : means
}
