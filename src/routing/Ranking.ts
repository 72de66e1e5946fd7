/**
 * Orders the eligible models: the smallest shortfall first, and what is equally good by cost. Pure and total; the order
 * of the catalog does not matter, and a model that is not eligible changes nothing for the others.
 */
import { type Axis, axes, type Model, perAxis, type Profile } from "../catalog/Model.ts"
import { costOf } from "../catalog/Price.ts"
import type { ModelId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"
import { none } from "../domain/Usage.ts"
import { calibrated } from "./CalibratedDemand.ts"
import type { Demand, DemandModel } from "./Demand.ts"
import { exclusionOf, tierInForce, tierMayYield, type Exclusion } from "./Eligibility.ts"
import { type RequestFeatures, featuresOf } from "./RequestFeatures.ts"
import type { RoutingRequest } from "./RoutingRequest.ts"

/** Distances this close are the same: predictions and profiles are not better than that. */
export const bandWidth = 0.03

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
const thinkingTokens = { none: 0, low: 1_000, high: 6_000 } as const satisfies Record<ReasoningTier, number>

/** What one request's candidates are scored with. */
interface Score {
  readonly distance: (profile: Profile) => number
  readonly visible: number
  readonly difficulty: number
}

export const rankModels = (models: ReadonlyArray<Model>, ask: RoutingRequest, demandModel: DemandModel): Ranking =>
  rankFeatures(models, featuresOf(ask, demandModel), ask.allowed)

/** The same from what is known of a request, whether it is here or long answered. */
export const rankFeatures = (
  models: ReadonlyArray<Model>,
  features: RequestFeatures,
  allowed: RoutingRequest["allowed"]
): Ranking => {
  const { needs } = features
  const eligible: Array<Model> = []
  const excluded: Array<{ model: ModelId; because: Exclusion; candidate: Model }> = []
  for (const model of models) {
    const because = exclusionOf(model, needs, allowed)
    if (because === undefined) eligible.push(model)
    else excluded.push({ model: model.id, because, candidate: model })
  }
  const mayYield = eligible.length === 0 && tierMayYield(models, needs)
  const yielding = mayYield ? excluded.filter(({ because }) => because === "reasoning_tier") : []
  const candidates = [...eligible, ...yielding.map(({ candidate }) => candidate)]
  return {
    candidates: ordered(scored(candidates, features)),
    excluded: excluded
      .filter((entry) => !yielding.includes(entry))
      .map(({ because, model }) => ({ model, because }))
      .sort((a, b) => compareText(a.model, b.model)),
    features
  }
}

/** `firmDistance` is what bands go by: the distance from the rounded demand. */
type Unbanded = Omit<Candidate, "band"> & { readonly firmDistance: number }

const scored = (models: ReadonlyArray<Model>, { demand, needs }: RequestFeatures): ReadonlyArray<Unbanded> => {
  const promptTokens = Math.ceil(needs.promptTokens)
  const audioInput = Math.min(needs.audioTokens, promptTokens)
  const prompt = { ...none, input: promptTokens - audioInput, audioInput }
  const score = demand === undefined ? multimodalScore : scoreOf(calibrated(demand))
  const distance = demand === undefined ? score.distance : shortfall(demand.levels)
  return models.map((model) => {
    const inForce = tierInForce(model, needs.tier)
    const output = expectedOutput(model, inForce, score, needs.outputLimit)
    const profile = profileOf(model, inForce)
    return {
      model,
      firmDistance: score.distance(profile),
      distance: distance(profile),
      cost: costOf(model.endpoints[0].price, { ...prompt, output })
    }
  })
}

const [unskilled, skilled]: readonly [Profile, Profile] = [perAxis(() => 0), perAxis(() => 1)]

/** The catalog gives every served tier a profile; a model without one counts as the worst. */
export const profileOf = (model: Model, tier: ReasoningTier): Profile => model.profiles[tier] ?? unskilled

/**
 * How far below the levels asked a profile is expected to be, beyond what one of all skills is; an axis weighs what is
 * asked of it. Levels and profiles are estimates: a profile above a level makes a miss less likely, not impossible, so
 * models that are all good enough still differ, the less the smaller the uncertainty.
 */
export const shortfall = (
  levels: Demand["levels"],
  uncertainty: number = uncertainties.ofOnePrompt
): ((profile: Profile) => number) => {
  const asked = axes.reduce((total, axis) => total + levels[axis] ** 2, 0)
  if (asked <= 0) return () => 0
  const missing = (profile: Profile): number => {
    let squares = 0
    for (const axis of axes) {
      const level = levels[axis]
      squares += (level * expectedMiss(level - profile[axis], uncertainty)) ** 2
    }
    return Math.sqrt(squares / asked)
  }
  const least = missing(skilled)
  return (profile) => missing(profile) - least
}

/**
 * How far around a level it matters where exactly a profile is. What one prompt asks is hardly known, so its distances
 * compare models rather than call them good enough; with less, they depend on the scale of the profiles. A rounded
 * demand stands for many prompts, and what is well above it is to be in one band with the best.
 */
export const uncertainties = { ofOnePrompt: 0.8, ofManyPrompts: 0.28 } as const

/** What is missing when it is `gap` give or take the uncertainty: near 0 far below 0, near `gap` far above. */
const expectedMiss = (gap: number, uncertainty: number): number =>
  (gap + Math.sqrt(gap * gap + uncertainty * uncertainty)) / 2

const scoreOf = ({ difficulty, levels }: Demand): Score => {
  const asked = axes.reduce((total, axis) => total + levels[axis], 0)
  const visible = axes.reduce((total, axis) => total + levels[axis] * visibleTokens[axis], 0)
  return {
    distance: shortfall(levels, uncertainties.ofManyPrompts),
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

const expectedOutput = (model: Model, tier: ReasoningTier, score: Score, limit: number | undefined): number => {
  const thinking = thinkingTokens[tier] * (0.25 + 0.75 * score.difficulty)
  const expected = Math.ceil(score.visible * model.verbosity + thinking)
  return Math.min(expected, limit ?? expected, model.endpoints[0].maxOutputTokens)
}

/**
 * Bands from the best: everything within `bandWidth` of a band's first is in it, the rest starts the next band. Inside
 * a band the cheaper goes first, then the id.
 */
const ordered = (candidates: ReadonlyArray<Unbanded>): ReadonlyArray<Candidate> => {
  const byDistance = candidates.toSorted(
    (a, b) => a.firmDistance - b.firmDistance || compareText(a.model.id, b.model.id)
  )
  let band = -1
  let bandStart = -Infinity
  const banded = byDistance.map(({ firmDistance, ...candidate }): Candidate => {
    if (firmDistance - bandStart > bandWidth) {
      band++
      bandStart = firmDistance
    }
    return { ...candidate, band }
  })
  return banded.sort((a, b) => a.band - b.band || compareMoney(a.cost, b.cost) || compareText(a.model.id, b.model.id))
}

const compareMoney = (a: Picodollars, b: Picodollars): number => (a < b ? -1 : a > b ? 1 : 0)

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

export interface Candidate {
  readonly model: Model
  /**
   * How far the model is expected to fall short of the demand, 0 for one of all skills; being above what is asked
   * counts less, but it counts. Where no content is looked at, how far its mean skill is below a fixed one.
   */
  readonly distance: number
  /** Candidates of one band are equally good; within it the cheaper one goes first. */
  readonly band: number
  /** Expected cost of this request. */
  readonly cost: Picodollars
}

export interface Ranking {
  /** Best first. Empty when nothing is eligible. */
  readonly candidates: ReadonlyArray<Candidate>
  readonly excluded: ReadonlyArray<{ readonly model: ModelId; readonly because: Exclusion }>
  /** What the models were measured against. */
  readonly features: RequestFeatures
}
