/**
 * Which published benchmarks measure which axis, and which level of capability, from 0 to 1, their figures stand for.
 *
 * All of it is fixed data: no level depends on which models are in the catalog, so adding or removing one changes no
 * other. `README.md` explains how the data was chosen.
 */
import { Schema } from "effect"

import { type Axis, axes, perAxis } from "../../src/catalog/Model.ts"
import benchmarksFile from "./axis-benchmarks.json" with { type: "json" }
import curvesFile from "./calibration-curves.json" with { type: "json" }
import { type SourceName, sourceNames } from "./Figures.ts"

/** Figures and their levels, both ascending. The level is linear between two points and constant beyond the ends. */
export type CalibrationCurve = ReadonlyArray<readonly [figure: number, level: number]>

/** A benchmark that counts towards an axis. */
export interface AxisBenchmark {
  readonly source: SourceName
  /** The columns of the source whose mean is the figure. */
  readonly columns: ReadonlyArray<string>
  readonly curve: CalibrationCurve
  /** The weight of its level in the mean of the axis. */
  readonly weight: number
  /** The share of the level that counts for a model that did not reason; 1 for most benchmarks. */
  readonly withoutReasoning: number
}

const Level = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

const Curve = Schema.NonEmptyArray(Schema.Tuple([Schema.Finite, Level])).check(
  Schema.makeFilter(
    (curve) =>
      curve.every(([figure, level], index) => {
        const [previousFigure, previousLevel] = curve[index - 1] ?? [-Infinity, 0]
        return figure > previousFigure && level >= previousLevel
      }),
    { expected: "points with ascending figures and levels" }
  )
)

/** The calibration curves by name. Figures are percentages, except for the ratings of LMArena. */
export const calibrationCurves: ReadonlyMap<string, CalibrationCurve> = new Map(
  Object.entries(Schema.decodeUnknownSync(Schema.Record(Schema.String, Curve))(curvesFile))
)

const AxisEntry = Schema.Struct({
  benchmarks: Schema.Array(
    Schema.Struct({
      source: Schema.Literals(sourceNames),
      columns: Schema.NonEmptyArray(Schema.NonEmptyString),
      curve: Schema.Literals([...calibrationCurves.keys()]),
      /** Added to every figure of the curve: the same models are rated higher in one category than in another. */
      offset: Schema.optionalKey(Schema.Finite),
      weight: Schema.Finite,
      withoutReasoning: Schema.optionalKey(Level)
    })
  ),
  similar: Schema.Array(Schema.Literals(axes)),
  reasoningGain: Level
})

const entries = Schema.decodeUnknownSync(Schema.Struct(perAxis(() => AxisEntry)), { onExcessProperty: "error" })(
  benchmarksFile
)

export const axisBenchmarks: { readonly [A in Axis]: ReadonlyArray<AxisBenchmark> } = perAxis((axis) =>
  entries[axis].benchmarks.map(({ columns, curve, offset = 0, source, weight, withoutReasoning = 1 }) => ({
    source,
    columns,
    curve: (calibrationCurves.get(curve) ?? []).map(([figure, level]) => [figure + offset, level] as const),
    weight,
    withoutReasoning
  }))
)

/** The axes whose levels usually rise together with this one. An axis without figures is estimated from them. */
export const similarAxes: { readonly [A in Axis]: ReadonlyArray<Axis> } = perAxis((axis) => entries[axis].similar)

/** How much the level at tier `high` is above that at `none`: the median over the models that were measured at both. */
export const reasoningGain: { readonly [A in Axis]: number } = perAxis((axis) => entries[axis].reasoningGain)

/**
 * The share of the reasoning gain that tier `low` has: about the median over the models measured at all three tiers.
 */
export const lowTierShare = 0.55

/** An axis counts as measured from this total weight of benchmarks on: a single weak one is not enough. */
export const measuredWeight = 1

/** The level that a figure stands for. */
export const levelAt = (curve: CalibrationCurve, figure: number): number => {
  const next = curve.findIndex(([at]) => at >= figure)
  const [above, below] = [curve[next], curve[next - 1]]
  if (above === undefined) return curve.at(-1)?.[1] ?? 0
  if (below === undefined) return above[1]
  return below[1] + ((figure - below[0]) / (above[0] - below[0])) * (above[1] - below[1])
}
