/** A decision of the router as text for people and as JSON for programs. Both show the same facts. */
import { type Axis, axes, servesTier } from "../catalog/Model.ts"
import type { ModelId } from "../domain/Ids.ts"
import { toUsd } from "../domain/Money.ts"
import type { ReasoningTier } from "../domain/Reasoning.ts"
import { exclusionText } from "../gateway/NoCandidate.ts"
import type { Candidate } from "../routing/Bands.ts"
import { effectiveTier, type Exclusion } from "../routing/Eligibility.ts"
import { profileOf, type Ranking } from "../routing/Ranking.ts"
import type { Requirements } from "../routing/RoutingRequest.ts"
import type { Decision } from "./RouteDecision.ts"
import { table } from "./Table.ts"

/** Smaller levels and shortfalls would be printed as 0.00 and are left out. */
const leastShown = 0.005

interface ExplainedCandidate extends Candidate {
  readonly tier: ReasoningTier
  /** How far the model's profile is below the demand, by axis, the largest shortfall first. */
  readonly shortfalls: ReadonlyArray<readonly [Axis, number]>
}

/** A decision with all that its reader needs to follow it. */
export interface Explanation extends Decision {
  readonly candidates: ReadonlyArray<ExplainedCandidate>
  /** Whether the reasoning tier was relaxed, because it left no candidate. */
  readonly tierRelaxed: boolean
}

export const explanationOf = (decision: Decision): Explanation => {
  const { candidates, features } = decision.ranking
  const { tier } = features.needs
  return {
    ...decision,
    candidates: candidates.map((candidate) => explained(candidate, decision.ranking)),
    tierRelaxed: tier !== undefined && candidates.some(({ model }) => !servesTier(model, tier))
  }
}

const explained = (candidate: Candidate, { features }: Ranking): ExplainedCandidate => {
  const tier = effectiveTier(candidate.model, features.needs.tier)
  const profile = profileOf(candidate.model, tier)
  const shortfalls = axes
    .map((axis) => [axis, (features.demand?.levels[axis] ?? 0) - profile[axis]] as const)
    .filter(([, shortfall]) => shortfall >= leastShown)
    .sort(([, a], [, b]) => b - a)
  return { ...candidate, tier, shortfalls }
}

export const explanationJson = ({ candidates, latencyMillis, ranking, tierRelaxed }: Explanation): unknown => ({
  choice: candidates[0]?.model.id ?? null,
  demand: ranking.features.demand?.levels ?? {},
  difficulty: ranking.features.demand?.difficulty ?? 0,
  needs: needsJson(ranking.features.needs),
  tier_yields: tierRelaxed,
  latency_ms: latencyMillis,
  candidates: candidates.map(({ band, cost, distance, model, shortfalls, tier }) => ({
    model: model.id,
    tier,
    band,
    distance,
    cost_usd: toUsd(cost),
    lacks: Object.fromEntries(shortfalls)
  })),
  refused: ranking.excluded.map(({ model, reason }) => ({ model, because: reason }))
})

const needsJson = (needs: Requirements) => ({
  tier: needs.tier ?? null,
  prompt_tokens: needs.promptTokens,
  audio_tokens: needs.audioTokens,
  output_limit: needs.outputLimit ?? null,
  image: needs.image,
  audio: needs.audio,
  tools: needs.tools,
  forced_tool: needs.forcedTool,
  structured_output: needs.structuredOutput
})

export const explanationText = (explanation: Explanation): ReadonlyArray<string> => {
  const { candidates, latencyMillis, ranking } = explanation
  return [
    `Demand      ${demandText(ranking)}`,
    `Needs       ${needsText(ranking.features.needs, explanation.tierRelaxed)}`,
    `Decided in  ${latencyMillis.toFixed(3)} ms`,
    ...candidatesText(candidates),
    ...excludedText(ranking.excluded),
    "",
    choiceText(candidates)
  ]
}

const candidatesText = (candidates: ReadonlyArray<ExplainedCandidate>): ReadonlyArray<string> => {
  if (candidates.length === 0) return []
  const rows = candidates.map((candidate, index) => [String(index + 1), ...rowOf(candidate)])
  return ["", ...table(["", "model", "band", "distance", "expected USD", "thinks", "lacks"], rows, [0, 2, 3, 4])]
}

const rowOf = ({ band, cost, distance, model, shortfalls, tier }: ExplainedCandidate): ReadonlyArray<string> => [
  model.id,
  String(band),
  distance.toFixed(4),
  (Number(cost) / 1e12).toFixed(6),
  tier,
  levelsText(shortfalls)
]

const levelsText = (levels: ReadonlyArray<readonly [Axis, number]>): string =>
  levels.map(([axis, level]) => `${axis} ${level.toFixed(2)}`).join(", ")

const demandText = ({ features: { demand } }: Ranking): string => {
  if (demand === undefined) return "not looked at: the conversation has images or audio"
  const levels = axes
    .map((axis) => [axis, demand.levels[axis]] as const)
    .filter(([, level]) => level >= leastShown)
    .sort(([, a], [, b]) => b - a)
  return `${levelsText(levels) || "none"}; difficulty ${demand.difficulty.toFixed(2)}`
}

const tierTexts = {
  none: "no thinking",
  low: "low thinking",
  high: "high thinking",
  open: "any thinking"
} as const satisfies Record<ReasoningTier | "open", string>

const needsText = (needs: Requirements, tierRelaxed: boolean): string =>
  [
    `${tierTexts[needs.tier ?? "open"]}${tierRelaxed ? ", which gives way: no model serves it" : ""}`,
    `about ${Math.ceil(needs.promptTokens)} prompt tokens`,
    ...(needs.outputLimit === undefined ? [] : [`at most ${needs.outputLimit} output tokens`]),
    ...(needs.image ? ["image input"] : []),
    ...(needs.audio ? ["audio input"] : []),
    ...(needs.tools ? ["tools"] : []),
    ...(needs.forcedTool ? ["a forced tool call"] : []),
    ...(needs.structuredOutput ? ["a JSON schema"] : [])
  ].join("; ")

/** The excluded models, with one line for each reason. */
const excludedText = (excluded: Ranking["excluded"]): ReadonlyArray<string> => {
  const byReason = new Map<Exclusion, Array<ModelId>>()
  for (const { model, reason } of excluded) byReason.set(reason, [...(byReason.get(reason) ?? []), model])
  const lines = [...byReason].map(([reason, models]) => `  ${exclusionText[reason]}: ${models.join(", ")}`)
  return lines.length === 0 ? [] : ["", "Refused, since the model", ...lines]
}

const choiceText = (candidates: ReadonlyArray<ExplainedCandidate>): string => {
  const [first] = candidates
  if (first === undefined) return "Choice: none. No model can serve this request"
  const equals = candidates.filter(({ band }) => band === first.band).length
  return `Choice: ${first.model.id}, ${
    candidates.length === 1
      ? "the only candidate"
      : equals === 1
        ? "the nearest to what is asked"
        : `the cheapest of the ${equals} that are near enough to what is asked`
  }`
}
