/**
 * Anthropic's Messages API, for Anthropic and for servers that copy it. The gateway never weakens a request in silence:
 * what this protocol has no word for is said in its system prompt, dropped where the contract allows, or refused.
 */
import type { FieldTable, Protocol } from "../Protocol.ts"
import { failureOfResponse } from "../shared/ErrorClassifier.ts"
import { encode } from "./Request.ts"
import { decode, reader } from "./Response.ts"

const fields: FieldTable = {
  messages: "translated",
  tools: "translated",
  toolChoice: "translated",
  parallelToolCalls: "translated",
  responseFormat: "translated",
  reasoning: "translated",
  maxOutputTokens: "translated",
  temperature: "translated",
  topP: "sent",
  stop: "sent",
  frequencyPenalty: "refused",
  presencePenalty: "refused",
  cacheControl: "translated",
  promptCacheKey: "refused",
  promptCacheRetention: "refused",
  // `metadata.user_id` names an end user and is no place for a session.
  sessionId: "refused"
}

export const anthropicMessages: Protocol = {
  fields,
  takesImageUrls: true,
  encode,
  decode,
  reader,
  failure: failureOfResponse
}
