/**
 * Anthropic's Messages API, for Anthropic and for servers that copy it. No request is weakened silently: what the API
 * has no parameter for goes into the system prompt, is dropped if it is only a hint, or is refused.
 */
import type { FieldTable, Protocol } from "../Protocol.ts"
import { failureOfResponse } from "./Errors.ts"
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
  // `metadata.user_id` identifies an end user, which a session is not.
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
