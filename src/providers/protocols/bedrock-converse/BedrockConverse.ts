/**
 * Amazon Bedrock's Converse, one protocol for models of many makers. The gateway never weakens a request in silence:
 * what this protocol has no word for is said in its prompt, dropped where the contract allows, or refused.
 */
import type { FieldTable, Protocol } from "../Protocol.ts"
import { failureOf } from "./Errors.ts"
import { encode } from "./Request.ts"
import { decode, reader } from "./Response.ts"

const fields: FieldTable = {
  messages: "translated",
  tools: "translated",
  toolChoice: "translated",
  // There is no switch; calls after the first are left out of the answer.
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

export const bedrockConverse: Protocol = { fields, takesImageUrls: false, encode, decode, reader, failure: failureOf }
