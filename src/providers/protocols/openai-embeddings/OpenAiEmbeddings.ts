/** OpenAI's embeddings, for OpenAI and for every server that copies them. */
import type { EmbeddingProtocol } from "../Protocol.ts"
import { failureOfResponse } from "./Errors.ts"
import { encode } from "./Request.ts"
import { decode } from "./Response.ts"

export const openAiEmbeddings: EmbeddingProtocol = {
  fields: { inputs: "sent", dimensions: "translated" },
  encode,
  decode,
  failure: failureOfResponse
}
