/**
 * Reads bodies as a strict embedding server does: an unknown member, an empty input and `dimensions` that the model
 * does not take are refused. The directives of all texts count.
 */
import { Result, Schema } from "effect"

import catalog from "../../../catalog/catalog.json" with { type: "json" }
import { noConversation, type SimulatedRequest } from "../../SimulatedRequest.ts"

const Tokens = Schema.NonEmptyArray(Schema.Int)
const Request = Schema.Struct({
  model: Schema.NonEmptyString,
  input: Schema.Union([Schema.NonEmptyArray(Schema.NonEmptyString), Schema.NonEmptyArray(Tokens)]),
  encoding_format: Schema.optional(Schema.Literals(["float", "base64"])),
  dimensions: Schema.optional(Schema.Int),
  output_dimension: Schema.optional(Schema.Int)
})

const decode = Schema.decodeUnknownResult(Request, { onExcessProperty: "error" })

/** The lengths of vectors by the names of models at their providers. */
const lengths = new Map(
  catalog.embedding_models.flatMap(({ dimensions, endpoints, min_dimensions: min }) =>
    endpoints.map(({ upstream }) => [upstream, { usual: dimensions, min }] as const)
  )
)

/** The length of vectors of models that only an operator knows. */
const unknownLength = { usual: 1_024, min: 1 }

/** The members that a provider with a form of its own does not know, by account. */
const unknownMembers: { readonly [account: string]: ReadonlyArray<string> } = {
  openai: ["output_dimension"],
  openrouter: ["output_dimension"],
  mistral: ["dimensions"]
}

/** The request of a body, or the message of the error that refuses it. */
export const readRequest = (body: unknown, _target: string, account = ""): Result.Result<SimulatedRequest, string> => {
  const decoded = decode(body)
  if (Result.isFailure(decoded)) return Result.fail("'$.input' is invalid. Please check the API reference.")
  const { dimensions, encoding_format, input, model, output_dimension } = decoded.success
  const surplus = Object.keys(decoded.success).find((name) => unknownMembers[account]?.includes(name))
  if (surplus !== undefined) return Result.fail(`${surplus}: Extra inputs are not permitted`)
  const { min, usual } = lengths.get(model) ?? unknownLength
  const asked = dimensions ?? output_dimension
  if (asked !== undefined && min === undefined) return Result.fail("This model does not support specifying dimensions.")
  if (asked !== undefined && (asked < (min ?? 1) || asked > usual))
    return Result.fail(`Invalid value for 'dimensions' = ${asked}.`)
  const text = input.map((one) => (typeof one === "string" ? one : one.join(" "))).join("\n")
  return Result.succeed({
    ...noConversation,
    model,
    messageCount: input.length,
    promptText: text,
    lastUserText: text,
    audioCount: 0,
    embedding: { inputs: input, dimensions: asked ?? usual, isBase64: encoding_format === "base64" }
  })
}
