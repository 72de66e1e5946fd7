/**
 * What the router goes by: what a request needs and what its conversation asks for, in numbers. Nothing of what was
 * said can be read back from them, so they may be logged, and ranked again with another catalog.
 */
import type { Demand, DemandModel } from "./Demand.ts"
import { type Requirements, requirementsOf } from "./Eligibility.ts"
import type { RoutingRequest } from "./RoutingRequest.ts"

export interface RequestFeatures {
  readonly needs: Requirements
  /** `undefined` when the conversation was not looked at, because images or audio are part of it. */
  readonly demand: Demand | undefined
}

export const featuresOf = (ask: RoutingRequest, demandModel: DemandModel): RequestFeatures => {
  const needs = requirementsOf(ask)
  return { needs, demand: needs.image || needs.audio ? undefined : demandModel.predict(ask.request) }
}
