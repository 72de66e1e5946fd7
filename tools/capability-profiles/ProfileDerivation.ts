/**
 * Derives capability profiles from published figures. A level is measured where there are figures, and otherwise
 * estimated by fixed rules; every level records which of the two it is.
 *
 * Pure: the same models and figures give the same profiles. `README.md` states the rules.
 */
import { type Axis, axes, perAxis } from "../../src/catalog/Model.ts"
import type { ReasoningTier } from "../../src/domain/Reasoning.ts"
import {
  type AxisBenchmark,
  axisBenchmarks,
  levelAt,
  lowTierShare,
  measuredWeight,
  reasoningGain,
  similarAxes
} from "./AxisBenchmarks.ts"
import { type Figures, meanFigure, type SourceName } from "./Figures.ts"

export const tiers = ["none", "low", "high"] as const satisfies ReadonlyArray<ReasoningTier>

/** The names of the rows, by source, that a model has at one tier. */
export type SourceRows = { readonly [S in SourceName]?: string }

/** A model of the catalog, or a relative of one. */
export interface ProfiledModel {
  readonly rows?: { readonly [T in ReasoningTier]?: SourceRows }
  /** The most similar model, which levels without figures are taken from. */
  readonly relative?: string
}
export type ProfiledModels = { readonly [model: string]: ProfiledModel }

/**
 * One level of a profile, measured (`sources`), or estimated, with the relative that it is estimated from if there is
 * one.
 */
export interface DerivedLevel {
  readonly level: number
  readonly sources?: ReadonlyArray<SourceName>
  readonly from?: string
}
export type DerivedProfiles = { readonly [T in ReasoningTier]: { readonly [A in Axis]: DerivedLevel } }

/** Levels by tier and axis, of which some are missing. */
type PartialProfiles = { [T in ReasoningTier]: { [A in Axis]?: DerivedLevel } }

/**
 * What is wrong with the models: rows that a source does not have, missing relatives, circular relatives, no figures.
 */
export const faultsOf = (models: ProfiledModels, figures: Figures): ReadonlyArray<string> =>
  Object.entries(models).flatMap(([model, { relative, rows = {} }]) => {
    const missing = Object.values(rows).flatMap((row) =>
      // The type of `entries` loses the keys, which are names of sources.
      Object.entries(row).filter(([source, name]) => !figures[source as SourceName].has(name))
    )
    return [
      ...missing.map(([source, name]) => `${model}: ${source} has no row ${name}`),
      ...(relative !== undefined && models[relative] === undefined ? [`${model}: no model is called ${relative}`] : []),
      ...([model, relative].some((name) => name !== undefined && models[name]?.rows) ? [] : [`${model}: no figures`]),
      ...(relativesOf(models, model).includes(model, 1) ? [`${model}: is its own relative`] : [])
    ]
  })

/** The model, its relative, the relative of that, and so on. A circle ends with the first model that repeats. */
const relativesOf = (models: ProfiledModels, model: string): ReadonlyArray<string> => {
  const chain: Array<string> = []
  for (let next: string | undefined = model; next !== undefined; next = models[next]?.relative) {
    if (chain.includes(next)) return [...chain, next]
    chain.push(next)
  }
  return chain
}

/** The profiles of every model. Only valid when `faultsOf` finds nothing. */
export const deriveProfiles = (models: ProfiledModels, figures: Figures): ReadonlyMap<string, DerivedProfiles> => {
  const derived = new Map<string, DerivedProfiles>()
  for (const model of Object.keys(models)) {
    // From the far end of the chain, so that a relative is derived before the models that need it.
    for (const next of relativesOf(models, model).toReversed()) {
      if (derived.has(next)) continue
      const { relative: name, rows = {} } = models[next] ?? {}
      const profiles = name === undefined ? undefined : derived.get(name)
      const relative = name === undefined || profiles === undefined ? undefined : { name, profiles }
      derived.set(next, complete(measuredLevels(rows, figures), relative))
    }
  }
  return derived
}

const perTier = <A>(of: (tier: ReasoningTier) => A): { [T in ReasoningTier]: A } => ({
  none: of("none"),
  low: of("low"),
  high: of("high")
})

const measuredLevels = (rows: NonNullable<ProfiledModel["rows"]>, figures: Figures): PartialProfiles =>
  perTier((tier) => {
    const levels: PartialProfiles[ReasoningTier] = {}
    for (const axis of axes) {
      const found = axisBenchmarks[axis].flatMap((benchmark) => {
        const name = rows[tier]?.[benchmark.source]
        const row = name === undefined ? undefined : figures[benchmark.source].get(name)
        const level = benchmarkLevel(benchmark, tier, row)
        return level === undefined ? [] : [{ ...benchmark, level }]
      })
      const total = found.reduce((sum, { weight }) => sum + weight, 0)
      if (total < measuredWeight) continue
      const level = found.reduce((sum, { level, weight }) => sum + weight * level, 0) / total
      levels[axis] = { level, sources: [...new Set(found.map(({ source }) => source))] }
    }
    return levels
  })

