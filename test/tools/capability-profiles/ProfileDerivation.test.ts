/** Derives profiles from made-up figures. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { type Axis, axes } from "../../../src/catalog/Model.ts"
import {
  axisBenchmarks,
  type CalibrationCurve,
  calibrationCurves,
  levelAt,
  reasoningGain
} from "../../../tools/capability-profiles/AxisBenchmarks.ts"
import { profileFieldsOf } from "../../../tools/capability-profiles/CatalogProfile.ts"
import {
  type Figures,
  figuresOf,
  type SourceName,
  sourceNames,
  sources
} from "../../../tools/capability-profiles/Figures.ts"
import shipped from "../../../tools/capability-profiles/models.json" with { type: "json" }
import {
  deriveProfiles,
  faultsOf,
  type ProfiledModels,
  tiers
} from "../../../tools/capability-profiles/ProfileDerivation.ts"

/** Rows in which every column of a source has the same figure. */
const figuresWith = (rows: { readonly [S in SourceName]?: { readonly [row: string]: number } }): Figures => {
  const all = Object.values(axisBenchmarks).flat()
  const rowsOf = (source: string) => {
    const columns = all.filter((benchmark) => benchmark.source === source).flatMap((benchmark) => benchmark.columns)
    const figures = Object.entries(rows[source as SourceName] ?? {})
    return new Map(figures.map(([row, figure]) => [row, new Map(columns.map((column) => [column, figure]))]))
  }
  // The type of `fromEntries` loses the keys, which are exactly the names of the sources.
  return Object.fromEntries(sourceNames.map((source) => [source, rowsOf(source)])) as unknown as Figures
}

const figures = figuresWith({
  LiveBench: { weak: 40, strong: 80 },
  LMArena: { weak: 1_270, strong: 1_450 },
  Vectara: { faithful: 95 }
})

const derived = (models: ProfiledModels, model: string) => {
  assert.deepStrictEqual(faultsOf(models, figures), [])
  const profiles = deriveProfiles(models, figures).get(model)
  if (profiles === undefined) throw new Error(`${model} was not derived`)
  return profiles
}

const twoTiers: ProfiledModels = { a: { rows: { none: { LiveBench: "weak" }, high: { LiveBench: "strong" } } } }

describe("a calibration curve", () => {
  const curves: ReadonlyArray<CalibrationCurve> = [...calibrationCurves.values()]

  it.prop(
    "never gives a higher figure a lower level, and stays between 0 and 1",
    { figure: Schema.Finite.check(Schema.isBetween({ minimum: -10, maximum: 2_000 })) },
    ({ figure }) => {
      for (const curve of curves) {
        const [level, above] = [levelAt(curve, figure), levelAt(curve, figure + 1)]
        assert.isTrue(level >= 0 && level <= above && above <= 1)
      }
    }
  )

  it("passes through its points, is linear between them and constant beyond them", () => {
    const curve: CalibrationCurve = [
      [10, 0.2],
      [20, 0.4]
    ]
    assert.strictEqual(levelAt(curve, 20), 0.4)
    assert.strictEqual(levelAt(curve, 15).toFixed(3), "0.300")
    assert.strictEqual(levelAt(curve, 9), 0.2)
    assert.strictEqual(levelAt(curve, 99), 0.4)
  })
})

