/**
 * Which published figures feed which axis of capability. Nothing else does: an axis that no figure here reaches is
 * estimated, by the rules of `Derivation.ts`, and the catalog says so. The reasons are in `README.md` beside this file.
 */
import type { Axis } from "../../src/catalog/Model.ts"
import { benchmarks, livebench, type Points, votes } from "./Points.ts"

/** The day or the month that the figures were published, or last grew. */
export const sourceDates = {
  LiveBench: "2026-07",
  LMArena: "2025-12-17",
  BFCL: "2026-04",
  "models.dev": "2026-07",
  "llm-stats": "2025-10",
  Aider: "2025-10",
  "SWE-bench": "2025-12",
  Vectara: "2026-03-10",
  LLMRouterBench: "2026-01"
} as const
export type SourceName = keyof typeof sourceDates

/** Figures that stand for one skill: the mean of `columns` is one figure, and counts by `weight` on its axis. */
export interface Gauge {
  readonly source: SourceName
  readonly columns: ReadonlyArray<string>
  readonly weight: number
  readonly points: Points
  /** The share of the level that counts where the model did not think: voters hardly notice thinking. Default: 1. */
  readonly withoutThinking?: number
}

/** An axis is measured when the gauges that have a figure weigh this much together: one weak figure is not enough. */
export const weightMeasured = 1

const gauge = (source: SourceName, weight: number, columns: ReadonlyArray<string>, points: Points): Gauge => ({
  source,
  columns,
  weight,
  points
})

const rating = (category: string, offset: number, weight: number, withoutThinking = 1): Gauge => ({
  source: "LMArena",
  columns: [category],
  weight,
  points: Object.fromEntries(Object.entries(votes).map(([at, level]) => [Number(at) + offset, level])),
  withoutThinking
})

const codingTasks = ["code_generation", "code_completion"]
const agenticTasks = ["javascript", "typescript", "python"]
const mathTasks = ["AMPS_Hard", "integrals_with_game", "math_comp", "olympiad"]
const reasoningTasks = ["theory_of_mind", "zebra_puzzle", "spatial", "logic_with_navigation"]
const instructionTasks = ["paraphrase", "simplify", "story_generation", "summarize"]
const dataTasks = ["consecutive_events", "tablejoin", "tablereformat"]
const languageTasks = ["connections", "plot_unscrambling", "typos"]

