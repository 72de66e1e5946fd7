/**
 * Ranks models for a request by what its conversation demands and what they cost. It runs in the process and without
 * IO: a ranking is a pure function of the request and the catalog.
 */
import { Context, Effect, Layer } from "effect"

import { Catalog } from "../catalog/Catalog.ts"
import type { Model } from "../catalog/Model.ts"
import { textRequest } from "../domain/Conversation.ts"
import { type Exclusion, exclusionOf } from "./Eligibility.ts"
import { rankFeatures, type Ranking, rankModels } from "./Ranking.ts"
import { type RequestFeatures, requirementsOf, type RoutingRequest } from "./RoutingRequest.ts"
import { trainedDemand } from "./TrainedDemand.ts"
import { readWeights, shippedWeights } from "./Weights.ts"

export class Router extends Context.Service<
  Router,
  {
    readonly rank: (request: RoutingRequest) => Ranking
    /** The ranking of a request of which only the features are known. */
    readonly rankFeatures: (features: RequestFeatures, allowed: RoutingRequest["allowed"]) => Ranking
    /** Why this model cannot serve the request; `undefined` when it can. For pinned models and direct calls. */
    readonly exclusionOf: (model: Model, request: RoutingRequest) => Exclusion | undefined
  }
>()("tollgate/routing/Router") {
  /** Reads and checks the shipped weights once, and ranks the chat models of the catalog. */
  static readonly layer = Layer.effect(
    Router,
    Effect.gen(function* () {
      const catalog = yield* Catalog
      const models = catalog.models.filter(({ kind }) => kind === "chat")
      const demandModel = trainedDemand(yield* Effect.fromResult(readWeights(shippedWeights)))
      const rank = (request: RoutingRequest): Ranking => rankModels(request.models ?? models, request, demandModel)
      yield* Effect.sync(() => warmUpRequests().forEach(rank))
      return Router.of({
        rank,
        rankFeatures: (features, allowed) => rankFeatures(models, features, allowed),
        exclusionOf: (model, request) =>
          exclusionOf(model, requirementsOf(request), request.allowed) ??
          (request.refuses?.(model) === true ? "parameters" : undefined)
      })
    })
  )
}

/** Texts of evenly spaced lengths up to `warmUpCharacters`: enough of them that V8 compiles the code that ranks. */
const warmUpCharacters = 4_000
const warmUpLengths = 80

/** Different scripts, punctuation and reasoning, so that V8 does not optimise for one sort of request alone. */
const warmUpTexts = [
  { line: "Plan 2 tests of f(x) = x + 1, then say: why?\n", reasoning: { exclude: false } },
  {
    line: "A) 1,234.5 km/h, B) \u00bd of it; Wie viel? 多少钱？ \u{1f600}\n",
    reasoning: { effort: "high", exclude: false }
  },
  { line: '```js\nconst a = [1, 2/3]\n``` Prova \\frac{1}{2} "ok"\n', reasoning: { effort: "none", exclude: false } }
] as const

/** Requests that nobody made. Ranking them all takes about 80 ms, which the first real request is spared. */
const warmUpRequests = (): ReadonlyArray<RoutingRequest> => {
  const texts = warmUpTexts.map(({ line, reasoning }) => ({ text: line.repeat(100), reasoning }))
  return Array.from({ length: warmUpLengths }, (_, step) =>
    Math.ceil(((step + 1) * warmUpCharacters) / warmUpLengths)
  ).flatMap((length) =>
    texts.map(({ reasoning, text }) => ({
      request: { ...textRequest(text.slice(0, length)), reasoning },
      promptTokens: length,
      allowed: undefined
    }))
  )
}
