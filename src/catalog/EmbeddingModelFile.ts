/**
 * The entry of an embedding model in a catalog file. Only its input costs anything, so its price has no other rate.
 *
 *     { "embedding_models": [{ "id": "acme-embed", "context_window": 8192, "dimensions": 1024, "min_dimensions": 256,
 *                    "endpoints": [{ "provider": "acme", "price_usd_per_mtok": { "input": 0.02 } }] }] }
 */
import { Schema } from "effect"

import { PriceEntry, TokenNumber } from "../domain/PriceEntry.ts"
import { commonEndpointFields, commonModelFields, PriceSource } from "./ModelFields.ts"

/** The longest vector that any model is known to make has 4,096 numbers. */
const maxDimensions = 65_536

/** A number of dimensions. */
const Dimensions = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxDimensions }))

const EmbeddingEndpointEntry = Schema.Struct({
  ...commonEndpointFields,
  price_usd_per_mtok: Schema.Struct({ input: PriceEntry.fields.input })
})

export const EmbeddingModelEntry = Schema.Struct({
  ...commonModelFields,
  context_window: TokenNumber.annotateKey({ description: "The most tokens of one input." }),
  dimensions: Schema.optionalKey(Dimensions).annotateKey({ description: "How many numbers its vectors have." }),
  min_dimensions: Schema.optionalKey(Dimensions).annotateKey({
    description: "The fewest that a request can ask for. Left out, the length of a vector cannot be chosen."
  }),
  token_input: Schema.optionalKey(Schema.Boolean).annotateKey({
    description: "It takes tokens of its own vocabulary in place of texts. Default: false."
  }),
  endpoints: Schema.NonEmptyArray(EmbeddingEndpointEntry).annotateKey({ description: "In order of preference." }),
  price_source: PriceSource
}).annotate({
  description: "Turns texts into vectors and does nothing else. Called through OpenAI's protocol for embeddings."
})
export type EmbeddingModelEntry = typeof EmbeddingModelEntry.Type
