/**
 * Encodes embeddings for the wire, in the encoding that the client asked for. Two thousand vectors as numbers take a
 * second to write, so other requests get their turn in between.
 */
import { Effect } from "effect"

import type { EmbeddingUsage } from "../../api/Embeddings.ts"
import { vectorToBase64 } from "../../domain/Embedding.ts"
import { toUsdNumber } from "../../domain/Money.ts"
import { promptTokens } from "../../domain/Usage.ts"
import type { EmbeddingResult } from "../../gateway/EmbedInputs.ts"
import type { RecordedAnswer } from "../../idempotency/IdempotentRequest.ts"
import type { EncodingFormat } from "./EmbeddingBody.ts"

/** How many vectors are written at a time. */
const vectorsAtOnce = 32

/** An `EmbeddingList` of the API. */
export const embeddingAnswer = Effect.fnUntraced(function* (
  { cost, model, usage, vectors }: EmbeddingResult,
  { format, serviceName }: { readonly format: EncodingFormat; readonly serviceName: string }
) {
  const pieces: Array<Buffer> = [Buffer.from('{"object":"list","data":[')]
  for (let start = 0; start < vectors.length; start += vectorsAtOnce) {
    if (start > 0) yield* Effect.yieldNow
    const written = vectors
      .slice(start, start + vectorsAtOnce)
      .map((vector, offset) => itemOf(vector, start + offset, format))
    pieces.push(Buffer.from((start > 0 ? "," : "") + written.join(",")))
  }
  const prompt = promptTokens(usage)
  const counts: EmbeddingUsage = { prompt_tokens: prompt, total_tokens: prompt, cost: toUsdNumber(cost) }
  const rest = { model, usage: counts, [serviceName]: notRouted }
  pieces.push(Buffer.from(`],${JSON.stringify(rest).slice(1)}`))
  return { contentType: "application/json", body: Buffer.concat(pieces) } satisfies RecordedAnswer
})

const notRouted = { routed: false, routed_model: null, routing_latency_ms: null }

const itemOf = (vector: Float32Array, index: number, format: EncodingFormat): string => {
  const embedding = format === "base64" ? `"${vectorToBase64(vector)}"` : JSON.stringify(Array.from(vector))
  return `{"object":"embedding","index":${index},"embedding":${embedding}}`
}
