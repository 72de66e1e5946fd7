/**
 * The body of `POST /embeddings`, as OpenAI's API reference describes it; other servers copy it with fewer members.
 * What a server accepts is in its dialect. A misspelt member does not compile.
 */
import type { EmbeddingRequest } from "../../../domain/Embedding.ts"

export interface RequestBody {
  readonly model: string
  /** Always a list, also of a single input. */
  readonly input: EmbeddingRequest["inputs"]
  /** Left out where a server knows only lists of numbers. */
  readonly encoding_format?: "base64" | undefined
  readonly dimensions?: number | undefined
  /** Mistral's name for `dimensions`. */
  readonly output_dimension?: number | undefined
}
