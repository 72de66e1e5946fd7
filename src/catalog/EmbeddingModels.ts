/** Converts the entries of embedding models in catalog files. */
import { Result } from "effect"

import { maxEmbeddingInputs } from "../domain/Embedding.ts"
import { modelId } from "../domain/Ids.ts"
import { type CatalogResult, catalogFault } from "./CatalogFile.ts"
import type { EmbeddingModelEntry } from "./EmbeddingModelFile.ts"
import { type EndpointList, endpointsOf, isAbsurd, type ProvidersById } from "./EndpointsFromFile.ts"
import type { Model, VectorDimensions } from "./Model.ts"

/** `created`: Unix seconds. */
export const embeddingModelOf = (
  entry: EmbeddingModelEntry,
  path: string,
  providers: ProvidersById,
  created: number
): CatalogResult<Model> =>
  Result.gen(function* () {
    const endpoints = yield* endpointsOf(endpointListOf(entry), path, providers)
    const absurd = endpoints.findIndex((endpoint) => isAbsurd(endpoint.price, largestRequest(endpoint)))
    if (absurd !== -1)
      return yield* Result.fail(
        catalogFault(`${path}.endpoints[${absurd}]`, "prices one request at more than 100,000 USD, which is a mistake")
      )
    const dimensions = yield* dimensionsOf(entry, path)
    return {
      id: modelId(entry.id),
      kind: "embedding",
      created,
      ownedBy: entry.owned_by ?? endpoints[0].provider,
      modalities: { image: false, audio: false },
      tools: false,
      forcedToolChoice: false,
      structuredOutput: false,
      sampling: "never",
      reasoning: { support: "none", efforts: [] },
      profiles: {},
      verbosity: 1,
      ...(dimensions && { dimensions }),
      takesTokens: entry.token_input ?? false,
      endpoints
    }
  })

const endpointListOf = ({ context_window, endpoints: [first, ...others], id }: EmbeddingModelEntry): EndpointList => {
  const withFreeOutput = (endpoint: EmbeddingModelEntry["endpoints"][number]) => ({
    ...endpoint,
    price_usd_per_mtok: { ...endpoint.price_usd_per_mtok, output: 0 }
  })
  return {
    id,
    protocol: "openai-embeddings",
    context_window,
    max_output: 0,
    endpoints: [withFreeOutput(first), ...others.map(withFreeOutput)]
  }
}

const largestRequest = ({ contextWindow }: Model["endpoints"][number]) => ({
  contextWindow: contextWindow * maxEmbeddingInputs,
  maxOutputTokens: 0
})

const dimensionsOf = (
  { dimensions: usual, min_dimensions: min }: EmbeddingModelEntry,
  path: string
): CatalogResult<VectorDimensions | undefined> => {
  if (min === undefined) return Result.succeed(usual === undefined ? undefined : { usual })
  if (usual !== undefined && min <= usual) return Result.succeed({ usual, min })
  return Result.fail(catalogFault(`${path}.min_dimensions`, "must not be above dimensions, and goes with them"))
}
