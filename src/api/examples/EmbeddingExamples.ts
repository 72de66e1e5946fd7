/** Requests and answers of `POST /v1/embeddings` for the published document. */
import type { EmbeddingList, EmbeddingRequestBody } from "../Embeddings.ts"
import type { DocumentedExamples } from "../OperationDocs.ts"

type Body = typeof EmbeddingRequestBody.Encoded

const bodies = {
  text: { model: "text-embedding-3-small", input: "The toll for this bridge is two dollars." },
  several: { model: "text-embedding-3-small", input: ["How much is the toll?", "Where is the bridge?"] },
  short: { model: "text-embedding-3-large", input: "How much is the toll?", dimensions: 256 },
  tokens: { model: "text-embedding-3-small", input: [[4438, 1790, 374, 279, 36888, 30]] }
} satisfies { readonly [name: string]: Body }

export const embeddingRequests: DocumentedExamples = {
  text: { summary: "One text", value: bodies.text },
  several: { summary: "Several texts", value: bodies.several },
  short: { summary: "Shorter vectors", value: bodies.short },
  tokens: { summary: "Tokens", value: bodies.tokens }
}

const answer = (embedding: ReadonlyArray<number> | string): typeof EmbeddingList.Encoded => ({
  object: "list",
  data: [{ object: "embedding", index: 0, embedding }],
  model: "text-embedding-3-small",
  usage: { prompt_tokens: 9, total_tokens: 9, cost: 0.000_000_18 },
  svc: { routed: false, routed_model: null, routing_latency_ms: null }
})

/** Vectors of three numbers stand for the real ones, which have a thousand and more. */
export const embeddingAnswers: DocumentedExamples = {
  float: { summary: "Vectors as numbers", value: answer([0.5, -0.25, 0.125]) },
  base64: { summary: "Vectors in base64", value: answer("AAAAPwAAgL4AAAA+") }
}
