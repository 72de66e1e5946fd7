/**
 * Google's generateContent, as the Gemini API serves it. No request is weakened silently: what the API has no parameter
 * for goes into the system instruction, is dropped if it is only a hint, or is refused.
 */
import type { FieldTable, Protocol } from "../Protocol.ts"
import { failureOfResponse } from "./Errors.ts"
import { encode } from "./Request.ts"
import { decode, reader } from "./Response.ts"

const fields: FieldTable = {
  messages: "translated",
  tools: "translated",
  toolChoice: "translated",
  // The API has no such parameter; calls after the first are left out of the answer.
  parallelToolCalls: "translated",
  responseFormat: "translated",
  reasoning: "translated",
  maxOutputTokens: "translated",
  temperature: "sent",
  topP: "sent",
  stop: "sent",
  frequencyPenalty: "sent",
  presencePenalty: "sent",
  // Prefixes are cached automatically.
  cacheControl: "refused",
  promptCacheKey: "refused",
  promptCacheRetention: "refused",
  sessionId: "refused"
}

export const gemini: Protocol = { fields, takesImageUrls: false, encode, decode, reader, failure: failureOfResponse }
