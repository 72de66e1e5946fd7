/**
 * Chooses models for a request by what its conversation asks for and what they cost. In the process, deterministic, and
 * without IO: a ranking is a pure function of the request and the catalog.
 */
import { Context, Effect, Layer } from "effect"

import { Catalog } from "../catalog/Catalog.ts"
import type { Axis, Model } from "../catalog/Model.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { ModelId } from "../domain/Ids.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { DemandModel } from "./Demand.ts"
import { exclusionOf, requirementsOf } from "./Eligibility.ts"
import { lexicalDemand } from "./LexicalDemand.ts"
import { rank } from "./Ranking.ts"

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
  /** How far the model falls short of the demand; 0 when it meets it on every axis. */
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
  /** Level asked for per axis, 0 to 1; empty when the conversation was not looked at (image or audio input). */
  readonly demand: { readonly [A in Axis]?: number }
  /** 0 to 1. */
  readonly difficulty: number
}

export class Router extends Context.Service<
  Router,
  {
    readonly rank: (ask: Ask) => Ranking
    /** Why this model cannot serve the request; `undefined` when it can. For pins and direct calls. */
    readonly exclusionOf: (model: Model, ask: Ask) => Exclusion | undefined
  }
>()("tollgate/routing/Router") {
  static readonly layerDemand = (demand: DemandModel): Layer.Layer<Router, never, Catalog> =>
    Layer.effect(
      Router,
      Effect.map(Catalog, ({ models }) =>
        Router.of({
          rank: (ask) => rank(models, ask, demand),
          exclusionOf: (model, ask) => exclusionOf(model, requirementsOf(ask))
        })
      )
    )

  /** Over the catalog, with demand read from the words of the conversation. */
  static readonly layer = Router.layerDemand(lexicalDemand)
}
