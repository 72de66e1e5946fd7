/**
 * Chooses models for a request by what its conversation asks for and what they cost. In the process, deterministic, and
 * without IO: a ranking is a pure function of the request and the catalog.
 */
import { Context, Effect, Layer } from "effect"

import { Catalog } from "../catalog/Catalog.ts"
import type { Model } from "../catalog/Model.ts"
import { type ChatRequest, saying } from "../domain/Conversation.ts"
import type { ModelId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { AskFeatures } from "./AskFeatures.ts"
import type { DemandModel } from "./Demand.ts"
import { exclusionOf, requirementsOf } from "./Eligibility.ts"
import { rank, rankFeatures } from "./Ranking.ts"
import { trainedDemand } from "./TrainedDemand.ts"
import { read, shipped, type WeightsError } from "./Weights.ts"

export interface Ask {
  readonly request: ChatRequest
  /** Estimated size of the prompt. */
  readonly promptTokens: number
  /** The key's allowlist; `undefined` allows every model. */
  readonly allowed: ReadonlySet<ModelId> | undefined
}

/** Why a model is not a candidate. */
export const exclusions = [
  "not_allowed",
  "image_input",
  "audio_input",
  "tools",
  "forced_tool_choice",
  "structured_output",
  "reasoning_tier",
  "context_window"
] as const
export type Exclusion = (typeof exclusions)[number]

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
  readonly features: AskFeatures
}

export class Router extends Context.Service<
  Router,
  {
    readonly rank: (ask: Ask) => Ranking
    /** The same for a request of which only its features are known. */
    readonly rankFeatures: (features: AskFeatures, allowed: Ask["allowed"]) => Ranking
    /** Why this model cannot serve the request; `undefined` when it can. For pins and direct calls. */
    readonly exclusionOf: (model: Model, ask: Ask) => Exclusion | undefined
  }
>()("tollgate/routing/Router") {
  static readonly layerDemand = (demand: DemandModel): Layer.Layer<Router, never, Catalog> =>
    Layer.effect(
      Router,
      Effect.map(Catalog, (catalog) => {
        const models = catalog.models.filter(({ kind }) => kind === "chat")
        return Router.of({
          rank: (ask) => rank(models, ask, demand),
          rankFeatures: (features, allowed) => rankFeatures(models, features, allowed),
          exclusionOf: (model, ask) => exclusionOf(model, requirementsOf(ask), ask.allowed)
        })
      })
    )

  /** Over the catalog, with demand predicted by the trained weights, which are read and checked once. */
  static readonly layer: Layer.Layer<Router, WeightsError, Catalog> = Layer.unwrap(
    Effect.map(
      Effect.suspend(() => Effect.fromResult(read(shipped))),
      (weights) =>
        Layer.tap(Router.layerDemand(trainedDemand(weights)), (context) => warmUp(Context.get(context, Router)))
    )
  )
}

/** Texts of every length up to this, in characters, so often that the engine compiles what decides. */
const warmUpCharacters = 4_000
const warmUpLengths = 80

/** Marks, numbers, scripts and reasoning that differ, or the engine would compile for one sort of request alone. */
const warmUpRequests = [
  { line: "Plan 2 tests of f(x) = x + 1, then say: why?\n", reasoning: { exclude: false } },
  {
    line: "A) 1,234.5 km/h, B) \u00bd of it; Wie viel? 多少钱？ \u{1f600}\n",
    reasoning: { effort: "high", exclude: false }
  },
  { line: '```js\nconst a = [1, 2/3]\n``` Prova \\frac{1}{2} "ok"\n', reasoning: { effort: "none", exclude: false } }
] as const

/** Decides what nobody asked, some 80 ms in all, so that the engine has compiled it before the first request. */
const warmUp = ({ rank }: Router["Service"]): Effect.Effect<void> =>
  Effect.sync(() => {
    const requests = warmUpRequests.map(({ line, reasoning }) => ({ text: line.repeat(100), reasoning }))
    for (let step = 1; step <= warmUpLengths; step++) {
      const length = Math.ceil((step * warmUpCharacters) / warmUpLengths)
      for (const { reasoning, text } of requests) {
        rank({ request: { ...saying(text.slice(0, length)), reasoning }, promptTokens: length, allowed: undefined })
      }
    }
  })
