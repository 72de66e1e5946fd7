/**
 * Chooses which targets may answer a chat request, best first: the endpoints of the named model on a direct call, else
 * those of the session's pinned model and of the router's ranking. A direct call never leaves its model. A routed
 * request may fail over to the next candidate. The model that answers a session first is its pin; when a pinned model
 * fails later, the session keeps its pin.
 */
import { hash } from "node:crypto"

import { Context, Effect, Layer, Result } from "effect"

import type * as Errors from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { makeOffers } from "../catalog/Offer.ts"
import { providerNames } from "../catalog/ProviderNames.ts"
import type { ChatRequest } from "../domain/Conversation.ts"
import type { EndpointId, ModelId, ProviderId } from "../domain/Ids.ts"
import { estimatePromptTokens } from "../domain/TokenCount.ts"
import type { Target } from "../providers/dispatch/Target.ts"
import {
  type AdjustedCall,
  type Adjustment,
  adjustmentsOf,
  hasParameters,
  takesParameters
} from "../providers/protocols/Adjustments.ts"
import { Router } from "../routing/Router.ts"
import type { RoutingRequest } from "../routing/RoutingRequest.ts"
import type { ChatCall } from "./ChatCall.ts"
import { directTargets } from "./DirectTargets.ts"
import { EndpointSpeeds, type MeasuredAnswer } from "./EndpointSpeeds.ts"
import { narrowingOf } from "./NarrowedModels.ts"
import type { Offered } from "./OfferedModels.ts"
import { type Routed, routedTargetChooser } from "./RoutedTargets.ts"
import type { Targets } from "./ServingTargets.ts"
import { strictRequest } from "./StrictRequests.ts"

export interface TargetChoice {
  /** Best first, at least one. */
  readonly targets: Targets
  /** The output limits with which endpoints cost no more than the request may. Absent where it sets no such limit. */
  readonly outputLimits?: ReadonlyMap<EndpointId, number>
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
  /** Takes how fast a target answered, by which later requests may order their endpoints. */
  readonly observeSpeed: (endpoint: EndpointId, answer: MeasuredAnswer) => void
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
      const routedTargets = yield* routedTargetChooser
      const offerAt = makeOffers(catalog)

      const chatModels = catalog.models.filter(({ kind }) => kind === "chat")
      const speeds = new EndpointSpeeds()
      const narrowingFor = makeNarrowing(catalog, speeds)
      const observeSpeed = (endpoint: EndpointId, answer: MeasuredAnswer) => speeds.observe(endpoint, answer)

      /** At once, unless there is a session: nothing else is waited for. */
      const choose = (call: ChatCall, request: ChatRequest): Effect.Effect<TargetChoice, ChoiceFailure> => {
        const promptTokens = estimatePromptTokens(request)
        const adjusted = adjustedAt(catalog, request)
        const own = offerAt(call.caller.pricing)
        const narrowed = narrowingFor(call, { request, promptTokens }, adjusted)
        if (narrowed !== undefined && Result.isFailure(narrowed)) return narrowed.failure
        const narrowing = narrowed?.success
        const all = own?.chatModels ?? chatModels
        const adjustments = adjustmentsNamed(call.input, adjusted)
        const strict = strictRequest(call.input, (target) => adjustments(target, request))
        const offered: Offered = { offer: own ?? catalog, router, narrowing, strict, models: all }
        const models = narrowing ? all.flatMap((model) => narrowing.narrow(model) ?? []) : own?.chatModels
        const routing = {
          ...routingOf(call, { request, promptTokens, models }, adjusted),
          ...(strict && { refuses: strict.refuses })
        }
        const common = {
          promptTokens,
          affinity: affinityKey(call),
          adjustments,
          observeSpeed,
          ...(narrowing && narrowing.outputLimits.size > 0 && { outputLimits: narrowing.outputLimits })
        }
        if (call.input.model === undefined)
          return Effect.mapEager(routedTargets(call, offered, routing), (routed) => ({ ...common, ...routed }))
        const direct = directTargets(call.input.model, call.input, offered, routing)
        return Effect.fromResult(
          Result.map(direct, (targets) => ({ ...common, targets, routed: undefined, confirmPin: () => Effect.void }))
        )
      }

      return ChooseTargets.of({ choose })
    })
  )
}

/**
 * Yields a function from a request to what its choices leave of the models; `undefined` for a request that leaves them
 * as they are.
 */
const makeNarrowing = ({ data: { providers } }: Catalog["Service"], speeds: EndpointSpeeds) => {
  const resolve = providerNames(Array.from(providers.values(), ({ id }) => id))
  const policyOf = (provider: ProviderId) => providers.get(provider)?.dataPolicy
  return (
    { input: { choices, reasoning } }: ChatCall,
    asked: Pick<RoutingRequest, "request" | "promptTokens">,
    adjusted: (target: Target) => AdjustedCall
  ) => {
    if (choices === undefined || (choices.provider === undefined && choices.maxCost === undefined)) return undefined
    // Thinking that the client did not ask for is none of its parameters.
    const asksThinking = Object.keys(reasoning).length > 0
    const getsAll = (target: Target): boolean =>
      adjustmentsOf(adjusted(target)).every((one) => !asksThinking && one.startsWith("reasoning."))
    return narrowingOf(choices, { ...asked, resolve, policyOf, getsAll, speeds })
  }
}

/** What a target does not get of a request, and what no target gets. */
const adjustmentsNamed =
  ({ ignored }: ChatCall["input"], adjusted: (target: Target) => AdjustedCall): TargetChoice["adjustments"] =>
  (target, sent) => {
    const atTarget = adjustmentsOf({ ...adjusted(target), request: sent })
    return ignored === undefined ? atTarget : [...atTarget, ...ignored]
  }

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
  ...(input.choices?.costQuality !== undefined && { costQuality: input.choices.costQuality }),
  ...(hasParameters(request) && {
    takesParameters: (model) => model.endpoints.some((endpoint) => takesParameters(adjusted({ model, endpoint })))
  })
})

const affinityKey = ({ caller, input }: ChatCall): string | undefined =>
  input.request.sessionId === undefined
    ? undefined
    : hash("sha256", `${caller.organization}\n${input.request.sessionId}`, "hex").slice(0, 40)