/** The level by one benchmark; `undefined` unless the row has all of its columns. */
const benchmarkLevel = (
  { columns, curve, withoutReasoning }: AxisBenchmark,
  tier: ReasoningTier,
  row: ReadonlyMap<string, number> | undefined
): number | undefined => {
  const found = columns.flatMap((column) => row?.get(column) ?? [])
  if (found.length < columns.length) return undefined
  return levelAt(curve, meanFigure(found)) * (tier === "none" ? withoutReasoning : 1)
}

interface Relative {
  readonly name: string
  readonly profiles: DerivedProfiles
}

/** Estimates what was not measured, and then makes the tiers ascend. */
const complete = (measured: PartialProfiles, relative: Relative | undefined): DerivedProfiles => {
  const withOtherTiers = perTier((tier) => {
    const levels = { ...measured[tier] }
    for (const axis of axes) {
      const level = levels[axis] ?? fromOtherTiers(measured, axis, tier, relative)
      if (level !== undefined) levels[axis] = level
    }
    return levels
  })
  return ascending(
    perTier((tier) =>
      perAxis((axis) => withOtherTiers[tier][axis] ?? fromSimilarAxes(withOtherTiers[tier], axis, tier, relative))
    )
  )
}

/** The tiers that a missing tier is estimated from, in order of preference. */
const nearestTiers = { none: ["low", "high"], low: ["high", "none"], high: ["low", "none"] } as const
/** The share of the reasoning gain that each tier has. */
const gainShares = { none: 0, low: lowTierShare, high: 1 } as const satisfies Record<ReasoningTier, number>

/** Estimates a level from the other tiers of the model, moved by the difference between the tiers in its relative. */
const fromOtherTiers = (
  measured: PartialProfiles,
  axis: Axis,
  tier: ReasoningTier,
  relative: Relative | undefined
): DerivedLevel | undefined => {
  const { high, none } = measured
  if (tier === "low" && none[axis] && high[axis]) {
    return { level: none[axis].level + lowTierShare * (high[axis].level - none[axis].level) }
  }
  const other = nearestTiers[tier].find((near) => measured[near][axis] !== undefined)
  const known = other === undefined ? undefined : measured[other][axis]
  if (other === undefined || known === undefined) return undefined
  const [here, there] = [relative?.profiles[tier][axis], relative?.profiles[other][axis]]
  if (relative && here && there && isBasedOnFigures(here) && isBasedOnFigures(there)) {
    return { level: clamp(known.level + here.level - there.level), from: relative.name }
  }
  return { level: clamp(known.level + reasoningGain[axis] * (gainShares[tier] - gainShares[other])) }
}

/** Measured, or taken from a relative; not estimated by the median gain or from similar axes alone. */
const isBasedOnFigures = ({ from, sources }: DerivedLevel): boolean => sources !== undefined || from !== undefined

/** Estimates an axis without a figure at any tier: halfway between the model's similar axes and its relative. */
const fromSimilarAxes = (
  own: PartialProfiles[ReasoningTier],
  axis: Axis,
  tier: ReasoningTier,
  relative: Relative | undefined
): DerivedLevel => {
  const similar = similarAxes[axis].flatMap((other) => own[other] ?? [])
  const levels = (similar.length > 0 || relative ? similar : Object.values(own)).map(({ level }) => level)
  if (relative === undefined) return { level: meanFigure(levels) }
  const { level } = relative.profiles[tier][axis]
  return { level: levels.length > 0 ? meanFigure([meanFigure(levels), level]) : level, from: relative.name }
}

/** A higher tier is never rated lower: where figures contradict that, the difference is noise and is averaged out. */
const ascending = (profiles: DerivedProfiles): DerivedProfiles => {
  const levelsByAxis = perAxis((axis) => isotonic(tiers.map((tier) => profiles[tier][axis].level)))
  return perTier((tier) =>
    perAxis((axis) => ({
      ...profiles[tier][axis],
      level: clamp(levelsByAxis[axis][tiers.indexOf(tier)] ?? 0)
    }))
  )
}

/** Isotonic regression by pooling adjacent violators: the nearest ascending sequence. */
const isotonic = (levels: ReadonlyArray<number>): ReadonlyArray<number> => {
  const pools: Array<ReadonlyArray<number>> = []
  for (const level of levels) {
    let pool: ReadonlyArray<number> = [level]
    for (let last = pools.at(-1); last !== undefined && meanFigure(last) > meanFigure(pool); last = pools.at(-1)) {
      pool = [...last, ...pool]
      pools.pop()
    }
    pools.push(pool)
  }
  return pools.flatMap((pool) => pool.map(() => meanFigure(pool)))
}

const clamp = (level: number): number => Math.min(1, Math.max(0.02, level))
