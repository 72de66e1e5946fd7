/**
 * One decision of the router for a chat request body, exactly as a client would post it. The body is read by the
 * gateway's own code and its reasoning parameters are normalised by the gateway's own rules. A model that the body
 * names is ignored.
 */
import { type Clock, Result } from "effect"

import { normalise } from "../domain/Reasoning.ts"
import { estimatePromptTokens } from "../domain/TokenCount.ts"
import { readChatBody } from "../http/chat/ChatBody.ts"
import type { BodyError } from "../http/completion/ClientProtocol.ts"
import type { Ranking } from "../routing/Ranking.ts"
import type { Router } from "../routing/Router.ts"
import type { RoutingRequest } from "../routing/RoutingRequest.ts"

/** A ranking and how long it took. */
export interface Decision {
  readonly ranking: Ranking
  /** Time taken by prediction and ranking, without reading the body. */
  readonly latencyMillis: number
}

/** What a decision is made with. `allowed` is the model allowlist of the API key to assume. */
export interface RouteDecider {
  readonly router: Router["Service"]
  readonly clock: Clock.Clock
  readonly allowed?: RoutingRequest["allowed"]
}

/** The decision for a request body, or the error that the gateway would answer it with. */
export const decide = (body: string, { allowed, clock, router }: RouteDecider): Result.Result<Decision, BodyError> =>
  Result.map(readChatBody(body, { autoModel: "", sessionHeader: undefined }), (input) => {
    const reasoning = normalise(input.reasoning, { routed: true })
    const request = { ...input.request, ...(reasoning && { reasoning }) }
    const routingRequest: RoutingRequest = { request, promptTokens: estimatePromptTokens(request), allowed }
    const startedAt = clock.monotonicTimeNanosUnsafe()
    const ranking = router.rank(routingRequest)
    return { ranking, latencyMillis: Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1e6 }
  })
