/** `POST /v1/embeddings`. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import { EmbeddingList, EmbeddingRequestBody } from "./Embeddings.ts"
import * as Errors from "./Errors.ts"
import { embeddingAnswers, embeddingRequests } from "./examples/EmbeddingExamples.ts"
import { documented } from "./OperationDocs.ts"
import { EmbeddingHeaders } from "./RequestHeaders.ts"

export const EmbeddingRoutes = HttpApiGroup.make("embeddings")
  .add(
    HttpApiEndpoint.post("create", "/v1/embeddings", {
      headers: EmbeddingHeaders,
      payload: EmbeddingRequestBody,
      success: EmbeddingList,
      error: Errors.modelRequestErrors
    }).annotateMerge(
      documented({
        summary: "Create embeddings",
        description:
          "Turns texts into vectors, which are the closer to each other the more alike the texts are. The vectors of " +
          "two models have nothing in common, so a request names its model, and no other one stands in for it. " +
          "Parameters that are not listed are ignored, as clients of OpenAI expect, and `null` means left out; but " +
          "choices of chats, such as `provider`, are refused.",
        openaiMethod: "embeddings.create",
        requests: embeddingRequests,
        answers: { "application/json": embeddingAnswers },
        errors: {
          invalid_request: "input[1] is empty",
          invalid_model: "model: gpt-5-mini does not make embeddings"
        }
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Embeddings", description: "Texts as vectors, for search and likeness." })
  )
