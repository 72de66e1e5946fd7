/** `POST /v1/embeddings`. The handler reads the body itself, because the checks come in the order of the contract. */
import { Effect, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../../api/Api.ts"
import type { RequestId } from "../../domain/Ids.ts"
import { type EmbeddingCall, EmbedInputs } from "../../gateway/EmbedInputs.ts"
import { RecordedAnswers } from "../../idempotency/RecordedAnswers.ts"
import { currentRequestId } from "../edge/Edge.ts"
import * as Idempotency from "../edge/Idempotency.ts"
import { RequestBodies } from "../edge/RequestBodies.ts"
import { headerText, utf8Text } from "../edge/RequestText.ts"
import { withRetryAfter } from "../edge/ResponseHeaders.ts"
import { embeddingAnswer } from "./EmbeddingAnswer.ts"
import { readEmbeddingBody } from "./EmbeddingBody.ts"

export interface EmbeddingOptions {
  readonly serviceName: string
  readonly maxBodyBytes: number
}

export const embeddingHandlersLayer = ({ maxBodyBytes, serviceName }: EmbeddingOptions) =>
  HttpApiBuilder.group(Api, "embeddings", (handlers) =>
    Effect.gen(function* () {
      const { embed, resolve } = yield* EmbedInputs
      const recorded = yield* RecordedAnswers
      const bodies = yield* RequestBodies
      const autoModel = `${serviceName}-auto`

      return handlers.handleRaw(
        "create",
        Effect.fnUntraced(function* ({ request }) {
          const key = yield* Effect.fromResult(Idempotency.idempotencyKeyIn(request.headers))
          const body = yield* bodies.whole(request, maxBodyBytes)
          const context = { autoModel, endUserHeader: headerText(request.headers["x-end-user-id"]) }
          const read = yield* Effect.fromResult(
            Result.flatMap(utf8Text(body), (text) => readEmbeddingBody(text, context))
          )
          const { callName, endUserId, format, model: requestedModel, request: asked } = read
          const model = yield* resolve(requestedModel, asked)
          const caller = yield* CurrentCaller
          const idempotent: Idempotency.OptionalIdempotentRequest = {
            key,
            body,
            organization: caller.organization,
            endpoint: "embeddings",
            request: yield* currentRequestId
          }
          const callOf = (id: RequestId): EmbeddingCall => ({
            id,
            mayBeCharged: id !== idempotent.request,
            caller,
            requestedModel,
            model,
            request: asked,
            callName,
            endUserId
          })
          const answer = yield* Idempotency.answerOnce(recorded, idempotent, (id) =>
            Effect.flatMap(embed(callOf(id)), (result) => embeddingAnswer(result, { format, serviceName }))
          )
          return HttpServerResponse.uint8Array(answer.body, { contentType: answer.contentType })
        }, withRetryAfter)
      )
    })
  )
