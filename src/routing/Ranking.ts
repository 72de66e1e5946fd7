/**
 * Orders the eligible models: the smallest shortfall first, and among equally good models the cheapest. Pure and total.
 * The order of the catalog does not matter, and a model that is not eligible changes nothing for the others.
 */
import { type Axis, axes, type Model, perAxis, type Profile } from "../catalog/Model.ts"
import { costOf } from "../catalog/Price.ts"
import type { ModelId } from "../domain/Ids.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"
import { none } from "../domain/Usage.ts"
import { type Candidate, bandWidthAt, compareText, inBands, type Scored } from "./Bands.ts"
import { calibrated, type Demand, type DemandModel } from "./Demand.ts"
import {
  answersNatively,
  effectiveTier,
  endpointExclusionOf,
  type Exclusion,
  exclusionOf,
  standIns,
  thinkingDeviation
} from "./Eligibility.ts"
import { balanced, featuresOf, type RequestFeatures, type RoutingRequest } from "./RoutingRequest.ts"

export interface Ranking {
  /** Best first. Empty when no model is eligible. */
  readonly candidates: ReadonlyArray<Candidate>
  /** The models that are not candidates, by id. */
  readonly excluded: ReadonlyArray<{ readonly model: ModelId; readonly reason: Exclusion }>
  /** The features of the request that the models were compared by. */
  readonly features: RequestFeatures
}

export const rankModels = (
  models: ReadonlyArray<Model>,
  routingRequest: RoutingRequest,
  demandModel: DemandModel
): Ranking => {
  return rankFeatures(models, featuresOf(routingRequest, demandModel), routingRequest.allowed, routingRequest)
}

/** Ranks by features alone, for a request whose conversation is no longer at hand. */
export const rankFeatures = (
  models: ReadonlyArray<Model>,
  features: RequestFeatures,
  allowed: RoutingRequest["allowed"],
  { refuses = () => false, takesParameters = () => true }: Pick<RoutingRequest, "refuses" | "takesParameters"> = {}
): Ranking => {
  const { needs } = features
  const eligible: Array<Model> = []
  const excluded: Array<{ readonly model: Model; readonly reason: Exclusion }> = []
  for (const model of models) {
    const reason = exclusionOf(model, needs, allowed)
    if (reason !== undefined) excluded.push({ model, reason })
    else if (refuses(model)) excluded.push({ model, reason: "parameters" })
    else eligible.push(model)
  }
  const offTier = excluded.flatMap(({ model, reason }) =>
    reason === "reasoning_tier" && !refuses(model) ? [model] : []
  )
  const readmitted = eligible.length === 0 ? standIns(models, offTier, needs) : []
  const deviationsOf = (model: Model): number =>
    thinkingDeviation(model, needs) +
    (takesParameters(model) ? 0 : 1) +
    (model.endpoints.some((endpoint) => serves(endpoint, needs)) ? 0 : 1)
  return {
    candidates: inBands(
      scored([...eligible, ...readmitted], features, deviationsOf),
      bandWidthAt(features.costQuality)
    ),
    excluded: excluded
      .filter(({ model }) => !readmitted.includes(model))
      .map(({ model, reason }) => ({ model: model.id, reason }))
      .sort((a, b) => compareText(a.model, b.model)),
    features
  }
}

/** True for an endpoint that can serve the request, and guarantees by itself the JSON that it asks for. */
const serves = (endpoint: Model["endpoints"][0], needs: RequestFeatures["needs"]): boolean =>
  endpointExclusionOf(endpoint, needs) === undefined && answersNatively(endpoint, needs)

/** Visible output tokens that a request is expected to produce, by the axis it demands. */
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

/** The same when the demand is unknown, or zero on every axis. */
const defaultVisibleTokens = 400

/** Reasoning tokens of a request of difficulty 1. One of difficulty 0 takes a quarter of them. */
const reasoningTokens = { none: 0, low: 1_000, high: 6_000 } as const satisfies Record<ReasoningTier, number>

/**
 * Requests with images or audio have no predicted demand and are ranked by mean skill. Models at or above this level
 * count as equally good, so the cheapest of them comes first; below it the better one comes first.
 */
const multimodalLevel = 0.7

