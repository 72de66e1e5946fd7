/**
 * Amazon Bedrock's Converse, one protocol for models of many makers. No request is weakened silently: what the API has
 * no parameter for goes into the prompt, is dropped if it is only a hint, or is refused.
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
  temperature: "translated",
  topP: "sent",
  stop: "sent",
  frequencyPenalty: "refused",
  presencePenalty: "refused",
  cacheControl: "translated",
  promptCacheKey: "refused",
  promptCacheRetention: "refused",
  sessionId: "refused"
}

export const bedrockConverse: Protocol = {
  fields,
  takesImageUrls: false,
  encode,
  decode,
  reader,
  failure: failureOfResponse
}
