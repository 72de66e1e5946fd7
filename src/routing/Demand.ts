/**
 * What a conversation asks for, on the axes that models are measured on. A demand model is a pure, total and bounded
 * function of the request: it never throws, and a longer conversation does not make it slower without limit.
 */
import type { Axis } from "../catalog/Model.ts"
import type { ChatRequest } from "../domain/Conversation.ts"

export interface Demand {
  /** Skill asked for per axis, 0 to 1, on the scale of the catalog's profiles. */
  readonly levels: { readonly [A in Axis]: number }
  /** 0 to 1: how much a strong model is expected to gain over a weak one. The highest level it could ask for. */
  readonly difficulty: number
}

export interface DemandModel {
  readonly predict: (request: ChatRequest) => Demand
}
