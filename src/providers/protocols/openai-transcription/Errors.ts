/** Errors of transcription servers, which differ from those of chat in one point. */
import { Failure } from "../../../domain/Failure.ts"
import type { ErrorResponse } from "../Protocol.ts"
import { failureOfResponse } from "../shared/ErrorClassifier.ts"

/**
 * A context window says nothing about how much audio a model accepts, so a recording that is too long for one model may
 * suit any other. Therefore `ContextTooLong`, which rules out models with a smaller window, becomes `Unsupported`.
 */
export const failureOf = (response: ErrorResponse): Failure => {
  const failure = failureOfResponse(response)
  const { message, reason, status } = failure
  return reason._tag === "ContextTooLong"
    ? new Failure({ reason: { _tag: "Unsupported" }, message, ...(status !== undefined && { status }) })
    : failure
}
