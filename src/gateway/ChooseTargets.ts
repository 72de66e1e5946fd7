/**
 * Chooses which targets may answer a chat request, best first: the endpoints of the named model on a direct call, else
 * those of the session's pinned model and of the router's ranking. A direct call never leaves its model. A routed
 * request may fail over to the next candidate. The model that answers a session first is its pin; when a pinned model
 * fails later, the session keeps its pin.
 */
import { hash } from "node:crypto"

import { Clock, Context, Effect, Layer, Option } from "effect"

import * as Errors from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { Model } from "../catalog/Model.ts"
import { makeOffers, type Offer } from "../catalog/Offer.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { ModelId } from "../domain/Ids.ts"
import { isOptOut } from "../domain/Reasoning.ts"
import { estimatePromptTokens } from "../domain/TokenCount.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import {
  type AdjustedCall,
  type Adjustment,
  adjustmentsOf,
  hasParameters,
  takesParameters
} from "../providers/protocols/Adjustments.ts"
import type { Ranking } from "../routing/Ranking.ts"
import { Router } from "../routing/Router.ts"
import { requirementsOf, type RoutingRequest } from "../routing/RoutingRequest.ts"
import { type Session, SessionPins } from "../routing/SessionPins.ts"
import type { ChatCall } from "./ChatCall.ts"
import { namedModel, servingTargets } from "./NamedModel.ts"
import { exclusionText, noCandidate } from "./NoCandidate.ts"
import { type StrictRequest, strictRequest } from "./StrictRequests.ts"

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
  /** The parameters that a target does not get as they are in this form of the request. */
  readonly adjustments: (target: Target, request: ChatRequest) => ReadonlyArray<Adjustment>
  /** Pins the session to the model that answered, if no answer has pinned it yet. */
  readonly confirmPin: (answered: ModelId) => Effect.Effect<void>
}

/** Why a request has no target. */

/** Further candidates are left out, because the attempt budget would be used up before their turn. */
const maxModels = 6

/** The models as the caller is offered them, and what chooses among them. */
interface Offered {
  readonly offer: Offer
  readonly router: Router["Service"]
  readonly strict: StrictRequest | undefined
}

type ChoiceFailure = Errors.InvalidModel | Errors.ModelNotAllowed | Errors.InvalidRequest | Errors.UnsupportedParameter

export class ChooseTargets extends Context.Service<
  ChooseTargets,
  {
    /** `request` is the call's request with its reasoning fields normalised. */
    readonly choose: (call: ChatCall, request: ChatRequest) => Effect.Effect<TargetChoice, ChoiceFailure>
  }
>()("tollgate/gateway/ChooseTargets") {
  static readonly layer = Layer.effect(
    ChooseTargets,
    Effect.gen(function* () {
      const catalog = yield* Catalog
      const router = yield* Router
      const pins = yield* SessionPins
      const clock = yield* Clock.Clock
      const offerAt = makeOffers(catalog)

      const millisSince = (nanos: bigint): number => Number(clock.currentTimeNanosUnsafe() - nanos) / 1e6

      const sessionTargets = Effect.fnUntraced(function* (session: Session, offered: Offered, routing: RoutingRequest) {
        const startedAt = clock.currentTimeNanosUnsafe()
        const pin = Option.getOrUndefined(yield* pins.use(session))
        const pinned = pin && pinnedModel(offered, pin.model, routing)
        const ranking = router.rank(routing)
        const first = pinned ?? ranking.candidates[0]?.model
        if (first === undefined) return yield* noCandidate(ranking, offered)
        let chosen = first
        if (pinned === undefined) {
          // A concurrent request of the session may have pinned another model first; then that pin holds.
          const winner = pin
            ? yield* pins.move(session, { from: pin.model, to: first.id })
            : yield* pins.pin(session, first.id)
          chosen = (winner === first.id ? first : pinnedModel(offered, winner, routing)) ?? first
        }
        const routed = { ranking, latencyMillis: millisSince(startedAt), pinned: pinned !== undefined }
        return {
          targets: yield* strictly(offered, rankedTargets(chosen, ranking)),
          routed,
          confirmPin: (answered: ModelId) =>
            pinned !== undefined && pin?.confirmed === true ? Effect.void : pins.confirm(session, answered)
        }
      })

      const routedTargets = (call: ChatCall, offered: Offered, routing: RoutingRequest) => {
        const { sessionId } = routing.request
        if (sessionId !== undefined)
          return sessionTargets({ organization: call.caller.organization, session: sessionId }, offered, routing)
        const startedAt = clock.currentTimeNanosUnsafe()
        const ranking = router.rank(routing)
        const first = ranking.candidates[0]?.model
        if (first === undefined) return noCandidate(ranking, offered)
        const routed = { ranking, latencyMillis: millisSince(startedAt), pinned: false }
        return Effect.mapEager(strictly(offered, rankedTargets(first, ranking)), (targets) => ({
          targets,
          routed,
          confirmPin: () => Effect.void
        }))
      }

      /** At once, unless there is a session: nothing else is waited for. */
      const choose = (call: ChatCall, request: ChatRequest): Effect.Effect<TargetChoice, ChoiceFailure> => {
        const promptTokens = estimatePromptTokens(request)
        const adjusted = adjustedAt(catalog, request)
        const own = offerAt(call.caller.pricing)
        const { ignored } = call.input
        const adjustments = (target: Target, sent: ChatRequest): ReadonlyArray<Adjustment> => {
          const atTarget = adjustmentsOf({ ...adjusted(target), request: sent })
          return ignored === undefined ? atTarget : [...atTarget, ...ignored]
        }
        const strict = strictRequest(call.input, (target) => adjustments(target, request))
        const offered = { offer: own ?? catalog, router, strict }
        const routing = {
          ...routingOf(call, { request, promptTokens, models: own?.chatModels }, adjusted),
          ...(strict && { refuses: strict.refuses })
        }
        const common = { promptTokens, affinity: affinityKey(call), adjustments }
        return call.input.model === undefined
          ? Effect.mapEager(routedTargets(call, offered, routing), (routed) => ({ ...common, ...routed }))
          : Effect.mapEager(directTargets(call.input.model, offered, routing), (targets) => ({
              ...common,
              targets,
              routed: undefined,
              confirmPin: () => Effect.void
            }))
      }

      return ChooseTargets.of({ choose })
    })
  )
}

