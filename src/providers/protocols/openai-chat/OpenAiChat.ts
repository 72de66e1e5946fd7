/**
 * OpenAI's chat completions, for OpenAI and for every server that copies it. What differs between those servers is in
 * `Dialects`; no other file of this folder may depend on which server it talks to.
 */
import type { FieldTable, Protocol } from "../Protocol.ts"
import { failureOfResponse } from "./Errors.ts"
import { encode } from "./Request.ts"
import { decode, reader } from "./Response.ts"

const fields: FieldTable = {
  messages: "translated",
  tools: "translated",
  toolChoice: "translated",
  parallelToolCalls: "sent",
  responseFormat: "translated",
  reasoning: "translated",
  maxOutputTokens: "translated",
  temperature: "sent",
  topP: "sent",
  stop: "sent",
  frequencyPenalty: "sent",
  presencePenalty: "sent",
  cacheControl: "translated",
  promptCacheKey: "sent",
  promptCacheRetention: "sent",
  // Sent as the cache affinity key of the call; the client's own id is never sent.
  sessionId: "translated"
}

export const openAiChat: Protocol = { fields, takesImageUrls: true, encode, decode, reader, failure: failureOfResponse }