export const gauges: { readonly [A in Axis]: ReadonlyArray<Gauge> } = {
  coding: [
    gauge("LiveBench", 2, codingTasks, livebench.coding),
    gauge("LiveBench", 1, agenticTasks, livebench.agentic),
    rating("coding", 20, 1),
    gauge("Aider", 1, ["pass_rate_2"], benchmarks.aiderPolyglot),
    gauge("models.dev", 1, ["Artificial Analysis Coding Index"], benchmarks.codingIndex),
    gauge("LLMRouterBench", 0.5, ["LiveCodeBench"], benchmarks.liveCode)
  ],
  math: [
    gauge("LiveBench", 2, mathTasks, livebench.math),
    rating("math", -20, 1, 0.72),
    gauge("llm-stats", 1, ["aime-2025"], benchmarks.aime2025)
  ],
  reasoning: [
    gauge("LiveBench", 2, reasoningTasks, livebench.reasoning),
    rating("hard_6", -8, 1, 0.65),
    gauge("llm-stats", 0.5, ["gpqa"], benchmarks.gpqa)
  ],
  knowledge: [
    rating("industry_life_and_physical_and_social_science", 7, 0.5),
    rating("industry_legal_and_government", -3, 0.5),
    rating("industry_medicine_and_healthcare", 11, 0.5),
    rating("expert", 4, 0.5),
    gauge("llm-stats", 0.5, ["gpqa"], benchmarks.gpqa),
    gauge("llm-stats", 0.5, ["mmlu-pro"], benchmarks.mmluPro),
    gauge("llm-stats", 0.5, ["simpleqa"], benchmarks.simpleQa),
    gauge("LLMRouterBench", 0.5, ["MMLU-Pro"], benchmarks.mmluPro),
    gauge("LLMRouterBench", 0.5, ["SimpleQA"], benchmarks.simpleQa)
  ],
  creative: [
    gauge("LiveBench", 1, ["plot_unscrambling"], livebench.plots),
    gauge("LiveBench", 0.5, ["story_generation"], livebench.stories),
    rating("creative_writing", -32, 2, 0.9)
  ],
  instruction: [gauge("LiveBench", 2, instructionTasks, livebench.instruction), rating("if", -18, 1, 0.55)],
  extraction: [
    gauge("LiveBench", 2, dataTasks, livebench.data),
    gauge("Vectara", 0.3, ["factual_consistency"], benchmarks.faithfulness)
  ],
  reading: [
    gauge("LiveBench", 1, ["theory_of_mind"], livebench.minds),
    gauge("LiveBench", 0.5, ["plot_unscrambling"], livebench.plots),
    gauge("LiveBench", 0.5, ["summarize"], livebench.summaries),
    rating("long_user", -8, 1, 0.75),
    gauge("Vectara", 0.3, ["factual_consistency"], benchmarks.faithfulness)
  ],
  language: [
    gauge("LiveBench", 2, languageTasks, livebench.language),
    rating("industry_writing_and_literature_and_language", -24, 1)
  ],
  multilingual: [
    rating("chinese", 23, 0.5),
    rating("french", 19, 0.5),
    rating("german", -12, 0.5),
    rating("japanese", -42, 0.5),
    rating("korean", -57, 0.5),
    rating("russian", -17, 0.5),
    rating("spanish", 6, 0.5),
    gauge("llm-stats", 1, ["mmmlu"], benchmarks.mmmlu)
  ],
  agentic: [
    gauge("LiveBench", 1.5, agenticTasks, livebench.agentic),
    gauge("BFCL", 1.5, ["Overall Acc"], benchmarks.functionCalling),
    gauge("SWE-bench", 1, ["resolved_pct"], benchmarks.bashOnly),
    gauge("models.dev", 1, ["SWE-Bench Verified, resolved"], benchmarks.sweVerified),
    gauge("llm-stats", 1, ["swe-bench-verified"], benchmarks.sweVerified),
    gauge("models.dev", 1, ["SWE-Bench Pro, resolve rate"], benchmarks.swePro),
    gauge("models.dev", 1, ["Terminal-Bench 2.1, success rate, Terminus-2"], benchmarks.terminal),
    gauge("models.dev", 0.5, ["Terminal-Bench Hard, success rate"], benchmarks.terminalHard),
    gauge("llm-stats", 0.5, ["tau-bench-retail"], benchmarks.retail),
    gauge("LLMRouterBench", 0.5, ["Tau2"], benchmarks.tau2)
  ]
}

/** Axes that rise together: what an axis without figures is read from. */
export const kin: { readonly [A in Axis]: ReadonlyArray<Axis> } = {
  coding: ["agentic", "reasoning"],
  math: ["reasoning", "coding"],
  reasoning: ["math", "coding", "knowledge"],
  knowledge: ["reasoning", "language"],
  creative: ["language", "instruction"],
  instruction: ["creative", "language", "reading"],
  extraction: ["reading", "instruction"],
  reading: ["language", "extraction"],
  language: ["creative", "reading", "knowledge"],
  multilingual: ["language", "knowledge"],
  agentic: ["coding"]
}

/** What thinking hard adds to an axis over not thinking: the median of the models that were measured at both. */
export const gain: { readonly [A in Axis]: number } = {
  coding: 0.04,
  math: 0.25,
  reasoning: 0.3,
  knowledge: 0.02,
  creative: 0.12,
  instruction: 0.32,
  extraction: 0.19,
  reading: 0.18,
  language: 0.06,
  multilingual: 0,
  agentic: 0.02
}

/** A model that thinks a little has this share of what it gains by thinking hard: about the median again. */
export const shareOfLow = 0.55
