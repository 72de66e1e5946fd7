/**
 * How good the router is, measured on rows that its weights have not seen: every fold of the data is predicted by
 * weights that were trained on the other folds.
 */
import { Clock, Effect, Stream } from "effect"

import { type Axis, axes, type Model, perAxis, type Profile } from "../../src/catalog/Model.ts"
import { textRequest } from "../../src/domain/Conversation.ts"
import { estimatePromptTokens } from "../../src/domain/TokenCount.ts"
import type { Demand, DemandModel } from "../../src/routing/Demand.ts"
import { rankModels, shortfall } from "../../src/routing/Ranking.ts"
import { chatKind } from "./ChatKinds.ts"
import { type Dice, dice } from "./Dice.ts"
import { chatKindOf } from "./Labels.ts"
import { areaUnderCurve, type Outcome, quantile } from "./Measures.ts"
import { emptySurvey, type Grouping, groupingsOf, note, scoredBy } from "./Outcomes.ts"
import { optionsAnew, typos, wrapped } from "./Perturb.ts"
import { type PricedModel, pricedModelsOf } from "./Pool.ts"
import { type Row, rowsOf, setOf } from "./Rows.ts"
import { heldOutWrappers } from "./Wrappers.ts"

/** Two models to tell apart, as profiles: a strong one of its day and an open one of the class below. */
const flat = (skill: number, peaks: { readonly [A in Axis]?: number }): Profile =>
  perAxis((axis) => peaks[axis] ?? skill)
const strong = flat(0.5, { math: 0.45, reasoning: 0.45, agentic: 0.42 })
const weak = flat(0.35, { coding: 0.25, math: 0.18, reasoning: 0.25, agentic: 0.2 })

/** What routing between the two is decided by. */
const gainExpected = (levels: Demand["levels"]): number => {
  const distance = shortfall(levels)
  return distance(weak) - distance(strong)
}

/** What models are known to differ most at in chat, and least. */
const kindsThatGain = ["math", "coding", "reasoning", "fermi", "extraction"]
const kindsThatGainLittle = ["creative", "writing", "roleplay", "knowledge", "smalltalk"]

/** One row of chat as it was predicted. */
export interface ChatFinding {
  readonly kind: string
  readonly grade: number | undefined
  readonly score: number
  /** Whether its own axis was the highest of all; `undefined` when its kind has none. */
  readonly right: boolean | undefined
}

/** Share of pairs in which what gains more has the higher score. */
export const orderOf = (rows: ReadonlyArray<ChatFinding>): { readonly kinds: number; readonly grades: number } => {
  const scores = (which: (row: ChatFinding) => boolean) => rows.filter(which).map(({ score }) => score)
  return {
    kinds: areaUnderCurve(
      scores(({ kind }) => kindsThatGain.includes(kind)),
      scores(({ kind }) => kindsThatGainLittle.includes(kind))
    ),
    grades: areaUnderCurve(
      scores(({ grade }) => (grade ?? 3) > 3),
      scores(({ grade }) => (grade ?? 3) < 3)
    )
  }
}

export interface Findings {
  readonly outcomes: Map<string, Array<Outcome>>
  /** The same with the best of the weak models in place of their mean, as a router between two models has it. */
  readonly outcomesOfOneWeak: Map<string, Array<Outcome>>
  /** Rows of chat per set. */
  readonly chat: Map<string, Array<ChatFinding>>
  /** Rows that say what every model's answer was worth and cost. */
  readonly priced: Array<PricedModel>
  /** Some prompts of every set, to try the shipped catalog on. */
  readonly prompts: Array<{ readonly set: string; readonly prompt: string }>
}

/** A set gives at most so many prompts to measure stability on. */
const promptsPerSet = 60

