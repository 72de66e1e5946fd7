/**
 * The embeddings of some inputs. HTTP authenticates the caller, applies the rate limit and reads the body; what follows
 * is here and in `NamedModelCall`. Only the endpoints of one model can stand in for each other, because the vectors of
 * two models have nothing in common.
 */
import { Context, Effect, Layer } from "effect"

import { type EmbeddingError, InvalidModel, InvalidRequest } from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { Model } from "../catalog/Model.ts"
import type { Caller } from "../domain/Caller.ts"
import { type EmbeddingRequest, type Embeddings, hasTokens } from "../domain/Embedding.ts"
import type { ModelId, RequestId } from "../domain/Ids.ts"
import {
  billedEmbedding,
  type EmbeddingSize,
  embeddingSizeOf,
  estimateEmbedding,
  worstEmbedding
} from "../ledger/EmbeddingPricing.ts"
import { Dispatch } from "../providers/dispatch/Dispatch.ts"
import type { ChargedUsage } from "./Charging.ts"
import { namedModel, targetsOf } from "./NamedModel.ts"
import { type NamedModelCall, namedModelCalls } from "./NamedModelCall.ts"
import type { RequestFacts } from "./ReceiptDraft.ts"

/** A request for embeddings whose body was read and checked. */
export interface EmbeddingCall {
  /** Also the id of the hold, the charge and the receipt. */
  readonly id: RequestId
  /** Whether an earlier try, with the same Idempotency-Key, may have been charged under this id. */
  readonly mayBeCharged?: boolean
  readonly caller: Caller
  /** As the client wrote it. */
  readonly requestedModel: string
  readonly model: Model
  readonly request: EmbeddingRequest
  readonly callName: string | undefined
  readonly endUserId: string | undefined
}

/** Embeddings that have been charged. */
export interface EmbeddingResult extends ChargedUsage {
  readonly model: ModelId
  /** In the order of the inputs. */
  readonly vectors: Embeddings["vectors"]
}

export interface EmbedInputsOptions {
  readonly serviceName: string
}

export class EmbedInputs extends Context.Service<
  EmbedInputs,
  {
    /** The model that a request names, if it makes embeddings, and such as the request asks for. */
    readonly resolve: (name: string, request: EmbeddingRequest) => Effect.Effect<Model, InvalidModel | InvalidRequest>
    /** Embeds the inputs and charges for them. A request that fails costs nothing. */
    readonly embed: (call: EmbeddingCall) => Effect.Effect<EmbeddingResult, EmbeddingError>
  }
>()("tollgate/gateway/EmbedInputs") {
  static readonly layer = (options: EmbedInputsOptions) => Layer.effect(EmbedInputs, make(options))
}

const make = Effect.fnUntraced(function* ({ serviceName }: EmbedInputsOptions) {
  const catalog = yield* Catalog
  const dispatch = yield* Dispatch
  const answer = yield* namedModelCalls
  const autoModel = `${serviceName}-auto`

  const resolve = Effect.fnUntraced(function* (name: string, request: EmbeddingRequest) {
    if (name === autoModel)
      return yield* InvalidModel.of(`model: ${name} chooses among models for chats; name an embedding model`)
    const model = yield* namedModel(catalog, name)
    if (model.kind !== "embedding") return yield* InvalidModel.of(`model: ${name} does not make embeddings`)
    const fault = faultOf(model, request)
    return fault === undefined ? model : yield* InvalidRequest.of(fault)
  })

  const callOf = (call: EmbeddingCall, size: EmbeddingSize): NamedModelCall<Embeddings> => {
    const { mayBeCharged = false, model } = call
    // Where the length cannot be chosen, providers refuse to be told it.
    const request = model.dimensions?.min === undefined ? { inputs: call.request.inputs } : call.request
    const inputs = request.inputs.length
    return {
      facts: requestFacts(call),
      mayBeCharged,
      targets: targetsOf([model]),
      expectedTokens: () => size.expected,
      estimate: (endpoint) => estimateEmbedding(endpoint, size, inputs),
      worst: (endpoint) => worstEmbedding(endpoint, size, inputs),
      adjustments: () => [],
      send: (held, targets) => dispatch.embed({ held, request, targets }),
      billed: (_endpoint, embeddings) => billedEmbedding(size, embeddings)
    }
  }

  return EmbedInputs.of({
    resolve,
    embed: (call) =>
      Effect.map(answer(callOf(call, embeddingSizeOf(call.request))), ({ cost, target, usage, value }) => ({
        model: target.model.id,
        vectors: value.vectors,
        cost,
        usage
      }))
  })
})

/** What of a request this model cannot do. How many tokens a text has, only the provider knows. */
const faultOf = (model: Model, request: EmbeddingRequest): string | undefined => {
  const { dimensions, inputs } = request
  const { id, takesTokens = false } = model
  if (hasTokens(request)) {
    if (!takesTokens) return `input: ${id} takes texts, and no tokens`
    const limit = Math.max(...model.endpoints.map(({ contextWindow }) => contextWindow))
    const tooLong = inputs.findIndex((input) => input.length > limit)
    if (tooLong !== -1) return `input[${tooLong}]: ${id} takes at most ${limit} tokens`
  }
  if (dimensions === undefined) return undefined
  const { min, usual } = model.dimensions ?? {}
  // The length that a model has anyway can be asked for at any model.
  if (dimensions === usual || (min !== undefined && usual !== undefined && dimensions >= min && dimensions <= usual))
    return undefined
  if (min !== undefined) return `dimensions: must be from ${min} to ${usual} for ${id}`
  return `dimensions: cannot be chosen for ${id}${usual === undefined ? "" : `, whose vectors have ${usual}`}`
}

const requestFacts = ({ callName, caller, endUserId, id, requestedModel }: EmbeddingCall): RequestFacts => ({
  id,
  caller,
  stream: false,
  requestedModel,
  ...(callName !== undefined && { callName }),
  ...(endUserId !== undefined && { endUserId })
})
