/** The steps by which a body becomes fields and these become what a schema declares, the same for every JSON body. */
import { Exit, Option, Result, type Schema } from "effect"

import { InvalidModel, InvalidRequest } from "../../api/Errors.ts"
import { isAbsent, type JsonObject } from "../../domain/JsonObject.ts"
import { parseJsonObject } from "../edge/JsonBody.ts"
import { firstIssue } from "../edge/SchemaIssues.ts"

/** The members of a body, which must be a JSON object. */
export const fieldsIn = (text: string): Result.Result<JsonObject, InvalidRequest> =>
  Result.mapError(parseJsonObject(text), ({ message }) => InvalidRequest.of(message))

/** What a schema made of a body; otherwise the first thing that it found wrong, or `message` where it names none. */
export const decodedBody = <A>(
  exit: Exit.Exit<A, Schema.SchemaError>,
  message = "The request body is not a valid request"
): Result.Result<A, InvalidRequest> => {
  if (Exit.isSuccess(exit)) return Result.succeed(exit.value)
  const issue = Option.flatMapNullishOr(Exit.findErrorOption(exit), firstIssue)
  return Result.fail(InvalidRequest.of(Option.getOrElse(issue, () => message)))
}

/** A model that is not text is reported after everything else, as an unknown model would be. */
export const modelIsText = ({ model }: JsonObject): boolean => isAbsent(model) || typeof model === "string"

export const modelIsNoText = () => InvalidModel.of("model must be the id of a model, as text")
