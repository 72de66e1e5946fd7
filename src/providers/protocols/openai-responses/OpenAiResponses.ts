/**
 * OpenAI's Responses API, for OpenAI, Azure and xAI. Nothing is kept at the provider: every request carries the whole
 * conversation, with the reasoning that the model gave out encrypted, and only that model gets it back.
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
  // The API has no word for it: the gateway cuts the text by itself.
  stop: "translated",
  frequencyPenalty: "refused",
  presencePenalty: "refused",
  // Marks on parts, for the models that take them; prompts are cached without being asked to.
  cacheControl: "translated",
  promptCacheKey: "sent",
  promptCacheRetention: "sent",
  // As the cache affinity that the call carries: the client's own id never leaves the house.
  sessionId: "translated"
}

export const openAiResponses: Protocol = {
  fields,
  takesImageUrls: true,
  encode,
  decode,
  reader,
  failure: failureOfResponse
}
