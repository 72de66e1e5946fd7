/**
 * Orders the eligible models: the smallest shortfall first, and what is equally good by cost. Pure and total; the order
 * of the catalog does not matter, and a model that is not eligible changes nothing for the others.
 */
import { type Axis, axes, type Model, type Profile, servesTier } from "../catalog/Model.ts"
import { costOf } from "../catalog/Price.ts"
import type { ModelId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { Tier } from "../domain/Reasoning.ts"
import { audioTokens } from "../domain/TokenCount.ts"
import { none } from "../domain/Usage.ts"
import type { Demand, DemandModel } from "./Demand.ts"
import { exclusionOf, requirementsOf } from "./Eligibility.ts"
import type { Ask, Candidate, Exclusion, Ranking } from "./Router.ts"

/** Distances this close are the same: predictions and profiles are not better than that. */
export const bandWidth = 0.04

/**
 * The fixed preference for requests with images or audio, whose content is not looked at: models of this mean skill are
 * good enough, so among them the cheaper goes first; below it the better goes first.
 */
const multimodalLevel = 0.7

/** Visible output tokens that conversations of a kind ask for. */
const visibleTokens = {
  coding: 900,
  math: 600,
  reasoning: 500,
  knowledge: 400,
  creative: 900,
  instruction: 400,
  extraction: 250,
  reading: 250,
  language: 300,
  multilingual: 350,
  agentic: 300
} as const satisfies Record<Axis, number>

const visibleTokensUnseen = 400

/** Thinking tokens of a request of full difficulty; an easy one takes a quarter. */
const thinkingTokens = { none: 0, low: 1_000, high: 6_000 } as const satisfies Record<Tier, number>

/** What one request's candidates are scored with. */
interface Score {
  readonly distance: (profile: Profile) => number
  readonly visible: number
  readonly difficulty: number
}

export const rank = (models: ReadonlyArray<Model>, ask: Ask, demandModel: DemandModel): Ranking => {
  const needs = requirementsOf(ask)
  const multimodal = needs.image || needs.audio
  const eligible: Array<Model> = []
  const excluded: Array<{ model: ModelId; because: Exclusion; candidate: Model }> = []
  for (const model of models) {
    const because = exclusionOf(model, needs)
    if (because === undefined) eligible.push(model)
    else excluded.push({ model: model.id, because, candidate: model })
  }
  // Whoever sends an image or audio wants it understood above all: if no model that takes it thinks, one that does not
  // think answers. The other way round the wish stands, since thinking that was switched off must not be billed.
  const mayYield = multimodal && eligible.length === 0 && needs.tier !== "none"
  const yielding = mayYield ? excluded.filter(({ because }) => because === "reasoning_tier") : []
  const demand = multimodal ? undefined : demandModel.predict(ask.request)
  const candidates = [...eligible, ...yielding.map(({ candidate }) => candidate)]
  return {
    candidates: ordered(scored(candidates, ask, needs.tier, demand)),
    excluded: excluded
      .filter((entry) => !yielding.includes(entry))
      .map(({ because, model }) => ({ model, because }))
      .sort((a, b) => compareText(a.model, b.model)),
    demand: demand?.levels ?? {},
    difficulty: demand?.difficulty ?? 0
  }
}

type Unbanded = Omit<Candidate, "band">

const scored = (
  models: ReadonlyArray<Model>,
  ask: Ask,
  tier: Tier | undefined,
  demand: Demand | undefined
): ReadonlyArray<Unbanded> => {
  const promptTokens = Math.ceil(ask.promptTokens)
  const audioInput = Math.min(audioTokens(ask.request), promptTokens)
  const prompt = { ...none, input: promptTokens - audioInput, audioInput }
  const score = demand === undefined ? multimodalScore : scoreOf(demand)
  return models.map((model) => {
    const inForce = tierInForce(model, tier)
    const output = expectedOutput(model, inForce, score, ask.request.maxOutputTokens)
    return {
      model,
      distance: score.distance(profileOf(model, inForce)),
      cost: costOf(model.endpoints[0].price, { ...prompt, output })
    }
  })
}

/** The tier of the request; when that is open, or the model cannot serve it, the cheapest tier the model serves. */
const tierInForce = (model: Model, tier: Tier | undefined): Tier =>
  tier !== undefined && servesTier(model, tier) ? tier : servesTier(model, "none") ? "none" : "low"

const unskilled = Object.fromEntries(axes.map((axis) => [axis, 0])) as { readonly [A in Axis]: number }

/** The catalog gives every served tier a profile; a model without one counts as the worst. */
const profileOf = (model: Model, tier: Tier): Profile => model.profiles[tier] ?? unskilled

/** Only shortfall counts, axis by axis, and an axis weighs what is asked of it. */
export const shortfall = (levels: Demand["levels"], profile: Profile): number => {
  const asked = axes.reduce((total, axis) => total + levels[axis], 0)
  if (asked <= 0) return 0
  const squares = axes.reduce(
    (total, axis) => total + (levels[axis] / asked) * Math.max(0, levels[axis] - profile[axis]) ** 2,
    0
  )
  return Math.sqrt(squares)
}

const scoreOf = ({ difficulty, levels }: Demand): Score => {
  const asked = axes.reduce((total, axis) => total + levels[axis], 0)
  const visible = axes.reduce((total, axis) => total + levels[axis] * visibleTokens[axis], 0)
  return {
    distance: (profile) => shortfall(levels, profile),
    visible: asked <= 0 ? visibleTokensUnseen : visible / asked,
    difficulty
  }
}

const multimodalScore: Score = {
  distance: (profile) =>
    Math.max(0, multimodalLevel - axes.reduce((total, axis) => total + profile[axis], 0) / axes.length),
  visible: visibleTokensUnseen,
  difficulty: 0.5
}

const expectedOutput = (model: Model, tier: Tier, score: Score, limit: number | undefined): number => {
  const thinking = thinkingTokens[tier] * (0.25 + 0.75 * score.difficulty)
  const expected = Math.ceil(score.visible * model.verbosity + thinking)
  return Math.min(expected, limit ?? expected, model.endpoints[0].maxOutputTokens)
}

/**
 * Bands from the best: everything within `bandWidth` of a band's first is in it, the rest starts the next band. Inside
 * a band the cheaper goes first, then the id.
 */
const ordered = (candidates: ReadonlyArray<Unbanded>): ReadonlyArray<Candidate> => {
  const byDistance = candidates.toSorted((a, b) => a.distance - b.distance || compareText(a.model.id, b.model.id))
  let band = -1
  let bandStart = -Infinity
  const banded = byDistance.map((candidate): Candidate => {
    if (candidate.distance - bandStart > bandWidth) {
      band++
      bandStart = candidate.distance
    }
    return { ...candidate, band }
  })
  return banded.sort((a, b) => a.band - b.band || compareMoney(a.cost, b.cost) || compareText(a.model.id, b.model.id))
}

const compareMoney = (a: Picodollars, b: Picodollars): number => (a < b ? -1 : a > b ? 1 : 0)

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
