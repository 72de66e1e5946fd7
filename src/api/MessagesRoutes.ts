/** Anthropic's Messages API: its routes, in the form in which its clients call them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

import * as Errors from "./Errors.ts"
import {
  messageAnswers,
  messageEvents,
  messageRequests,
  messageTokens,
  tokenRequests
} from "./examples/MessageExamples.ts"
import { MessageAnswer, MessageStreamEvent, MessageTokensCount } from "./Message.ts"
import { MessagesRequest, MessageTokensRequest } from "./MessagesRequest.ts"
import { documented } from "./OperationDocs.ts"
import { ChatHeaders, MessagesHeaders } from "./RequestHeaders.ts"

const bodyErrors = [
  Errors.InvalidRequest,
  Errors.InvalidModel,
  Errors.InvalidCallName,
  Errors.InvalidEndUserId,
  Errors.UnsupportedParameter,
  Errors.RequestTimeout,
  Errors.RequestTooLarge
] as const

const errorShape =
  'Errors have Anthropic\'s shape here, `{type: "error", error: {type, message, code}, request_id}`, in which `code` ' +
  "is the one of this document."

export const MessagesRoutes = HttpApiGroup.make("messages")
  .add(
    HttpApiEndpoint.post("create", "/v1/messages", {
      headers: Schema.Struct({ ...ChatHeaders.fields, ...MessagesHeaders.fields }),
      payload: MessagesRequest,
      success: [MessageAnswer, HttpApiSchema.StreamSse({ data: MessageStreamEvent })],
      error: [
        ...bodyErrors,
        Errors.InsufficientCredits,
        Errors.BudgetExceeded,
        Errors.ModelNotAllowed,
        Errors.IdempotencyConflict
      ]
    }).annotateMerge(
      documented({
        summary: "Create a message",
        description:
          "Answers a conversation in the form of Anthropic's Messages API, with every model of the catalog. " +
          `${errorShape} Members that go to no model are named in \`x-svc-adjusted\`.`,
        isMessages: true,
        streamEnd: null,
        requests: messageRequests,
        answers: { "application/json": messageAnswers, "text/event-stream": messageEvents },
        headers: {
          "x-svc-adjusted": "Parameters that the model did not get as they were asked for, such as `top_k=omitted`."
        }
      })
    ),
    HttpApiEndpoint.post("countTokens", "/v1/messages/count_tokens", {
      headers: MessagesHeaders,
      payload: MessageTokensRequest,
      success: MessageTokensCount,
      error: bodyErrors
    }).annotateMerge(
      documented({
        summary: "Count the tokens of a message",
        description: `Estimates the tokens of a prompt. It asks no provider and costs nothing. ${errorShape}`,
        isMessages: true,
        requests: tokenRequests,
        answers: { "application/json": messageTokens }
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Messages", description: "Conversations in the form of Anthropic's API." })
  )
