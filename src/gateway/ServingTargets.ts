/** From models that can serve a request to the targets that dispatch can call, in their order. */
import { Array as Arr } from "effect"

import type { Model } from "../catalog/Model.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import { answersNatively, endpointExclusionOf } from "../routing/Eligibility.ts"
import type { Requirements, RoutingRequest } from "../routing/RoutingRequest.ts"
import { targetsOf } from "./NamedModel.ts"
import type { Narrowing } from "./NarrowedModels.ts"

export type Targets = readonly [Target, ...Array<Target>]

/**
 * The targets of these models, without the endpoints that cannot serve the request, so that no provider is asked for
 * what it is known to refuse. Of one model, the endpoints that guarantee JSON by themselves come first, unless the
 * request has an order of its own.
 */
export const servingTargets = (
  models: readonly [Model, ...Array<Model>],
  needs: Requirements,
  narrowing: Narrowing | undefined
): Targets => {
  const outputLimit = narrowing?.keepsOrder === true ? undefined : needs.outputLimit
  const serving = models.flatMap((model) => {
    const targets = targetsOf([model], outputLimit).filter(
      ({ endpoint }) => endpointExclusionOf(endpoint, needs) === undefined
    )
    const ordered = narrowing?.keepsOrder === true ? targets : nativeFirst(targets, needs)
    return narrowing?.firstProviderOnly === true ? ordered.slice(0, 1) : ordered
  })
  return Arr.isArrayNonEmpty(serving) ? serving : targetsOf(models, outputLimit)
}

const nativeFirst = (targets: ReadonlyArray<Target>, needs: Requirements): ReadonlyArray<Target> => {
  const native = targets.filter(({ endpoint }) => answersNatively(endpoint, needs))
  return [...native, ...targets.filter((target) => !native.includes(target))]
}

/** The same request without its reasoning tier, so that the tier excludes no model. */
export const withoutTier = (routing: RoutingRequest): RoutingRequest => {
  const { reasoning: _, ...request } = routing.request
  return { ...routing, request }
}
