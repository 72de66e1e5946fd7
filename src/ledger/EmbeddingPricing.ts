/**
 * The amount to hold for embeddings, and the usage for which they are billed. Only input costs anything.
 *
 * Tokens are counted exactly where the client sent tokens. A count of texts is an estimate, so what is held has a
 * margin. No text has more tokens than bytes, beside a few that a model puts around it; a provider that reports more is
 * not believed.
 */
import type { Endpoint } from "../catalog/Model.ts"
import { costOf } from "../catalog/Price.ts"
import { type EmbeddingInput, type EmbeddingRequest, type Embeddings } from "../domain/Embedding.ts"
import type { Picodollars } from "../domain/Money.ts"
import { textTokens } from "../domain/TokenCount.ts"
import { type MeteredUsage, meteredUsage, none, type Usage } from "../domain/Usage.ts"

/** Tokens that a model puts around an input, such as those that begin and end it. */
const maxAddedTokens = 16
/** What is held beyond the estimate of texts: a quarter, as tokenizers of other vendors need more tokens. */
const heldMargin = 0.25

type PricedInput = Pick<Endpoint, "contextWindow" | "price">

/** How many tokens the inputs have. */
export interface EmbeddingSize {
  /** The gateway's own count. */
  readonly counted: number
  /** No more are to be expected. */
  readonly expected: number
  /** No more are possible. */
  readonly most: number
}

export const embeddingSizeOf = ({ inputs }: EmbeddingRequest): EmbeddingSize => {
  const all: ReadonlyArray<EmbeddingInput> = inputs
  let counted = 0
  let expected = 0
  let most = 0
  for (const input of all) {
    const tokens = typeof input === "string" ? textTokens(input) : input.length
    const bound = (typeof input === "string" ? Buffer.byteLength(input) : input.length) + maxAddedTokens
    counted += tokens
    expected += typeof input === "string" ? Math.min(Math.ceil(tokens * (1 + heldMargin)) + 2, bound) : tokens
    most += bound
  }
  return { counted, expected, most }
}

/** The amount to hold before the provider is called. */
export const estimateEmbedding = (endpoint: PricedInput, { expected }: EmbeddingSize, inputs: number): Picodollars =>
  costOf(endpoint.price, ofInput(Math.min(expected, inputs * endpoint.contextWindow)))

/** The most that the inputs can cost, for organizations whose balance can never go below zero. */
export const worstEmbedding = (endpoint: PricedInput, { most }: EmbeddingSize, inputs: number): Picodollars =>
  costOf(endpoint.price, ofInput(Math.min(most, inputs * endpoint.contextWindow)))

/** What the endpoint that answered used. */
export const billedEmbedding = ({ counted, most }: EmbeddingSize, { usage: reported }: Embeddings): MeteredUsage =>
  meteredUsage({
    reported,
    counted: () => ofInput(counted),
    bounds: { prompt: most, output: 0 },
    // There always are vectors, so that no provider can have used nothing.
    hasOutput: true
  })

const ofInput = (input: number): Usage => ({ ...none, input })
