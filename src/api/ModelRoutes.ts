/** The catalog that the gateway serves, as clients list it: in OpenAI's shape, or in Anthropic's. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"

import * as Errors from "./Errors.ts"
import { modelCards, modelLists } from "./examples/ModelExamples.ts"
import { MessagesModel, MessagesModelList } from "./MessagesModels.ts"
import { ModelCard, ModelList } from "./Models.ts"
import { documented } from "./OperationDocs.ts"

const modelNotFound = "There is no such model; see /v1/models"

export const ModelRoutes = HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/v1/models", {
      success: [ModelList, MessagesModelList],
      error: Errors.InvalidRequest
    }).annotateMerge(
      documented({
        summary: "List the models",
        description:
          "What can be called, with prices, limits and capabilities. `output_modalities` tells models for chats from " +
          "models for transcription and for embeddings. With `anthropic-version` it is Anthropic's list of the " +
          "models for chats, in pages by `limit`, `after_id` and `before_id`.",
        openaiMethod: "models.list",
        answers: { "application/json": modelLists }
      })
    ),
    HttpApiEndpoint.get("get", "/v1/models/:id", {
      params: {
        id: Schema.String.annotate({ description: "An id from the list of models.", examples: ["gpt-5-mini"] })
      },
      success: [ModelCard, MessagesModel],
      error: Errors.NotFound
    }).annotateMerge(
      documented({
        summary: "Retrieve a model",
        description: "The entry of one model in the list.",
        openaiMethod: "models.retrieve",
        answers: { "application/json": modelCards },
        errors: { not_found: modelNotFound }
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Models", description: "The catalog that this gateway serves." }))
