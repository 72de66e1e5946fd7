/**
 * OpenAI's Responses API, for OpenAI, Azure and xAI. The provider stores nothing: every request carries the whole
 * conversation, and with it the encrypted reasoning that the model returned. Only that model gets it back.
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
  // The API knows no stop sequences, so the gateway cuts the text at them.
  stop: "translated",
  frequencyPenalty: "refused",
  presencePenalty: "refused",
  // Breakpoints on parts, for models that accept them; without any, prompts are cached automatically.
  cacheControl: "translated",
  promptCacheKey: "sent",
  promptCacheRetention: "sent",
  // Sent as the cache affinity key of the call; the client's own id is never sent.
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
