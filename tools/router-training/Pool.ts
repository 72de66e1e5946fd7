/**
 * Routing among several models whose answers were graded and priced. How good a model is at an axis is estimated on
 * half of the rows, by how it did where that axis was asked; quality over cost is measured on the other half.
 */
import { axes, perAxis, type Profile } from "../../src/catalog/Model.ts"
import type { Demand } from "../../src/routing/Demand.ts"
import { shortfall } from "../../src/routing/Ranking.ts"
import { mean, type Offers, qualityOverCost } from "./Measures.ts"

export interface PricedModel {
  readonly levels: Demand["levels"]
  readonly models: ReadonlyMap<string, { readonly score: number; readonly cost: number }>
}

/** Average improvement in quality of three routers, over the prices from the cheapest policy to the dearest model. */
export interface PoolQuality {
  /** Knows how good each model is on average, and nothing of the prompt. */
  readonly blind: number
  readonly router: number
  readonly oracle: number
}

/**
 * Levels count to this power of their share of the highest in what they say about a model, so that the axis that is
 * asked most says most, in hard prompts and easy ones alike.
 */
const focus = 8

export const poolQualityOf = (rows: ReadonlyArray<PricedModel>): PoolQuality => {
  const names = [...(rows[0]?.models.keys() ?? [])]
  const [known, tested] = [rows.filter((_, at) => at % 2 === 0), rows.filter((_, at) => at % 2 === 1)]
  const scoreOf = (row: PricedModel, name: string): number => row.models.get(name)?.score ?? 0
  const profiles = new Map(names.map((name) => [name, profileOf(known, (row) => scoreOf(row, name))]))
  const means = new Map(names.map((name) => [name, mean(known.map((row) => scoreOf(row, name)))]))
  const quality = (distance: (row: PricedModel, name: string) => number): number =>
    qualityOverCost(
      tested.map((row): Offers => ({
        models: names.map((name) => ({
          distance: distance(row, name),
          score: scoreOf(row, name),
          cost: row.models.get(name)?.cost ?? 0
        }))
      }))
    )
  return {
    blind: quality((_, name) => 1 - (means.get(name) ?? 0)),
    router: quality((row, name) => shortfall(row.levels)(profiles.get(name) ?? row.levels)),
    oracle: quality((row, name) => 1 - scoreOf(row, name))
  }
}

const profileOf = (rows: ReadonlyArray<PricedModel>, score: (row: PricedModel) => number): Profile => {
  const highest = rows.map(({ levels }) => Math.max(...axes.map((axis) => levels[axis])))
  const skill = (axis: keyof Profile): number => {
    const weights = rows.map(({ levels }, at) => (levels[axis] / (highest[at] || 1)) ** focus)
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    return total === 0 ? 0 : rows.reduce((sum, row, at) => sum + (weights[at] ?? 0) * score(row), 0) / total
  }
  return perAxis(skill)
}

/** The row's models that were both graded and priced; `undefined` unless all were. */
export const pricedModelsOf = (row: {
  readonly scores?: { readonly [model: string]: number | null } | undefined
  readonly cost?: { readonly [model: string]: number | null } | undefined
}): PricedModel["models"] | undefined => {
  const { cost, scores } = row
  if (cost === undefined || scores === undefined) return undefined
  const models = Object.entries(scores).map(([name, score]) => [name, { score, cost: cost[name] ?? null }] as const)
  const complete = models.flatMap(([name, { cost: price, score }]) =>
    score === null || price === null ? [] : [[name, { score, cost: price }] as const]
  )
  return complete.length === models.length ? new Map(complete) : undefined
}
