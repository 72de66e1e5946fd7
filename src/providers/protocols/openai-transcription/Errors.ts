/** Errors of transcription servers, which differ from those of chat in one point. */
import type { Failure } from "../../../domain/Failure.ts"
import type { ErrorResponse } from "../Protocol.ts"
import { classifyResponse, withKind } from "../shared/errors/ErrorClassifier.ts"

export { classifyBody as failureInBody } from "../shared/errors/ErrorClassifier.ts"

/**
 * A context window says nothing about how much audio a model accepts, so a recording that is too long for one model may
 * suit any other. Therefore `ContextTooLong`, which rules out models with a smaller window, becomes `Unsupported`.
 */
export const failureOfResponse = (response: ErrorResponse): Failure => {
  const failure = classifyResponse(response)
  return failure.reason._tag === "ContextTooLong" ? withKind(failure, "Unsupported") : failure
}
