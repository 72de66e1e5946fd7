/**
 * The targets of a call that names its models: one, or several in the order in which they are to be tried. Every name
 * must be that of a model; models that the key may not use, that cannot serve the request or that its choices leave out
 * are passed over, as long as one is left.
 */
import { Array as Arr, Result } from "effect"

import * as Errors from "../api/Errors.ts"
import type { Model } from "../catalog/Model.ts"
import { requirementsOf, type RoutingRequest } from "../routing/RoutingRequest.ts"
import type { ChatInput } from "./ChatCall.ts"
import { findModel } from "./NamedModel.ts"
import { choiceText, exclusionText } from "./NoCandidate.ts"
import type { Offered } from "./OfferedModels.ts"
import { servingTargets, type Targets, withoutTier } from "./ServingTargets.ts"

type DirectFailure = Errors.InvalidModel | Errors.InvalidRequest | Errors.ModelNotAllowed | Errors.UnsupportedParameter

/** The targets of the model that a request names, and of those that it falls back to. */
export const directTargets = (
  name: string,
  { choices }: ChatInput,
  offered: Offered,
  routing: RoutingRequest
): Result.Result<Targets, DirectFailure> => {
  if (choices?.costQuality !== undefined) {
    return Result.fail(
      Errors.UnsupportedParameter.of("cost_quality is for routed requests, and this one names its model")
    )
  }
  return Result.flatMap(
    namedModels(offered, namesOf(name, choices?.models ?? [])),
    (models): Result.Result<Targets, DirectFailure> => {
      const refusals: Array<Refusal> = []
      const serving: Array<Model> = []
      for (const model of models) {
        const narrowed = servingModel(model, offered, routing)
        if (isRefusal(narrowed)) refusals.push(narrowed)
        else serving.push(narrowed)
      }
      if (!Arr.isArrayNonEmpty(serving)) return Result.fail(refusalOf(refusals))
      const targets = servingTargets(serving, requirementsOf(routing), offered.narrowing)
      return offered.strict === undefined ? Result.succeed(targets) : offered.strict.within(targets)
    }
  )
}

/** The models that a routed request fails over to, in place of the other candidates, as far as they can serve it. */
export const fallbackModels = (
  fallbacks: ReadonlyArray<Fallback>,
  offered: Offered,
  routing: RoutingRequest
): Result.Result<ReadonlyArray<Model>, Errors.InvalidModel> => {
  const names = fallbacks.map((fallback) => ({ name: fallback.name, path: pathOf(fallback) }))
  return Result.map(namedModels(offered, names), (models) =>
    models.flatMap((model) => {
      const narrowed = servingModel(model, offered, routing)
      return isRefusal(narrowed) ? [] : [narrowed]
    })
  )
}

type Fallback = NonNullable<NonNullable<ChatInput["choices"]>["models"]>[number]

interface NamedAt {
  readonly name: string
  readonly path: string
}

const pathOf = ({ index }: Fallback): string => `models[${index}]`

const namesOf = (name: string, fallbacks: ReadonlyArray<Fallback>): ReadonlyArray<NamedAt> => {
  const listed = fallbacks.map((fallback) => ({ name: fallback.name, path: pathOf(fallback) }))
  return listed[0]?.name === name ? listed : [{ name, path: "model" }, ...listed]
}

/** Where the models are called that hold no conversations. */
const routesOf = { transcription: "/v1/audio/transcriptions", embedding: "/v1/embeddings" } as const

/** Each model once, where it is named first. */
const namedModels = (
  { offer }: Offered,
  names: ReadonlyArray<NamedAt>
): Result.Result<ReadonlyArray<Model>, Errors.InvalidModel> => {
  const models: Array<Model> = []
  for (const { name, path } of names) {
    const found = findModel(offer, name, path)
    if (Result.isFailure(found)) return Result.fail(found.failure)
    const model = found.success
    if (model.kind !== "chat") {
      return Result.fail(Errors.InvalidModel.of(`${path}: ${model.id} is for ${routesOf[model.kind]}`))
    }
    if (!models.includes(model)) models.push(model)
  }
  return Result.succeed(models)
}

type Refusal = Errors.ModelNotAllowed | Errors.InvalidRequest | Errors.UnsupportedParameter

const isRefusal = (result: Model | Refusal): result is Refusal => "_tag" in result

/** The model with the endpoints that the choices leave, or why it cannot serve the request. */
const servingModel = (
  model: Model,
  { narrowing, router, strict }: Offered,
  routing: RoutingRequest
): Model | Refusal => {
  if (routing.allowed?.has(model.id) === false) {
    return Errors.ModelNotAllowed.of(`This API key may not use ${model.id}`)
  }
  const narrowed = narrowing === undefined ? model : narrowing.narrow(model)
  if (narrowed === undefined) {
    return Errors.InvalidRequest.of(`${model.id} ${choiceText(narrowing?.exclusionsOf(model) ?? [])}`)
  }
  // Whether the prompt fits and which effort is allowed is left to the provider, which knows better than the catalog.
  const exclusion = router.exclusionOf(narrowed, withoutTier({ ...routing, promptTokens: 0 }))
  if (exclusion === "parameters" && strict !== undefined) return strict.refusal([narrowed])
  return exclusion === undefined ? narrowed : Errors.InvalidRequest.of(`${model.id} ${exclusionText[exclusion]}`)
}

/** The one refusal, or all of them as one: of models of which the key may use none, it is 403. */
const refusalOf = (refusals: ReadonlyArray<Refusal>): Refusal => {
  const [first, ...others] = refusals
  const message = refusals.map(({ error }) => error.message).join("; ")
  if (first !== undefined && others.length === 0) return first
  return refusals.every(({ _tag }) => _tag === "ModelNotAllowed")
    ? Errors.ModelNotAllowed.of(message)
    : Errors.InvalidRequest.of(message)
}
