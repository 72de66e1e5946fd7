/**
 * Chooses which targets may answer a chat request, best first: the endpoints of the named model on a direct call, else
 * those of the session's pinned model and of the router's ranking. A direct call never leaves its model. A routed
 * request may fail over to the next candidate, and when a pinned model fails, the session keeps its pin.
 */
import { hash } from "node:crypto"

import { Clock, Context, Effect, Layer, Option } from "effect"

import * as Errors from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { Model } from "../catalog/Model.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { ModelId } from "../domain/Ids.ts"
import { estimatePromptTokens } from "../domain/TokenCount.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import type { Exclusion } from "../routing/Eligibility.ts"
import type { Ranking } from "../routing/Ranking.ts"
import { Router } from "../routing/Router.ts"
import type { RoutingRequest } from "../routing/RoutingRequest.ts"
import { SessionPins } from "../routing/SessionPins.ts"
import type { ChatCall } from "./ChatCall.ts"
import { namedModel, targetsOf } from "./NamedModel.ts"

/** How a routed request came to its targets. */
export interface Routed {
  /** Duration of the whole decision, with the reads and writes of the session pin. */
  readonly latencyMillis: number
  /** True when the session's pinned model comes first. */
  readonly pinned: boolean
  readonly ranking: Ranking
}

export interface TargetChoice {
  /** Best first, at least one. */
  readonly targets: readonly [Target, ...Array<Target>]
  /** Estimated tokens of the prompt. */
  readonly promptTokens: number
  /** Opaque key by which a provider may recognise the session. It reveals nothing about the client. */
  readonly affinity: string | undefined
  /** `undefined` on a direct call. */
  readonly routed: Routed | undefined
}

/** Further candidates are left out, because the attempt budget would be used up before their turn. */
const maxModels = 6

export class ChooseTargets extends Context.Service<
  ChooseTargets,
  {
    /** `request` is the call's request with its reasoning fields normalised. */
    readonly choose: (
      call: ChatCall,
      request: ChatRequest
    ) => Effect.Effect<TargetChoice, Errors.InvalidModel | Errors.ModelNotAllowed | Errors.InvalidRequest>
  }
>()("tollgate/gateway/ChooseTargets") {
  static readonly layer = Layer.effect(
    ChooseTargets,
    Effect.gen(function* () {
      const catalog = yield* Catalog
      const router = yield* Router
      const pins = yield* SessionPins

      const directTargets = Effect.fnUntraced(function* (name: string, routing: RoutingRequest) {
        const model = yield* namedModel(catalog, name)
        if (model.kind === "transcription") {
          return yield* Errors.InvalidModel.of(`model: ${model.id} is for /v1/audio/transcriptions`)
        }
        if (routing.allowed?.has(model.id) === false) {
          return yield* Errors.ModelNotAllowed.of(`This API key may not use ${model.id}`)
        }
        // Whether the prompt fits and which effort is allowed is left to the provider, which knows better than the
        // catalog.
        const exclusion = router.exclusionOf(model, withoutTier({ ...routing, promptTokens: 0 }))
        if (exclusion !== undefined) return yield* Errors.InvalidRequest.of(`${model.id} ${exclusionText[exclusion]}`)
        return targetsOf([model], routing.request.maxOutputTokens)
      })

      /** The model that a session is pinned to, if it is still served and can serve this request. */
      const usablePinnedModel = (id: ModelId, routing: RoutingRequest): Model | undefined => {
        const found = catalog.lookup(id)
        if (found._tag !== "Served") return undefined
        // By the contract a pin moves only when its model cannot serve the request; the reasoning tier is no reason.
        return router.exclusionOf(found.model, withoutTier(routing)) === undefined ? found.model : undefined
      }

      const routedTargets = Effect.fnUntraced(function* (call: ChatCall, routing: RoutingRequest) {
        const startedAt = yield* Clock.currentTimeNanos
        const session =
          routing.request.sessionId === undefined
            ? undefined
            : { organization: call.caller.organization, session: routing.request.sessionId }
        const pin = session === undefined ? Option.none() : yield* pins.use(session)
        const pinned = Option.isSome(pin) ? usablePinnedModel(pin.value, routing) : undefined
        const ranking = router.rank(routing)
        const first = pinned ?? ranking.candidates[0]?.model
        if (first === undefined) return yield* noEligibleModel(ranking)
        let chosen = first
        if (session !== undefined && pinned === undefined) {
          // A concurrent request of the session may have pinned another model first; then that pin holds.
          const winner = Option.isSome(pin)
            ? yield* pins.move(session, { from: pin.value, to: first.id })
            : yield* pins.pin(session, first.id)
          chosen = (winner === first.id ? first : usablePinnedModel(winner, routing)) ?? first
        }
        const endedAt = yield* Clock.currentTimeNanos
        const others = ranking.candidates.map((candidate) => candidate.model).filter((model) => model !== chosen)
        return {
          targets: targetsOf([chosen, ...others.slice(0, maxModels - 1)], routing.request.maxOutputTokens),
          routed: { latencyMillis: Number(endedAt - startedAt) / 1e6, pinned: pinned !== undefined, ranking }
        }
      })

      const choose = Effect.fnUntraced(function* (call: ChatCall, request: ChatRequest) {
        const promptTokens = estimatePromptTokens(request)
        const routing: RoutingRequest = { request, promptTokens, allowed: call.caller.models }
        const common = { promptTokens, affinity: affinityKey(call) }
        if (call.input.model !== undefined) {
          return { ...common, targets: yield* directTargets(call.input.model, routing), routed: undefined }
        }
        return { ...common, ...(yield* routedTargets(call, routing)) }
      })

      return ChooseTargets.of({ choose })
    })
  )
}

/** The same request without its reasoning tier, so that the tier excludes no model. */
const withoutTier = (routing: RoutingRequest): RoutingRequest => {
  const { reasoning: _, ...request } = routing.request
  return { ...routing, request }
}

/** Why a model cannot serve a request, as a phrase that follows the name of the model. */
export const exclusionText: { readonly [E in Exclusion]: string } = {
  not_allowed: "may not be used with this API key",
  image_input: "does not take image input",
  audio_input: "does not take audio input",
  tools: "does not support tools",
  forced_tool_choice: "cannot be forced to call a tool; use tool_choice auto",
  structured_output: "does not support response_format json_schema",
  reasoning_tier: "cannot reason as much, or as little, as asked",
  context_window: "has too small a context window for this request"
}

const noEligibleModel = (ranking: Ranking): Errors.ModelNotAllowed | Errors.InvalidRequest => {
  const exclusions = [...new Set(ranking.excluded.map(({ reason }) => reason))]
  if (exclusions.length > 0 && exclusions.every((exclusion) => exclusion === "not_allowed")) {
    return Errors.ModelNotAllowed.of("This API key's model allowlist leaves no model to choose from")
  }
  const why = exclusions.map((exclusion) => exclusionText[exclusion]).join("; or ")
  return Errors.InvalidRequest.of(`No model can serve this request: each of them ${why || "is switched off"}`)
}

const affinityKey = ({ caller, input }: ChatCall): string | undefined =>
  input.request.sessionId === undefined
    ? undefined
    : hash("sha256", `${caller.organization}\n${input.request.sessionId}`, "hex").slice(0, 40)
