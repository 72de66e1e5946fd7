/** `POST /v1/responses`. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

import * as Errors from "./Errors.ts"
import { responsesAnswers, responsesEvents, responsesRequests } from "./examples/ResponsesExamples.ts"
import { documented } from "./OperationDocs.ts"
import { ChatHeaders } from "./RequestHeaders.ts"
import { ResponsesObject } from "./ResponsesAnswer.ts"
import { ResponsesEvent } from "./ResponsesEvents.ts"
import { ResponsesRequest } from "./ResponsesRequest.ts"

export const ResponsesRoutes = HttpApiGroup.make("responses")
  .add(
    HttpApiEndpoint.post("create", "/v1/responses", {
      headers: ChatHeaders,
      payload: ResponsesRequest,
      success: [ResponsesObject, HttpApiSchema.StreamSse({ data: ResponsesEvent })],
      error: Errors.modelRequestErrors
    }).annotateMerge(
      documented({
        summary: "Create a response",
        description:
          "Answers a conversation in the form of OpenAI's Responses API, whole or as named server-sent events. " +
          "Nothing is stored: every request has the whole conversation. What needs a stored one is refused, and so " +
          "are tools that the server would have to run.",
        openaiMethod: "responses.create",
        requests: responsesRequests,
        answers: { "application/json": responsesAnswers, "text/event-stream": responsesEvents },
        streamEnd: null,
        errors: {
          invalid_request: "input[1].call_id: must equal the call_id of an earlier call",
          unsupported_parameter:
            "previous_response_id is not supported: responses are not stored; send the whole conversation as input"
        },
        headers: {
          "x-svc-adjusted":
            "Parameters that the model did not get as they were asked for, each with what was sent in its place, " +
            "such as `temperature=1, top_p=omitted`."
        }
      })
    )
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Responses", description: "Conversations in the form of OpenAI's Responses API." })
  )
