/**
 * Errors of the Messages API: `{type: "error", error: {type, message, details?: {error_code}}}`, with an error status
 * or as an event of a stream that is named `error`. The types and codes are in `ErrorCodes`.
 */
export {
  classifyBody as failureInBody,
  classifyErrorEvent as failureOfEvent,
  classifyResponse as failureOfResponse
} from "../shared/errors/ErrorClassifier.ts"
