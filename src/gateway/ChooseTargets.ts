/**
 * Which targets may answer a request, best first: the named model's endpoints on a direct call, the pinned model's on a
 * pinned session, else the router's ranking. A direct call never leaves its model; a routed one may fail over to the
 * next candidate; a pinned one is detoured around its model without losing it.
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
import { namedModel, targetsOf } from "./Targets.ts"

export interface Routed {
  /** From the start of the decision to its end, pins included. */
  readonly latencyMillis: number
  readonly pinned: boolean
  readonly ranking: Ranking
}

export interface TargetChoice {
  readonly targets: readonly [Target, ...Array<Target>]
  readonly promptTokens: number
  /** Opaque key by which a provider may recognise the session; says nothing about the client. */
  readonly affinity: string | undefined
  /** `undefined` on a direct call. */
  readonly routed: Routed | undefined
}

/** Candidates beyond these are not tried: the attempt budget would be spent long before. */
const maxModels = 6

export class ChooseTargets extends Context.Service<
  ChooseTargets,
  {
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

      const direct = Effect.fnUntraced(function* (name: string, ask: RoutingRequest) {
        const model = yield* namedModel(catalog, name)
        if (model.kind === "transcription") {
          return yield* Errors.InvalidModel.of(`model: ${model.id} is for /v1/audio/transcriptions`)
        }
        if (ask.allowed?.has(model.id) === false) {
          return yield* Errors.ModelNotAllowed.of(`This API key may not use ${model.id}`)
        }
        // The provider knows best what fits its window and which effort it takes; the rest would fail there too.
        const because = router.exclusionOf(model, withoutTier({ ...ask, promptTokens: 0 }))
        if (because !== undefined) return yield* Errors.InvalidRequest.of(`${model.id} ${cannot[because]}`)
        return targetsOf([model])
      })

      /** The pinned model, if the session has one and the model can still serve it. */
      const pinnedModel = (id: ModelId, ask: RoutingRequest): Model | undefined => {
        const found = catalog.lookup(id)
        if (found._tag !== "Served") return undefined
        // Contract: only a request that the model cannot serve moves a pin. How much to think is not such a request.
        return router.exclusionOf(found.model, withoutTier(ask)) === undefined ? found.model : undefined
      }

      const routed = Effect.fnUntraced(function* (call: ChatCall, ask: RoutingRequest) {
        const startedAt = yield* Clock.currentTimeNanos
        const session =
          ask.request.sessionId === undefined
            ? undefined
            : { organization: call.caller.organization, session: ask.request.sessionId }
        const pin = session === undefined ? Option.none() : yield* pins.use(session)
        const kept = Option.isSome(pin) ? pinnedModel(pin.value, ask) : undefined
        const ranking = router.rank(ask)
        const first = kept ?? ranking.candidates[0]?.model
        if (first === undefined) return yield* nothingEligible(ranking)
        let chosen = first
        if (session !== undefined && kept === undefined) {
          const winner = Option.isSome(pin)
            ? yield* pins.move(session, { from: pin.value, to: first.id })
            : yield* pins.pin(session, first.id)
          chosen = (winner === first.id ? first : pinnedModel(winner, ask)) ?? first
        }
        const endedAt = yield* Clock.currentTimeNanos
        const others = ranking.candidates.map((candidate) => candidate.model).filter((model) => model !== chosen)
        return {
          targets: targetsOf([chosen, ...others.slice(0, maxModels - 1)]),
          routed: { latencyMillis: Number(endedAt - startedAt) / 1e6, pinned: kept !== undefined, ranking }
        }
      })

      const choose = Effect.fnUntraced(function* (call: ChatCall, request: ChatRequest) {
        const ask: RoutingRequest = {
          request,
          promptTokens: estimatePromptTokens(request),
          allowed: call.caller.models
        }
        const common = { promptTokens: ask.promptTokens, affinity: affinityOf(call) }
        if (call.input.model !== undefined) {
          return { ...common, targets: yield* direct(call.input.model, ask), routed: undefined }
        }
        return { ...common, ...(yield* routed(call, ask)) }
      })

      return ChooseTargets.of({ choose })
    })
  )
}

/** The same question without regard to how much the request wants a model to think. */
const withoutTier = (ask: RoutingRequest): RoutingRequest => {
  const { reasoning: _, ...request } = ask.request
  return { ...ask, request }
}

/** What is wrong with a model, to follow its name. */
export const cannot: { readonly [E in Exclusion]: string } = {
  not_allowed: "may not be used with this API key",
  image_input: "does not take image input",
  audio_input: "does not take audio input",
  tools: "does not support tools",
  forced_tool_choice: "cannot be forced to call a tool; use tool_choice auto",
  structured_output: "does not support response_format json_schema",
  reasoning_tier: "cannot reason as much, or as little, as asked",
  context_window: "has too small a context window for this request"
}

const nothingEligible = (ranking: Ranking): Errors.ModelNotAllowed | Errors.InvalidRequest => {
  const reasons = [...new Set(ranking.excluded.map(({ reason }) => reason))]
  if (reasons.length > 0 && reasons.every((because) => because === "not_allowed")) {
    return Errors.ModelNotAllowed.of("This API key's model allowlist leaves no model to choose from")
  }
  const why = reasons.map((because) => cannot[because]).join("; or ")
  return Errors.InvalidRequest.of(`No model can serve this request: each of them ${why || "is switched off"}`)
}

const affinityOf = ({ caller, input }: ChatCall): string | undefined =>
  input.request.sessionId === undefined
    ? undefined
    : hash("sha256", `${caller.organization}\n${input.request.sessionId}`, "hex").slice(0, 40)
