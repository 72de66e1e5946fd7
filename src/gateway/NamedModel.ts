/**
 * From the name that a request gives to the catalog model, and from models to the targets that dispatch can call. Every
 * error names the model as the client wrote it.
 */
import { Array as Arr, Effect, Order, Result } from "effect"

import { InvalidModel } from "../api/Errors.ts"
import type { Endpoint, Model } from "../catalog/Model.ts"
import type { Offer } from "../catalog/Offer.ts"
import type { Target } from "../providers/dispatch/Target.ts"

/**
 * The endpoints of each model in turn, in the order of the models. With an output limit that is too small for some of
 * them, the others of the same model come first.
 */
export const targetsOf = (
  models: Arr.NonEmptyReadonlyArray<Model>,
  outputLimit?: number
): readonly [Target, ...Array<Target>] =>
  Arr.flatMap(models, (model) =>
    Arr.map(Arr.sort(model.endpoints, byOutputLimit(outputLimit ?? smallestOutputLimit)), (endpoint): Target => ({
      model,
      endpoint
    }))
  )

/** The Responses API refuses smaller limits; there the gateway cuts the answer, and pays for what it cuts. */
const smallestOutputLimit = 16

const byOutputLimit = (outputLimit: number) =>
  Order.mapInput(Order.Boolean, ({ protocol }: Endpoint) => {
    return protocol === "openai-responses" && outputLimit < smallestOutputLimit
  })

/**
 * The model that a request names. Fails when the name is unknown, or when none of its providers is switched on. `path`
 * is the member that names it.
 */
export const findModel = ({ lookup }: Offer, name: string, path: string): Result.Result<Model, InvalidModel> => {
  const found = lookup(name)
  switch (found._tag) {
    case "Served":
      return Result.succeed(found.model)
    case "Unknown":
      return Result.fail(InvalidModel.of(`${path}: ${quoted(name)} is not a model of this gateway; see /v1/models`))
    case "Unserved":
      return Result.fail(
        InvalidModel.of(
          `${path}: no provider of ${name} is switched on; an operator can set ${found.variables.join(" or ")}`
        )
      )
  }
}

/** The same for the one model of a request. */
export const namedModel = (offer: Offer, name: string): Effect.Effect<Model, InvalidModel> =>
  Effect.fromResult(findModel(offer, name, "model"))

/** A name from a request in quotes, cut to 128 characters for an error message. */
export const quoted = (name: string): string => JSON.stringify(name.length > 128 ? `${name.slice(0, 128)}…` : name)
