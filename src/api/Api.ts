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
import { CreditRoutes } from "./admin/Credit.ts"
import { ApiKeyRoutes, OperatorRoutes } from "./admin/Keys.ts"
import { TenantRoutes } from "./admin/Tenants.ts"
import { Transcription, TranscriptionEvent, TranscriptionRequestBody } from "./AudioTranscription.ts"
import { ChatCompletion, ChatCompletionChunk } from "./ChatCompletion.ts"
import { ChatCompletionRequest } from "./ChatRequest.ts"
import * as Errors from "./Errors.ts"
import { Generation } from "./Generation.ts"
import { Liveness, NotReady, Readiness } from "./Health.ts"
import { ModelCard, ModelList } from "./Models.ts"

/** Whose API key the current request carries. */
export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()("tollgate/api/Api/CurrentCaller") {}

/** Identifies the caller by the API key. A request is refused before any of its body is read. */
export class Authorization extends HttpApiMiddleware.Service<
  Authorization,
  { provides: CurrentCaller; requires: never }
>()("tollgate/api/Authorization", {
  security: { bearer: HttpApiSecurity.bearer },
  error: [Errors.Unauthorized, Errors.EndpointNotAllowed, Errors.RateLimitExceeded, Errors.InternalError]
}) {}

/** Accepts any text: the handler checks the key, so that this check has its place in the order of all checks. */
const IdempotencyHeaders = Schema.Struct({
  "idempotency-key": Schema.optionalKey(Schema.String).annotate({
    description:
      "1 to 255 visible ASCII characters. A repeat with the same key and request within 24 hours gets the same " +
      "answer, with the header `idempotent-replayed: true`, and is not charged again."
  })
})

const ChatHeaders = Schema.Struct({
  ...IdempotencyHeaders.fields,
  "x-session-id": Schema.optionalKey(Schema.String).annotate({
    description: "At most 256 characters. Stands for `session_id`, which comes before it where both are given."
  }),
  "x-end-user-id": Schema.optionalKey(Schema.String).annotate({
    description:
      "Whom your own service is working for: 1 to 512 characters, kept with the usage. It comes before " +
      "`metadata.end_user_id` where both are given."
  })
})

const Chat = HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("completions", "/v1/chat/completions", {
      headers: ChatHeaders,
      payload: ChatCompletionRequest,
      success: [ChatCompletion, HttpApiSchema.StreamSse({ data: ChatCompletionChunk })],
      error: [
        Errors.InvalidRequest,
        Errors.InvalidModel,
        Errors.InvalidCallName,
        Errors.InvalidEndUserId,
        Errors.UnsupportedParameter,
        Errors.InsufficientCredits,
        Errors.ModelNotAllowed,
        Errors.RequestTimeout,
        Errors.IdempotencyConflict,
        Errors.RequestTooLarge
      ]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Create a chat completion",
        description:
          "Answers a conversation, whole or as server-sent events that end with `data: [DONE]`. " +
          "The model is chosen by content and cost unless the request names one."
      })
    )
  )
  .middleware(Authorization)

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
        Errors.ModelNotAllowed,
        Errors.RequestTimeout,
        Errors.IdempotencyConflict
      ]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Transcribe audio",
        description:
          "Answers with the text of an audio file, as JSON with its usage, as plain text or as events. " +
          "To ask something about audio, send it in an `input_audio` part of a chat."
      })
    )
  )
  .middleware(Authorization)

const Models = HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/v1/models", { success: ModelList }).annotateMerge(
      OpenApi.annotations({ summary: "List the models that can be called" })
    ),
    HttpApiEndpoint.get("get", "/v1/models/:id", {
      params: { id: Schema.String },
      success: ModelCard,
      error: Errors.NotFound
    }).annotateMerge(OpenApi.annotations({ summary: "One model" }))
  )
  .middleware(Authorization)

const Generations = HttpApiGroup.make("generations")
  .add(
    HttpApiEndpoint.get("get", "/v1/generations/:id", {
      params: { id: Schema.String },
      success: Generation,
      error: Errors.NotFound
    }).annotateMerge(OpenApi.annotations({ summary: "The receipt of one request" }))
  )
  .middleware(Authorization)

const Account = HttpApiGroup.make("account")
  .add(
    HttpApiEndpoint.get("key", "/v1/key", { success: KeyFacts }).annotateMerge(
      OpenApi.annotations({ summary: "What this API key may do" })
    ),
    HttpApiEndpoint.get("credits", "/v1/credits", { success: Credits }).annotateMerge(
      OpenApi.annotations({ summary: "What the organization of this API key can spend" })
    )
  )
  .middleware(Authorization)

const Health = HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness }),
    HttpApiEndpoint.get("ready", "/health/ready", { success: Readiness, error: NotReady })
  )
  .annotate(OpenApi.Exclude, true)

/** Where the document and the reference that are made from this API can be read, both with GET. */
export const documentPaths = { openApi: "/openapi.json", reference: "/docs" } as const

/** The definition of all endpoints. */
export class Api extends HttpApi.make("tollgate")
  .add(Chat, Audio, Models, Generations, Account, Health)
  .add(TenantRoutes, ApiKeyRoutes, CreditRoutes, OperatorRoutes)
  .annotateMerge(
    OpenApi.annotations({
      title: "Tollgate",
      version: "1",
      description: "An HTTP gateway for language models that speaks the OpenAI API.",
      servers: [{ url: "/", description: "This gateway." }]
    })
  ) {}