/** The targets of a ranking: those of the model that was chosen come first. */
const rankedTargets = (chosen: Model, { candidates, features }: Ranking): TargetChoice["targets"] => {
  const others = candidates.map((candidate) => candidate.model).filter((model) => model !== chosen)
  return servingTargets([chosen, ...others.slice(0, maxModels - 1)], features.needs)
}

/** Those that get the request as it is, if it insists on that. */
const strictly = (
  { strict }: Offered,
  targets: TargetChoice["targets"]
): Effect.Effect<TargetChoice["targets"], Errors.UnsupportedParameter> =>
  strict === undefined ? Effect.succeed(targets) : strict.within(targets)

/** Where the models are called that hold no conversations. */
const routesOf = { transcription: "/v1/audio/transcriptions", embedding: "/v1/embeddings" } as const

/** The targets of the model that a request names. */
const directTargets = (name: string, offered: Offered, routing: RoutingRequest) =>
  Effect.flatMapEager(
    namedModel(offered.offer, name),
    (model): Effect.Effect<TargetChoice["targets"], ChoiceFailure> => {
      const { router, strict } = offered
      if (model.kind !== "chat") return Errors.InvalidModel.of(`model: ${model.id} is for ${routesOf[model.kind]}`)
      if (routing.allowed?.has(model.id) === false)
        return Errors.ModelNotAllowed.of(`This API key may not use ${model.id}`)
      // Whether the prompt fits and which effort is allowed is left to the provider, which knows better than the
      // catalog.
      const exclusion = router.exclusionOf(model, withoutTier({ ...routing, promptTokens: 0 }))
      if (exclusion === "parameters" && strict !== undefined) return strict.refusal([model])
      if (exclusion !== undefined) return Errors.InvalidRequest.of(`${model.id} ${exclusionText[exclusion]}`)
      return strictly(offered, servingTargets([model], requirementsOf(routing)))
    }
  )

/** The request at a target, as far as it decides what becomes of the parameters. */
const adjustedAt =
  (catalog: Catalog["Service"], request: ChatRequest) =>
  ({ endpoint, model }: Target): AdjustedCall => ({
    request,
    model,
    endpoint,
    dialect: catalog.account(endpoint.provider)?.provider.dialect ?? "generic"
  })

const routingOf = (
  { caller, input }: ChatCall,
  {
    models,
    promptTokens,
    request
  }: Pick<RoutingRequest, "request" | "promptTokens"> & {
    readonly models: RoutingRequest["models"] | undefined
  },
  adjusted: (target: Target) => AdjustedCall
): RoutingRequest => ({
  request,
  promptTokens,
  allowed: caller.models,
  ...(models && { models }),
  stream: input.stream,
  ...(hasParameters(request) && {
    takesParameters: (model) => model.endpoints.some((endpoint) => takesParameters(adjusted({ model, endpoint })))
  })
})

/** The model that a session is pinned to, if it is still served and can serve this request. */
const pinnedModel = ({ offer, router }: Offered, id: ModelId, routing: RoutingRequest): Model | undefined => {
  const found = offer.lookup(id)
  if (found._tag !== "Served") return undefined
  // By the contract a pin moves only when its model cannot serve the request. How much it reasons is no reason to move,
  // unless the client switched reasoning off: then a model that reasons all the same would be billed for it.
  const asked = isOptOut(routing.request.reasoning) ? routing : withoutTier(routing)
  return router.exclusionOf(found.model, asked) === undefined ? found.model : undefined
}

/** The same request without its reasoning tier, so that the tier excludes no model. */
const withoutTier = (routing: RoutingRequest): RoutingRequest => {
  const { reasoning: _, ...request } = routing.request
  return { ...routing, request }
}

const affinityKey = ({ caller, input }: ChatCall): string | undefined =>
  input.request.sessionId === undefined
    ? undefined
    : hash("sha256", `${caller.organization}\n${input.request.sessionId}`, "hex").slice(0, 40)