describe("a derived profile", () => {
  it("does not change when another model is added or removed", () => {
    const alone = derived(twoTiers, "a")
    const other: ProfiledModels = { b: { rows: { high: { LMArena: "strong" } } }, ...twoTiers, c: { relative: "a" } }
    assert.deepStrictEqual(derived(other, "a"), alone)
  })

  it("is measured exactly where its sources have figures of enough weight", () => {
    const { high } = derived(twoTiers, "a")
    assert.deepStrictEqual(high.math.sources, ["LiveBench"])
    assert.isUndefined(high.multilingual.sources)
    const faithful: ProfiledModels = { a: { rows: { high: { Vectara: "faithful", LMArena: "weak" } } } }
    assert.isUndefined(derived(faithful, "a").high.extraction.sources)
    assert.deepStrictEqual(derived(faithful, "a").high.reading.sources, ["LMArena", "Vectara"])
  })

  it("estimates a tier between two measured ones, and another tier by the median gain of reasoning", () => {
    const { high, low, none } = derived(twoTiers, "a")
    assert.isTrue(none.math.level < low.math.level && low.math.level < high.math.level)
    const oneTier = derived({ a: { rows: { none: { LiveBench: "weak" } } } }, "a")
    assert.closeTo(oneTier.high.math.level - oneTier.none.math.level, reasoningGain.math, 1e-9)
  })

  it("takes the difference between tiers from a relative", () => {
    const models: ProfiledModels = { ...twoTiers, b: { rows: { high: { LiveBench: "strong" } }, relative: "a" } }
    const [a, b] = [derived(models, "a"), derived(models, "b")]
    assert.closeTo(b.none.math.level, a.none.math.level, 1e-9)
    assert.strictEqual(b.none.math.from, "a")
  })

  it("is that of its relative if it has no figures at all", () => {
    const models: ProfiledModels = { ...twoTiers, b: { relative: "a" } }
    const [a, b] = [derived(models, "a"), derived(models, "b")]
    for (const tier of tiers) {
      for (const axis of axes) assert.deepStrictEqual(b[tier][axis], { level: a[tier][axis].level, from: "a" })
    }
  })

  it("averages tiers that were measured in the wrong order", () => {
    const { high, none } = derived({ a: { rows: { none: { LiveBench: "strong" }, high: { LiveBench: "weak" } } } }, "a")
    for (const axis of axes) assert.closeTo(none[axis].level, high[axis].level, 1e-9, axis)
  })

  it("states where each of its levels comes from", () => {
    const { profile_estimates, profile_sources, profiles } = profileFieldsOf(derived(twoTiers, "a"), ["low", "high"])
    const open: ReadonlyArray<Axis> = ["knowledge", "multilingual"]
    assert.deepStrictEqual(profile_sources, [{ name: "LiveBench", date: sources.LiveBench.date, tiers: ["high"] }])
    assert.deepStrictEqual(profile_estimates, [{ tiers: ["low"] }, { tiers: ["high"], axes: open }])
    assert.deepStrictEqual(Object.keys(profiles), ["low", "high"])
  })
})

describe("the models", () => {
  it("are refused with a missing row, a missing relative, a circular relative, or no figures", () => {
    const models: ProfiledModels = {
      a: { rows: { none: { LiveBench: "missing" } } },
      b: { relative: "nobody" },
      c: { relative: "d" },
      d: { relative: "c" }
    }
    assert.deepStrictEqual(faultsOf(models, figures), [
      "a: LiveBench has no row missing",
      "b: no model is called nobody",
      "b: no figures",
      "c: no figures",
      "c: is its own relative",
      "d: no figures",
      "d: is its own relative"
    ])
  })

  it("name only sources and relatives that exist", () => {
    const models: ProfiledModels = shipped
    for (const [model, { relative, rows = {} }] of Object.entries(models)) {
      const named = Object.values(rows).flatMap((row) => Object.keys(row))
      assert.includeMembers<string>([...sourceNames], named, model)
      assert.isTrue(relative === undefined || models[relative]?.rows !== undefined, model)
    }
  })
})

describe("files of figures", () => {
  const read = (source: SourceName, text: string) =>
    Array.from(figuresOf(sources[source], text), ([row, columns]) => [row, Object.fromEntries(columns)])

  it("are read in the wide and the long format, in percent, without values that are not numbers", () => {
    assert.deepStrictEqual(read("BFCL", "Rank,Overall Acc,Model,Cost\n1,77.5%,A (FC),N/A\n"), [
      ["A (FC)", { Rank: 1, "Overall Acc": 77.5 }]
    ])
    assert.deepStrictEqual(read("llm-stats", "model,benchmark,score\nA,gpqa,0.5\nA,gpqa,0.7\n"), [["A", { gpqa: 60 }]])
    assert.deepStrictEqual(
      read("models.dev", "model,name,score,metric,version,harness\no/A,Bench,7,rate,2.1,Kit\no/A,Index,9,index,,\n"),
      [["o/A", { "Bench 2.1, rate, Kit": 7, Index: 9 }]]
    )
    assert.deepStrictEqual(read("Aider", "- dirname: x\n  model: A (high)\n  pass_rate_1: 3\n  pass_rate_2: 8.5\n"), [
      ["A (high)", { pass_rate_2: 8.5 }]
    ])
  })
})
