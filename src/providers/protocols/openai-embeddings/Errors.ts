/** Errors of embedding servers, which are those of chats. */
export {
  classifyBody as failureInBody,
  classifyResponse as failureOfResponse
} from "../shared/errors/ErrorClassifier.ts"
