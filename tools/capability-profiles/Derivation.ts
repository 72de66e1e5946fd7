/**
 * Derives capability profiles from published figures: measured where there are figures, estimated by fixed rules where
 * there are none, and every level knows which of the two it is.
 *
 * Pure: the same figures and subjects give the same profiles. The rules are in `README.md` beside this file.
 */
import { type Axis, axes } from "../../src/catalog/Model.ts"
import type { ReasoningTier } from "../../src/domain/Reasoning.ts"
import { type Figures, meanFigure } from "./Figures.ts"
import { levelOf } from "./Points.ts"
import { gain, type Gauge, gauges, kin, shareOfLow, type SourceName, weightMeasured } from "./Scale.ts"

export const tiers = ["none", "low", "high"] as const satisfies ReadonlyArray<ReasoningTier>

/** What a source calls a model at a tier. */
export type SubjectRows = { readonly [S in SourceName]?: string }

/** A model, in the catalog or a relative of one that is. */
export interface ProfileSubject {
  readonly rows?: { readonly [T in ReasoningTier]?: SubjectRows }
  /** The nearest relative: a subject that lends what this one has no figures for. */
  readonly after?: string
}
export type Subjects = { readonly [model: string]: ProfileSubject }

/** One level, and where it is from: sources, or else the relative it was carried over from, if it was. */
export interface Cell {
  readonly level: number
  readonly sources?: ReadonlyArray<SourceName>
  readonly from?: string
}
export type Cells = { readonly [T in ReasoningTier]: { readonly [A in Axis]: Cell } }

type Measured = { [T in ReasoningTier]: { [A in Axis]?: Cell } }

/** What is wrong with the subjects: rows that a source does not have, relatives that lead nowhere. */
export const faultsOf = (subjects: Subjects, figures: Figures): ReadonlyArray<string> =>
  Object.entries(subjects).flatMap(([model, { after, rows = {} }]) => {
    const missing = Object.values(rows).flatMap((row) =>
      // `entries` forgets that the keys of rows are sources.
      Object.entries(row).filter(([source, name]) => !figures[source as SourceName].has(name))
    )
    return [
      ...missing.map(([source, name]) => `${model}: ${source} has no row ${name}`),
      ...(after !== undefined && subjects[after] === undefined ? [`${model}: no subject is called ${after}`] : []),
      ...([model, after].some((name) => name !== undefined && subjects[name]?.rows) ? [] : [`${model}: no figures`]),
      ...(lineOf(subjects, model).includes(model, 1) ? [`${model}: is its own relative`] : [])
    ]
  })

/** The model, its relative, the relative of that, and so on; cut where it would repeat. */
const lineOf = (subjects: Subjects, model: string): ReadonlyArray<string> => {
  const line: Array<string> = []
  for (let next: string | undefined = model; next !== undefined; next = subjects[next]?.after) {
    if (line.includes(next)) return [...line, next]
    line.push(next)
  }
  return line
}

/** The profiles of every subject, if `faultsOf` finds nothing. */
export const derive = (subjects: Subjects, figures: Figures): ReadonlyMap<string, Cells> => {
  const done = new Map<string, Cells>()
  for (const model of Object.keys(subjects)) {
    // From the far end, so that a relative is done before it is asked.
    for (const next of lineOf(subjects, model).toReversed()) {
      const { after, rows = {} } = subjects[next] ?? {}
      if (done.has(next)) continue
      const cells = after === undefined ? undefined : done.get(after)
      const relative = after === undefined || cells === undefined ? undefined : { name: after, cells }
      done.set(next, complete(measured(rows, figures), relative))
    }
  }
  return done
}

const each = <A>(of: (tier: ReasoningTier) => A): { [T in ReasoningTier]: A } => ({
  none: of("none"),
  low: of("low"),
  high: of("high")
})

const measured = (rows: NonNullable<ProfileSubject["rows"]>, figures: Figures): Measured =>
  each((tier) => {
    const cells: Measured[ReasoningTier] = {}
    for (const axis of axes) {
      const readings = gauges[axis].flatMap((gauge) => {
        const name = rows[tier]?.[gauge.source]
        const level = readingOf(gauge, tier, name === undefined ? undefined : figures[gauge.source].get(name))
        return level === undefined ? [] : [{ ...gauge, level }]
      })
      const weight = readings.reduce((sum, reading) => sum + reading.weight, 0)
      if (weight < weightMeasured) continue
      const level = readings.reduce((sum, reading) => sum + reading.weight * reading.level, 0) / weight
      cells[axis] = { level, sources: [...new Set(readings.map(({ source }) => source))] }
    }
    return cells
  })