/** Adds what the rows of one fold show. */
export const measure = Effect.fnUntraced(function* (findings: Findings, { demand, directories, inFold }: Trial) {
  const rows = rowsOf(directories)
  const survey = emptySurvey()
  yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach((row) => note(survey, row))))
  const groupings = groupingsOf(survey)
  const taken = new Map<string, number>()
  const one = (row: Row): void => {
    if (!inFold(row)) return
    const { levels } = demand.predict(textRequest(row.prompt))
    const score = gainExpected(levels)
    const grouping = groupings.get(setOf(row))
    const compare = (into: Findings["outcomes"], pair: Pick<Grouping, "strong" | "weak">): void => {
      const scores = scoredBy(row, pair)
      if (scores === undefined) return
      const outcomes = into.get(setOf(row)) ?? []
      outcomes.push({ ...scores, score })
      into.set(setOf(row), outcomes)
    }
    if (grouping !== undefined) {
      compare(findings.outcomes, grouping)
      compare(findings.outcomesOfOneWeak, { ...grouping, weak: new Set([grouping.bestWeak]) })
    }
    const models = pricedModelsOf(row)
    if (models !== undefined) findings.priced.push({ models, levels })
    const kind = chatKindOf(row)
    if (kind !== undefined) {
      const { axis } = chatKind(kind)
      const right = axis && axes.every((other) => levels[other] <= levels[axis])
      const rows = findings.chat.get(setOf(row)) ?? []
      rows.push({ kind, grade: row.grade, right, score })
      findings.chat.set(setOf(row), rows)
    }
    const count = taken.get(setOf(row)) ?? 0
    taken.set(setOf(row), count + 1)
    if (count < promptsPerSet) findings.prompts.push({ set: setOf(row), prompt: row.prompt })
  }
  yield* Stream.runForEachArray(rows, (chunk) => Effect.sync(() => chunk.forEach(one)))
})

export interface Trial {
  readonly demand: DemandModel
  readonly directories: ReadonlyArray<string>
  readonly inFold: (row: Row) => boolean
}

export const perturbations: Readonly<Record<string, (text: string, dice: Dice) => string>> = {
  "typing errors (3% of letters)": (text, random) => typos(text, 0.03, random),
  "another wrapper, translated or not": (text, random) => wrapped(text, heldOutWrappers, random),
  "options set out another way": optionsAnew,
  "all of them": (text, random) => optionsAnew(wrapped(typos(text, 0.02, random), heldOutWrappers, random), random)
}

export interface Steadiness {
  /** Share of prompts that keep their model, per perturbation, among those that it changes. */
  readonly kept: ReadonlyMap<string, number>
  /** Share of prompts per chosen model. */
  readonly mix: ReadonlyMap<string, number>
}

/** The first choice among `models` for each prompt, and whether it stays under perturbation. */
export const steadinessOf = (
  models: ReadonlyArray<Model>,
  demand: DemandModel,
  prompts: ReadonlyArray<string>
): Steadiness => {
  const choice = (prompt: string): string => {
    const request = { ...textRequest(prompt), reasoning: { effort: "high", exclude: false } } as const
    const ask = { request, promptTokens: estimatePromptTokens(request), allowed: undefined }
    return rankModels(models, ask, demand).candidates[0]?.model.id ?? ""
  }
  const chosen = prompts.map((prompt) => [prompt, choice(prompt)] as const)
  const mix = new Map<string, number>()
  for (const [, model] of chosen) mix.set(model, (mix.get(model) ?? 0) + 1 / chosen.length)
  const kept = Object.entries(perturbations).map(([name, perturb]) => {
    const random = dice(name.length)
    const tried = chosen.map(([prompt, model]) => [perturb(prompt, random), prompt, model] as const)
    const changed = tried.filter(([typed, prompt]) => typed !== prompt)
    return [name, changed.filter(([typed, , model]) => choice(typed) === model).length / changed.length] as const
  })
  return { kept: new Map(kept), mix }
}

export interface Latency {
  readonly characters: number
  readonly p50Millis: number
  readonly p99Millis: number
}

/** How long a whole decision takes on texts of a length, after `warmUp` others. */
export const latencyOf = (models: ReadonlyArray<Model>, demand: DemandModel, prompts: ReadonlyArray<string>) =>
  Effect.map(Clock.Clock, (clock) => (characters: number): Latency => {
    const long = prompts.join("\n\n")
    const times: Array<number> = []
    for (let index = 0; index < warmUp + decisions; index++) {
      const from = (index * 997) % Math.max(1, long.length - characters)
      const request = textRequest(long.slice(from, from + characters))
      const ask = { request, promptTokens: estimatePromptTokens(request), allowed: undefined }
      const startedAt = clock.monotonicTimeNanosUnsafe()
      rankModels(models, ask, demand)
      if (index >= warmUp) times.push(Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e6)
    }
    return { characters, p50Millis: quantile(times, 0.5), p99Millis: quantile(times, 0.99) }
  })

const warmUp = 500
const decisions = 4_000
