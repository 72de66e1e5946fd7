/** How profiles come from figures, on made-up ones. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { type Axis, axes } from "../../../src/catalog/Model.ts"
import { derive, faultsOf, type Subjects, tiers } from "../../../tools/capability-profiles/Derivation.ts"
import { type Figures, figuresOf, formats } from "../../../tools/capability-profiles/Figures.ts"
import { benchmarks, levelOf, livebench, type Points, votes } from "../../../tools/capability-profiles/Points.ts"
import { fieldsOf } from "../../../tools/capability-profiles/Provenance.ts"
import { gain, gauges, type SourceName, sourceDates } from "../../../tools/capability-profiles/Scale.ts"
import shipped from "../../../tools/capability-profiles/subjects.json" with { type: "json" }

/** Rows in which every column of a source has the same figure. */
const figuresWith = (rows: { readonly [S in SourceName]?: { readonly [row: string]: number } }): Figures => {
  const all = Object.values(gauges).flat()
  const rowsOf = (source: string) => {
    const columns = all.filter((gauge) => gauge.source === source).flatMap((gauge) => gauge.columns)
    const figures = Object.entries(rows[source as SourceName] ?? {})
    return new Map(figures.map(([row, figure]) => [row, new Map(columns.map((column) => [column, figure]))]))
  }
  // `fromEntries` forgets its keys; they are exactly the sources.
  return Object.fromEntries(Object.keys(sourceDates).map((source) => [source, rowsOf(source)])) as unknown as Figures
}

const figures = figuresWith({
  LiveBench: { weak: 40, strong: 80 },
  LMArena: { weak: 1_270, strong: 1_450 },
  Vectara: { faithful: 95 }
})

const derived = (subjects: Subjects, model: string) => {
  assert.deepStrictEqual(faultsOf(subjects, figures), [])
  const cells = derive(subjects, figures).get(model)
  if (cells === undefined) throw new Error(`${model} was not derived`)
  return cells
}

const twoTiers: Subjects = { a: { rows: { none: { LiveBench: "weak" }, high: { LiveBench: "strong" } } } }

describe("a reference point", () => {
  const tables: ReadonlyArray<Points> = [votes, ...Object.values(livebench), ...Object.values(benchmarks)]

  it.prop(
    "never rates a higher figure lower, and stays within 0 and 1",
    { figure: Schema.Finite.check(Schema.isBetween({ minimum: -10, maximum: 2_000 })) },
    ({ figure }) => {
      for (const points of tables) {
        const [level, above] = [levelOf(points, figure), levelOf(points, figure + 1)]
        assert.isTrue(level >= 0 && level <= above && above <= 1)
      }
    }
  )

  it("is met exactly, and between two points the level is linear", () => {
    assert.strictEqual(levelOf({ 10: 0.2, 20: 0.4 }, 20), 0.4)
    assert.strictEqual(levelOf({ 10: 0.2, 20: 0.4 }, 15).toFixed(3), "0.300")
    assert.strictEqual(levelOf({ 10: 0.2, 20: 0.4 }, 9), 0.2)
    assert.strictEqual(levelOf({ 10: 0.2, 20: 0.4 }, 99), 0.4)
  })
})

describe("a derived profile", () => {
  it("does not move when another model comes or goes", () => {
    const alone = derived(twoTiers, "a")
    const other: Subjects = { b: { rows: { high: { LMArena: "strong" } } }, ...twoTiers, c: { after: "a" } }
    assert.deepStrictEqual(derived(other, "a"), alone)
  })

  it("is measured where its sources have figures that weigh enough, and only there", () => {
    const { high } = derived(twoTiers, "a")
    assert.deepStrictEqual(high.math.sources, ["LiveBench"])
    assert.isUndefined(high.multilingual.sources)
    const faithful: Subjects = { a: { rows: { high: { Vectara: "faithful", LMArena: "weak" } } } }
    assert.isUndefined(derived(faithful, "a").high.extraction.sources)
    assert.deepStrictEqual(derived(faithful, "a").high.reading.sources, ["LMArena", "Vectara"])
  })

  it("takes a tier between two measured ones in between, and one beside it by what thinking usually adds", () => {
    const { high, low, none } = derived(twoTiers, "a")
    assert.isTrue(none.math.level < low.math.level && low.math.level < high.math.level)
    const oneTier = derived({ a: { rows: { none: { LiveBench: "weak" } } } }, "a")
    assert.closeTo(oneTier.high.math.level - oneTier.none.math.level, gain.math, 1e-9)
  })

  it("takes from a relative with the same figures what thinking changes there", () => {
    const subjects: Subjects = { ...twoTiers, b: { rows: { high: { LiveBench: "strong" } }, after: "a" } }
    const [a, b] = [derived(subjects, "a"), derived(subjects, "b")]
    assert.closeTo(b.none.math.level, a.none.math.level, 1e-9)
    assert.strictEqual(b.none.math.from, "a")
  })

  it("is its relative's where it has no figures at all", () => {
    const subjects: Subjects = { ...twoTiers, b: { after: "a" } }
    const [a, b] = [derived(subjects, "a"), derived(subjects, "b")]
    for (const tier of tiers) {
      for (const axis of axes) assert.deepStrictEqual(b[tier][axis], { level: a[tier][axis].level, from: "a" })
    }
  })

  it("pools tiers that were measured in the wrong order", () => {
    const { high, none } = derived({ a: { rows: { none: { LiveBench: "strong" }, high: { LiveBench: "weak" } } } }, "a")
    for (const axis of axes) assert.closeTo(none[axis].level, high[axis].level, 1e-9, axis)
  })

  it("says where each of its levels is from", () => {
    const { profile_estimates, profile_sources, profiles } = fieldsOf(derived(twoTiers, "a"), ["low", "high"])
    const open: ReadonlyArray<Axis> = ["knowledge", "multilingual"]
    assert.deepStrictEqual(profile_sources, [{ name: "LiveBench", date: sourceDates.LiveBench, tiers: ["high"] }])
    assert.deepStrictEqual(profile_estimates, [{ tiers: ["low"] }, { tiers: ["high"], axes: open }])
    assert.deepStrictEqual(Object.keys(profiles), ["low", "high"])
  })
})

describe("subjects", () => {
  it("are refused with a row that no source has, a relative that is not there, and no figures anywhere", () => {
    const subjects: Subjects = {
      a: { rows: { none: { LiveBench: "missing" } } },
      b: { after: "nobody" },
      c: { after: "d" },
      d: { after: "c" }
    }
    assert.deepStrictEqual(faultsOf(subjects, figures), [
      "a: LiveBench has no row missing",
      "b: no subject is called nobody",
      "b: no figures",
      "c: no figures",
      "c: is its own relative",
      "d: no figures",
      "d: is its own relative"
    ])
  })

  it("name only sources and relatives that exist", () => {
    const subjects: Subjects = shipped
    for (const [model, { after, rows = {} }] of Object.entries(subjects)) {
      const named = Object.values(rows).flatMap((row) => Object.keys(row))
      assert.includeMembers(Object.keys(sourceDates), named, model)
      assert.isTrue(after === undefined || subjects[after]?.rows !== undefined, model)
    }
  })
})

describe("files of figures", () => {
  const read = (source: SourceName, text: string) =>
    Array.from(figuresOf(formats[source], text), ([row, columns]) => [row, Object.fromEntries(columns)])

  it("are read whether a line is a model or a figure, in percent, without what is no number", () => {
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
