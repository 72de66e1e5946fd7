/** The models that a request can choose from, and what its session and its choices make of them. */
import type { Model } from "../catalog/Model.ts"
import type { Offer } from "../catalog/Offer.ts"
import type { ChoiceExclusion } from "../domain/Choices.ts"
import type { ModelId } from "../domain/Ids.ts"
import { isOptOut } from "../domain/Reasoning.ts"
import type { Ranking } from "../routing/Ranking.ts"
import type { Router } from "../routing/Router.ts"
import type { RoutingRequest } from "../routing/RoutingRequest.ts"
import type { Narrowing } from "./NarrowedModels.ts"
import { withoutTier } from "./ServingTargets.ts"
import type { StrictRequest } from "./StrictRequests.ts"

/** The models as the caller is offered them, and what chooses among them. */
export interface Offered {
  readonly offer: Offer
  readonly router: Router["Service"]
  /** Absent for a request whose choices leave the models as they are. */
  readonly narrowing?: Narrowing | undefined
  /** Present for a request that insists on its parameters. */
  readonly strict?: StrictRequest | undefined
  /** The chat models, before the choices of the request. */
  readonly models: ReadonlyArray<Model>
}

/** A model that the choices of a request left out, and by which of them. */
export interface LeftOut {
  readonly model: ModelId
  readonly because: ReadonlyArray<ChoiceExclusion>
}

/** The models that the choices left out; `undefined` for a request without such choices. */
export const leftOutBy = ({ models, narrowing }: Offered): ReadonlyArray<LeftOut> | undefined =>
  narrowing &&
  models.flatMap((model) => {
    const because = narrowing.exclusionsOf(model)
    return because.length === 0 ? [] : [{ model: model.id, because }]
  })

/** The candidates, as far as a request may fail over to them. */
export const followingOf = ({ narrowing }: Offered, { candidates }: Ranking): ReadonlyArray<Model> =>
  narrowing?.firstProviderOnly === true ? [] : candidates.map(({ model }) => model)

/** The model that a session is pinned to, if it is still served and can serve this request. */
export const pinnedModel = (
  { narrowing, offer, router }: Offered,
  id: ModelId,
  routing: RoutingRequest
): Model | undefined => {
  const found = offer.lookup(id)
  if (found._tag !== "Served") return undefined
  const model = narrowing === undefined ? found.model : narrowing.narrow(found.model)
  if (model === undefined) return undefined
  // By the contract a pin moves only when its model cannot serve the request. How much it reasons is no reason to move,
  // unless the client switched reasoning off: then a model that reasons all the same would be billed for it.
  const asked = isOptOut(routing.request.reasoning) ? routing : withoutTier(routing)
  return router.exclusionOf(model, asked) === undefined ? model : undefined
}
