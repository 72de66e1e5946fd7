/**
 * OpenAI's chat completions, for OpenAI and for every server that copies it. Whatever differs between those servers is
 * in `Dialects`; nothing else in these files may ask which server it talks to.
 */
import type { FieldTable, Protocol } from "../Protocol.ts"
import { failureOfResponse } from "../shared/ErrorClassifier.ts"
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
  // As the cache affinity that the call carries: the client's own id never leaves the house.
  sessionId: "translated"
}

export const openAiChat: Protocol = { fields, takesImageUrls: true, encode, decode, reader, failure: failureOfResponse }
