/**
 * Errors of the Responses API. Their codes are those of OpenAI in `ErrorCodes`. An error stands in the response object,
 * also in the one that the last event of a stream carries, or in an event of its own that is named `error`.
 */
export {
  classifyBody as failureInBody,
  classifyErrorEvent as failureOfEvent,
  classifyResponse as failureOfResponse
} from "../shared/errors/ErrorClassifier.ts"