/** The level of a gauge, if the row has all of its columns. */
const readingOf = (
  { columns, points, withoutThinking = 1 }: Gauge,
  tier: ReasoningTier,
  row: ReadonlyMap<string, number> | undefined
): number | undefined => {
  const found = columns.flatMap((column) => row?.get(column) ?? [])
  if (found.length < columns.length) return undefined
  return levelOf(points, meanFigure(found)) * (tier === "none" ? withoutThinking : 1)
}

interface Relative {
  readonly name: string
  readonly cells: Cells
}

/** Fills what was not measured, then puts the tiers in order. */
const complete = (found: Measured, relative: Relative | undefined): Cells => {
  const moved = each((tier) => {
    const cells = { ...found[tier] }
    for (const axis of axes) {
      const cell = cells[axis] ?? fromOtherTiers(found, axis, tier, relative)
      if (cell !== undefined) cells[axis] = cell
    }
    return cells
  })
  const filled = each((tier) => {
    const full = axes.map((axis) => [axis, moved[tier][axis] ?? estimated(moved[tier], axis, tier, relative)])
    // `fromEntries` forgets its keys; they are exactly the axes.
    return Object.fromEntries(full) as Cells[ReasoningTier]
  })
  return ordered(filled)
}

const nearest = { none: ["low", "high"], low: ["high", "none"], high: ["low", "none"] } as const
const shares = { none: 0, low: shareOfLow, high: 1 } as const satisfies Record<ReasoningTier, number>

/** From what the model does on this axis at its other tiers, and from what thinking changes in the relative. */
const fromOtherTiers = (
  found: Measured,
  axis: Axis,
  tier: ReasoningTier,
  relative: Relative | undefined
): Cell | undefined => {
  const { high, none } = found
  if (tier === "low" && none[axis] && high[axis]) {
    return { level: none[axis].level + shareOfLow * (high[axis].level - none[axis].level) }
  }
  const other = nearest[tier].find((near) => found[near][axis] !== undefined)
  const cell = other === undefined ? undefined : found[other][axis]
  if (other === undefined || cell === undefined) return undefined
  const [here, there] = [relative?.cells[tier][axis], relative?.cells[other][axis]]
  if (relative && here && there && isFounded(here) && isFounded(there)) {
    return { level: clamp(cell.level + here.level - there.level), from: relative.name }
  }
  return { level: clamp(cell.level + gain[axis] * (shares[tier] - shares[other])) }
}

/** Measured, or carried over from what was; not by a rule of thumb. */
const isFounded = ({ from, sources }: Cell): boolean => sources !== undefined || from !== undefined

/** An axis without a figure at any tier: the middle between what its kin say and what the relative has. */
const estimated = (
  own: Measured[ReasoningTier],
  axis: Axis,
  tier: ReasoningTier,
  relative: Relative | undefined
): Cell => {
  const near = kin[axis].flatMap((other) => own[other] ?? [])
  const said = (near.length > 0 || relative ? near : Object.values(own)).map(({ level }) => level)
  if (relative === undefined) return { level: meanFigure(said) }
  const lent = relative.cells[tier][axis]
  return { level: said.length > 0 ? meanFigure([meanFigure(said), lent.level]) : lent.level, from: relative.name }
}

/** More thinking is never rated worse: tiers in the wrong order differ by noise, and each gets their mean. */
const ordered = (cells: Cells): Cells => {
  const result = each((tier) => ({ ...cells[tier] }))
  for (const axis of axes) {
    const levels = pooled(tiers.map((tier) => cells[tier][axis].level))
    for (const [index, tier] of tiers.entries()) {
      result[tier][axis] = { ...cells[tier][axis], level: clamp(levels[index] ?? 0) }
    }
  }
  return result
}

/** The nearest ascending levels, by pooling neighbours that descend. */
const pooled = (levels: ReadonlyArray<number>): ReadonlyArray<number> => {
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
