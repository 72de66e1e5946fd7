/**
 * The whole HTTP surface in one place: methods, paths, bodies and errors. The router, the 404 and 405 answers and the
 * OpenAPI document are all made from it. It holds no behaviour.
 */
import { Context, Schema } from "effect"
import {
  HttpApi,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpApiMiddleware,
  HttpApiSchema,
  HttpApiSecurity,
  OpenApi
} from "effect/http-api"

import type { Caller } from "../domain/Caller.ts"
import { Credits, KeyFacts } from "./Account.ts"
import { CatalogRoutes } from "./admin/CatalogRoutes.ts"
import { Transcription, TranscriptionEvent, TranscriptionRequestBody } from "./AudioTranscription.ts"
import { ChatCompletion, ChatCompletionChunk } from "./ChatCompletion.ts"
import { ChatCompletionRequest } from "./ChatRequest.ts"
import { CsvText } from "./CsvAnswer.ts"
import { EmbeddingRoutes } from "./EmbeddingRoutes.ts"
import * as Errors from "./Errors.ts"
import { transcriptionAnswers, transcriptionEvents, transcriptionForms, transcripts } from "./examples/AudioExamples.ts"
import { chatAnswers, chatChunks, chatRequests } from "./examples/ChatExamples.ts"
import { receipts } from "./examples/GenerationExamples.ts"
import { Generation } from "./Generation.ts"
import { Liveness, NotReady, Readiness } from "./Health.ts"
import { MessagesRoutes } from "./MessagesRoutes.ts"
import { MetricRoutes } from "./MetricRoutes.ts"
import { ModelRoutes } from "./ModelRoutes.ts"
import { documented } from "./OperationDocs.ts"
import { ChatHeaders, IdempotencyHeaders } from "./RequestHeaders.ts"
import { RequestValidation, strictBodies } from "./RequestRules.ts"
import { ResponsesRoutes } from "./ResponsesRoutes.ts"
import { UsageList, UsageParameters } from "./UsageAnswer.ts"

/** Whose API key the current request carries. */
export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()("tollgate/api/Api/CurrentCaller") {}

const apiKey = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotateMerge(OpenApi.annotations({ description: "An API key of this gateway." }))
)

/** Identifies the caller by the API key. A request is refused before any of its body is read. */
export class Authorization extends HttpApiMiddleware.Service<
  Authorization,
  { provides: CurrentCaller; requires: never }
>()("tollgate/api/Authorization", {
  security: { bearer: apiKey },
  error: [Errors.Unauthorized, Errors.EndpointNotAllowed, Errors.RateLimitExceeded, Errors.InternalError]
}) {}

const Chat = HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("completions", "/v1/chat/completions", {
      headers: ChatHeaders,
      payload: ChatCompletionRequest,
      success: [ChatCompletion, HttpApiSchema.StreamSse({ data: ChatCompletionChunk })],
      error: Errors.modelRequestErrors
    }).annotateMerge(
      documented({
        summary: "Create a chat completion",
        description:
          "Answers a conversation, whole or as server-sent events that end with `data: [DONE]`. " +
          "The model is chosen by content and cost unless the request names one. " +
          "Parameters that are not listed are accepted, as clients of OpenAI expect, and named as left out. " +
          "`null` means left out.",
        openaiMethod: "chat.completions.create",
        requests: chatRequests,
        answers: { "application/json": chatAnswers, "text/event-stream": chatChunks },
        headers: {
          "x-svc-adjusted":
            "Parameters that the model did not get as they were asked for, each with what was sent in its place, " +
            "such as `temperature=1, top_p=omitted`."
        }
      })
    )
  )
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Chat", description: "Conversations with the models of the catalog." }))

