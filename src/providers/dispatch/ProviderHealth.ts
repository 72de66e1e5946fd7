/** How the endpoints are doing, as this process sees them. Each replica has its own view, and its own breakers. */
import { Context, Effect, Layer } from "effect"

import type { EndpointId } from "../../domain/Ids.ts"
import { CircuitBreakers } from "./CircuitBreakers.ts"
import type { EndpointHealth } from "./EndpointHealth.ts"

export class ProviderHealth extends Context.Service<
  ProviderHealth,
  {
    /** An endpoint that was never called is as healthy as one that answers. */
    readonly endpoint: (endpoint: EndpointId) => EndpointHealth
  }
>()("tollgate/providers/dispatch/ProviderHealth") {
  static readonly layer = Layer.effect(
    ProviderHealth,
    Effect.map(CircuitBreakers, ({ health }) => ProviderHealth.of({ endpoint: health }))
  )
}

/**
 * Since when a provider refuses our account, in milliseconds since 1970: the first refusal at any of its endpoints
 * since one of them last answered. `undefined` while it does not.
 */
export const accountRefusedSince = (endpoints: ReadonlyArray<EndpointHealth>): number | undefined => {
  const lastAnswer = Math.max(0, ...endpoints.map(({ lastAnswerMillis = 0 }) => lastAnswerMillis))
  const refusals = endpoints.flatMap(({ lastFailure, refusedSinceMillis }) =>
    refusedSinceMillis === undefined || lastFailure === undefined || lastFailure.atMillis < lastAnswer
      ? []
      : [refusedSinceMillis]
  )
  return refusals.length === 0 ? undefined : Math.min(...refusals)
}
