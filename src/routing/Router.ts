/**
 * Chooses models for a request by what its conversation asks for and what they cost. In the process, deterministic, and
 * without IO: a ranking is a pure function of the request and the catalog.
 */
import { Context, Effect, Layer } from "effect"

import { Catalog } from "../catalog/Catalog.ts"
import type { Model } from "../catalog/Model.ts"
import { textRequest } from "../domain/Conversation.ts"
import type { DemandModel } from "./Demand.ts"
import { type Exclusion, exclusionOf, requirementsOf } from "./Eligibility.ts"
import { rankFeatures, type Ranking, rankModels } from "./Ranking.ts"
import type { RequestFeatures } from "./RequestFeatures.ts"
import type { RoutingRequest } from "./RoutingRequest.ts"
import { trainedDemand } from "./TrainedDemand.ts"
import { readWeights, shippedWeights, type WeightsError } from "./Weights.ts"

export class Router extends Context.Service<
  Router,
  {
    readonly rank: (ask: RoutingRequest) => Ranking
    /** The same for a request of which only its features are known. */
    readonly rankFeatures: (features: RequestFeatures, allowed: RoutingRequest["allowed"]) => Ranking
    /** Why this model cannot serve the request; `undefined` when it can. For pins and direct calls. */
    readonly exclusionOf: (model: Model, ask: RoutingRequest) => Exclusion | undefined
  }
>()("tollgate/routing/Router") {
  static readonly layerDemand = (demand: DemandModel): Layer.Layer<Router, never, Catalog> =>
    Layer.effect(
      Router,
      Effect.map(Catalog, (catalog) => {
        const models = catalog.models.filter(({ kind }) => kind === "chat")
        return Router.of({
          rank: (ask) => rankModels(models, ask, demand),
          rankFeatures: (features, allowed) => rankFeatures(models, features, allowed),
          exclusionOf: (model, ask) => exclusionOf(model, requirementsOf(ask), ask.allowed)
        })
      })
    )

  /** Over the catalog, with demand predicted by the trained weights, which are read and checked once. */
  static readonly layer: Layer.Layer<Router, WeightsError, Catalog> = Layer.unwrap(
    Effect.map(
      Effect.suspend(() => Effect.fromResult(readWeights(shippedWeights))),
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
        rank({
          request: { ...textRequest(text.slice(0, length)), reasoning },
          promptTokens: length,
          allowed: undefined
        })
      }
    }
  })
