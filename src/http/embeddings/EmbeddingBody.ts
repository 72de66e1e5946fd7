/**
 * Reads and checks the body of a request for embeddings, in the order that the contract gives to the errors of chats.
 * Every error names the field and the rule, and none of them quotes an input.
 */
import { Result } from "effect"

import { InvalidModel, InvalidRequest, UnsupportedParameter } from "../../api/Errors.ts"
import { type EmbeddingInput, type EmbeddingRequest, maxEmbeddingInputs } from "../../domain/Embedding.ts"
import { isAbsent, isPlainObject, type JsonObject } from "../../domain/JsonObject.ts"
import { fieldsIn } from "../completion/BodyFields.ts"
import { choicesFrom } from "../completion/ChoicesFromWire.ts"
import type { BodyError } from "../completion/ClientProtocol.ts"
import { badCallName, badEndUser, callNameIn } from "../completion/ContextChecks.ts"
import { isLabel, maxEndUserIdLength } from "../edge/RequestLabels.ts"

/** How vectors are encoded in the answer. */
export type EncodingFormat = "float" | "base64"

/** A body whose fields are valid in themselves. The model has yet to be looked up. */
export interface EmbeddingBody {
  readonly model: string
  readonly request: EmbeddingRequest
  readonly format: EncodingFormat
  readonly callName: string | undefined
  readonly endUserId: string | undefined
}

export interface EmbeddingContext {
  /** `<service>-auto`, of which `<service>` is also a member of bodies. */
  readonly autoModel: string
  /** The value of the header `x-end-user-id`. */
  readonly endUserHeader: string | undefined
}

export const readEmbeddingBody = (
  text: string,
  { autoModel, endUserHeader }: EmbeddingContext
): Result.Result<EmbeddingBody, BodyError> =>
  Result.gen(function* () {
    const fields = yield* fieldsIn(text)
    yield* withoutChoices(fields, autoModel)
    const metadata = yield* metadataIn(fields)
    const error = badCallName(metadata) ?? badEndUser(endUserHeader)
    if (error !== undefined) return yield* Result.fail(error)
    const callName = callNameIn(metadata)
    const endUserId = endUserHeader ?? endUserIn(fields, metadata)
    const inputs = yield* inputsIn(fields["input"])
    const dimensions = yield* dimensionsIn(fields["dimensions"])
    const format = yield* formatIn(fields["encoding_format"])
    const { model } = fields
    if (typeof model !== "string" || model === "")
      return yield* Result.fail(InvalidModel.of("model must be the id of an embedding model, as text; see /v1/models"))
    const request: EmbeddingRequest = { inputs, ...(dimensions !== undefined && { dimensions }) }
    return { model, request, format, callName, endUserId }
  })

const invalid = (message: string): Result.Result<never, InvalidRequest> => Result.fail(InvalidRequest.of(message))

/** A client that chooses providers or limits the cost relies on it, and nothing here would heed it. */
const withoutChoices = (fields: JsonObject, autoModel: string) =>
  Result.flatMap(choicesFrom(fields, autoModel), ({ choices }) => {
    if (choices === undefined) return Result.succeed(undefined)
    const name = choices.models ? "models" : choices.provider ? "provider" : "cost_quality or max_cost_usd"
    return Result.fail(UnsupportedParameter.of(`${name} is not supported: only chats choose models and providers`))
  })

const metadataIn = ({ metadata }: JsonObject): Result.Result<JsonObject, InvalidRequest> => {
  if (isAbsent(metadata)) return Result.succeed({})
  return isPlainObject(metadata) ? Result.succeed(metadata) : invalid("metadata must be an object")
}

/** What is no label counts as none: it may be there for somebody else. */
const endUserIn = ({ user }: JsonObject, { end_user_id: id }: JsonObject): string | undefined =>
  [id, user].find((value) => isLabel(value, maxEndUserIdLength))

const dimensionsIn = (value: unknown): Result.Result<number | undefined, InvalidRequest> => {
  if (isAbsent(value)) return Result.succeed(undefined)
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1
    ? Result.succeed(value)
    : invalid("dimensions must be a whole number of at least 1")
}

const formatIn = (value: unknown): Result.Result<EncodingFormat, InvalidRequest> => {
  if (isAbsent(value)) return Result.succeed("float")
  return value === "float" || value === "base64"
    ? Result.succeed(value)
    : invalid("encoding_format must be float or base64")
}

const inputRule = "input must be a text, a list of texts, a list of tokens or a list of lists of tokens"

const isToken = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0

const inputsIn = (value: unknown): Result.Result<EmbeddingRequest["inputs"], InvalidRequest> => {
  if (isAbsent(value)) return invalid("input is missing")
  if (typeof value === "string") return value === "" ? invalid("input is empty") : Result.succeed([value])
  if (!Array.isArray(value)) return invalid(inputRule)
  const list: ReadonlyArray<unknown> = value
  if (list.length === 0) return invalid("input is empty")
  if (list.every(isToken)) return Result.succeed([list])
  const empty = list.findIndex((input) => input === "" || (Array.isArray(input) && input.length === 0))
  if (empty !== -1) return invalid(`input[${empty}] is empty`)
  if (list.length > maxEmbeddingInputs) return invalid(`input must have at most ${maxEmbeddingInputs} inputs`)
  if (list.every(isText)) return Result.succeed(list)
  return list.every(isTokens) ? Result.succeed(list) : invalid(inputRule)
}

const isText = (input: unknown): input is Extract<EmbeddingInput, string> => typeof input === "string"

const isTokens = (input: unknown): input is ReadonlyArray<number> => Array.isArray(input) && input.every(isToken)