const scored = (
  models: ReadonlyArray<Model>,
  { costQuality, demand, needs }: RequestFeatures,
  deviationsOf: (model: Model) => number
): ReadonlyArray<Scored> => {
  const promptTokens = Math.ceil(needs.promptTokens)
  const audioInput = Math.min(needs.audioTokens, promptTokens)
  const prompt = { ...none, input: promptTokens - audioInput, audioInput }
  const scoring = demand === undefined ? multimodalScoring(costQuality) : scoringFor(calibrated(demand))
  const distance = demand === undefined ? scoring.distance : shortfall(demand.levels)
  return models.map((model) => {
    const tier = effectiveTier(model, needs.tier)
    const output = expectedOutput(model, tier, scoring, needs.outputLimit)
    const profile = profileOf(model, tier)
    return {
      model,
      deviations: deviationsOf(model),
      calibratedDistance: scoring.distance(profile),
      distance: distance(profile),
      cost: costOf(model.endpoints[0].price, { ...prompt, output })
    }
  })
}

const [worstProfile, bestProfile]: readonly [Profile, Profile] = [perAxis(() => 0), perAxis(() => 1)]

/** The catalog gives every served tier a profile. A model without one counts as the worst possible. */
export const profileOf = (model: Model, tier: ReasoningTier): Profile => model.profiles[tier] ?? worstProfile

/**
 * The uncertainty, in units of level, of the gap between a demanded level and a profile.
 *
 * `predicted`: the demand of a single prompt is uncertain, so its distances compare models rather than call them good
 * enough. With a smaller value they would depend on the scale of the profiles. `calibrated`: a calibrated demand stands
 * for many prompts, and models that are clearly above it must fall into one band with the best.
 */
export const uncertainties = { predicted: 0.8, calibrated: 0.28 } as const

/**
 * The distance from these levels: the root mean square over the axes of how far a profile is expected to be below the
 * level, weighted by the level, minus the same for a profile that is 1 everywhere. Levels and profiles are estimates:
 * a profile above a level makes a shortfall less likely, not impossible, so models that are all good enough still
 * differ, and differ less the smaller the uncertainty is.
 */
export const shortfall = (
  levels: Demand["levels"],
  uncertainty: number = uncertainties.predicted
): ((profile: Profile) => number) => {
  const total = axes.reduce((sum, axis) => sum + levels[axis] ** 2, 0)
  if (total <= 0) return () => 0
  const distance = (profile: Profile): number => {
    let squares = 0
    for (const axis of axes) {
      const level = levels[axis]
      squares += (level * expectedShortfall(level - profile[axis], uncertainty)) ** 2
    }
    return Math.sqrt(squares / total)
  }
  const least = distance(bestProfile)
  return (profile) => distance(profile) - least
}

/** The expected value of `max(0, gap)` for an uncertain gap: near 0 far below 0, near `gap` far above it. */
const expectedShortfall = (gap: number, uncertainty: number): number =>
  (gap + Math.sqrt(gap * gap + uncertainty * uncertainty)) / 2

/** How the candidates of one request are scored. */
interface Scoring {
  readonly distance: (profile: Profile) => number
  readonly visibleTokens: number
  readonly difficulty: number
}

const scoringFor = ({ difficulty, levels }: Demand): Scoring => {
  const total = axes.reduce((sum, axis) => sum + levels[axis], 0)
  const tokens = axes.reduce((sum, axis) => sum + levels[axis] * visibleTokens[axis], 0)
  return {
    distance: shortfall(levels, uncertainties.calibrated),
    visibleTokens: total <= 0 ? defaultVisibleTokens : tokens / total,
    difficulty
  }
}

const multimodalScoring = (costQuality: number = balanced): Scoring => {
  // For a request that asks for more than usual, no level below 1 is good enough in the end.
  const level = multimodalLevel + (1 - multimodalLevel) * Math.max(0, 2 * costQuality - 1)
  return {
    distance: (profile) => Math.max(0, level - axes.reduce((sum, axis) => sum + profile[axis], 0) / axes.length),
    visibleTokens: defaultVisibleTokens,
    difficulty: 0.5
  }
}

/** Output tokens, reasoning included, within the limits of the client and of the first endpoint. */
const expectedOutput = (model: Model, tier: ReasoningTier, scoring: Scoring, limit: number | undefined): number => {
  const reasoning = reasoningTokens[tier] * (0.25 + 0.75 * scoring.difficulty)
  const expected = Math.ceil(scoring.visibleTokens * model.verbosity + reasoning)
  return Math.min(expected, limit ?? expected, model.endpoints[0].maxOutputTokens)
}
