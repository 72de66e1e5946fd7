/**
 * Evaluates routing among several models whose answers were graded and priced. Profiles are estimated on one half of
 * the rows, from how well each model did where an axis was demanded. Quality over cost is measured on the other half.
 */
import { axes, perAxis, type Profile } from "../../src/catalog/Model.ts"
import type { Demand } from "../../src/routing/Demand.ts"
import { shortfall } from "../../src/routing/Ranking.ts"
import { mean, type PricedPrompt, qualityOverCost } from "./Metrics.ts"

/** One prompt: its predicted demand, and the score and cost of each model. */
export interface PoolRow {
  readonly levels: Demand["levels"]
  readonly models: ReadonlyMap<string, { readonly score: number; readonly cost: number }>
}

/** Average improvement in quality (AIQ) of three routers. */
export interface PoolQuality {
  /** Knows the mean score of each model, but not the prompt. */
  readonly withoutPrompt: number
  readonly router: number
  readonly oracle: number
}

/**
 * A prompt counts for an axis by that level's share of the prompt's highest level, to this power. So it counts mostly
 * for the axis that it demands most, whether it is difficult or easy.
 */
const focus = 8

export const poolQualityOf = (rows: ReadonlyArray<PoolRow>): PoolQuality => {
  const names = [...(rows[0]?.models.keys() ?? [])]
  const [known, tested] = [rows.filter((_, at) => at % 2 === 0), rows.filter((_, at) => at % 2 === 1)]
  const scoreOf = (row: PoolRow, name: string): number => row.models.get(name)?.score ?? 0
  const profiles = new Map(names.map((name) => [name, profileOf(known, (row) => scoreOf(row, name))]))
  const means = new Map(names.map((name) => [name, mean(known.map((row) => scoreOf(row, name)))]))
  const quality = (distance: (row: PoolRow, name: string) => number): number =>
    qualityOverCost(
      tested.map((row): PricedPrompt => ({
        models: names.map((name) => ({
          distance: distance(row, name),
          score: scoreOf(row, name),
          cost: row.models.get(name)?.cost ?? 0
        }))
      }))
    )
  return {
    withoutPrompt: quality((_, name) => 1 - (means.get(name) ?? 0)),
    router: quality((row, name) => shortfall(row.levels)(profiles.get(name) ?? row.levels)),
    oracle: quality((row, name) => 1 - scoreOf(row, name))
  }
}

const profileOf = (rows: ReadonlyArray<PoolRow>, score: (row: PoolRow) => number): Profile => {
  const highest = rows.map(({ levels }) => Math.max(...axes.map((axis) => levels[axis])))
  const skill = (axis: keyof Profile): number => {
    const weights = rows.map(({ levels }, at) => (levels[axis] / (highest[at] || 1)) ** focus)
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    return total === 0 ? 0 : rows.reduce((sum, row, at) => sum + (weights[at] ?? 0) * score(row), 0) / total
  }
  return perAxis(skill)
}

/** The models of a row; `undefined` unless every one of them was both graded and priced. */
export const poolModelsOf = (row: {
  readonly scores?: { readonly [model: string]: number | null } | undefined
  readonly cost?: { readonly [model: string]: number | null } | undefined
}): PoolRow["models"] | undefined => {
  const { cost, scores } = row
  if (cost === undefined || scores === undefined) return undefined
  const models = Object.entries(scores).map(([name, score]) => [name, { score, cost: cost[name] ?? null }] as const)
  const complete = models.flatMap(([name, { cost: price, score }]) =>
    score === null || price === null ? [] : [[name, { score, cost: price }] as const]
  )
  return complete.length === models.length ? new Map(complete) : undefined
}