const Audio = HttpApiGroup.make("audio")
  .add(
    HttpApiEndpoint.post("transcriptions", "/v1/audio/transcriptions", {
      headers: IdempotencyHeaders,
      payload: TranscriptionRequestBody.pipe(HttpApiSchema.asMultipart()),
      success: [
        Transcription,
        Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/plain" })),
        HttpApiSchema.StreamSse({ data: TranscriptionEvent })
      ],
      error: [
        Errors.InvalidRequest,
        Errors.InvalidFileFormat,
        Errors.FileTooLarge,
        Errors.InvalidModel,
        Errors.UnsupportedResponseFormat,
        Errors.InvalidCallName,
        Errors.InvalidEndUserId,
        Errors.InsufficientCredits,
        Errors.BudgetExceeded,
        Errors.ModelNotAllowed,
        Errors.RequestTimeout,
        Errors.IdempotencyConflict
      ]
    }).annotateMerge(
      documented({
        summary: "Transcribe audio",
        description:
          "Answers with the text of an audio file, as JSON with its usage, as plain text or as events. " +
          "To ask something about audio, send it in an `input_audio` part of a chat.",
        openaiMethod: "audio.transcriptions.create",
        requests: transcriptionForms,
        answers: {
          "application/json": transcriptionAnswers,
          "text/plain": transcripts,
          "text/event-stream": transcriptionEvents
        },
        errors: {
          invalid_request: "temperature must be a number from 0 to 1",
          invalid_call_name: "call_name must be text of 1 to 64 characters that is not only whitespace",
          rate_limit_exceeded: "Too many files are being transcribed at the moment; try again"
        }
      })
    )
  )
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Audio", description: "Speech to text." }))

const Generations = HttpApiGroup.make("generations")
  .add(
    HttpApiEndpoint.get("get", "/v1/generations/:id", {
      params: {
        id: Schema.String.annotate({
          description: "The `id` of an answer, or the header `x-request-id` of any response.",
          examples: ["01a203b4-b71a-76fe-9c67-e2d507f95a68"]
        })
      },
      success: Generation,
      error: Errors.NotFound
    }).annotateMerge(
      documented({
        summary: "Retrieve a receipt",
        description:
          "What one request did and what it cost: every attempt at a provider, why the model was chosen, and the " +
          "tokens and rates from which the charge can be computed again. It is there as soon as the answer is.",
        answers: { "application/json": receipts },
        errors: { not_found: "There is no such request" }
      })
    )
  )
  .middleware(Authorization)
  .annotateMerge(OpenApi.annotations({ title: "Receipts", description: "The record of every request." }))

const Account = HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("key", "/v1/key", { success: KeyFacts }).annotateMerge(
      OpenApi.annotations({ summary: "What this API key may do" })
    ),
    HttpApiEndpoint.get("credits", "/v1/credits", { success: Credits }).annotateMerge(
      OpenApi.annotations({ summary: "What the organization of this API key can spend" })
    ),
    HttpApiEndpoint.get("usage", "/v1/usage", {
      query: UsageParameters,
      success: [UsageList, CsvText],
      error: Errors.InvalidRequest
    }).annotateMerge(OpenApi.annotations({ summary: "What the organization of this API key used, and its cost" }))
  )
  .middleware(RequestValidation)
  .middleware(Authorization)
  .annotateMerge(strictBodies)
  .annotateMerge(OpenApi.annotations({ title: "Account", description: "What an API key may do and can spend." }))

const Health = HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness }),
    HttpApiEndpoint.get("ready", "/health/ready", { success: Readiness, error: NotReady })
  )
  .annotate(OpenApi.Exclude, true)

/** Where the document and the reference that are made from this API can be read, all with GET. */
export const documentPaths = {
  openApi: "/openapi.json",
  reference: "/docs",
  styleSheet: "/docs/reference.css",
  script: "/docs/reference.js"
} as const

/** What HttpApi calls the handlers of. The other groups, which get nearly all requests, are routed past it. */
export class HandledApi extends HttpApi.make("tollgate")
  .add(MessagesRoutes.middleware(Authorization), Audio, EmbeddingRoutes.middleware(Authorization))
  .add(ModelRoutes.middleware(Authorization), Generations, Account, Health, MetricRoutes, CatalogRoutes) {}

/** The endpoints of clients and of probes, and those of operators that only a running gateway can answer. */
export class Api extends HttpApi.make("tollgate")
  .add(Chat, ResponsesRoutes.middleware(Authorization))
  .addHttpApi(HandledApi) {}
