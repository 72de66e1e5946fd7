/**
 * Errors of chat completions. The codes of OpenAI and of the servers that copy it are in `ErrorCodes`. An error comes
 * with an error status, inside a success, or as an event of a stream that is named `error`.
 */
import type { Failure } from "../../../domain/Failure.ts"
import { classifyBody } from "../shared/errors/ErrorClassifier.ts"
import { asArray, asObject, type Fields } from "../shared/Field.ts"

export {
  classifyErrorEvent as failureOfEvent,
  classifyResponse as failureOfResponse
} from "../shared/errors/ErrorClassifier.ts"

/** The failure that a body or chunk reports: on top, or on the first choice as OpenRouter does. */
export const failureInBody = (fields: Fields): Failure | undefined => {
  const choice = asObject(asArray(fields["choices"])[0])
  return classifyBody(fields) ?? (choice && classifyBody(choice))
}
