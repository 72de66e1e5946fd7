/** `POST /v1/chat/completions`: reads the body itself, so that its checks come in the contract's order. */
import { Clock, type Duration, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../../api/Api.ts"
import { InvalidRequest } from "../../api/Errors.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import type { RequestId } from "../../domain/Ids.ts"
import type { ChatCall } from "../../gateway/ChatCall.ts"
import { CompleteChat } from "../../gateway/CompleteChat.ts"
import type { RecordedAnswer } from "../../idempotency/IdempotentRequest.ts"
import { RecordedAnswers } from "../../idempotency/RecordedAnswers.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { Drain } from "../edge/Drain.ts"
import * as Idempotency from "../edge/Idempotency.ts"
import { withRetryAfter } from "../edge/ResponseHeaders.ts"
import { type Envelope, completionBody } from "./ChatAnswer.ts"
import * as ChatBody from "./ChatBody.ts"
import * as ChatStream from "./ChatStream.ts"

export interface ChatOptions {
  readonly serviceName: string
  /** Silence on a stream after which the client gets a comment. */
  readonly keepAliveEvery: Duration.Duration
}

export const chatHandlersLayer = (options: ChatOptions) =>
  HttpApiBuilder.group(Api, "chat", (handlers) =>
    Effect.gen(function* () {
      const chat = yield* CompleteChat
      const recorded = yield* RecordedAnswers
      const { version } = yield* Catalog
      const closing = yield* Drain
      const autoModel = `${options.serviceName}-auto`

      return handlers.handleRaw(
        "completions",
        Effect.fnUntraced(function* ({ request }) {
          const key = yield* Effect.fromResult(Idempotency.idempotencyKeyIn(request.headers))
          const body = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
          const surroundings = { autoModel, sessionHeader: request.headers["x-session-id"] }
          const input = yield* Effect.fromResult(ChatBody.readChatBody(yield* textOf(body), surroundings))
          const caller = yield* CurrentCaller
          const createdSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
          const callOf = (id: RequestId): ChatCall => ({ id, caller, input })
          const envelopeOf = (id: RequestId): Envelope => ({
            id,
            createdSeconds,
            serviceName: options.serviceName,
            fingerprint: `fp_${version}`
          })
          const asked: Idempotency.OptionalIdempotentRequest = {
            key,
            body,
            organization: caller.organization,
            endpoint: "chat.completions",
            request: yield* CurrentRequest
          }
          if (!input.stream) {
            const answer = yield* Idempotency.answerOnce(recorded, asked, (id) =>
              Effect.map(chat.complete(callOf(id)), (whole) => jsonOf(completionBody(envelopeOf(id), whole)))
            )
            return HttpServerResponse.uint8Array(answer.body, { contentType: answer.contentType })
          }
          const opening = Idempotency.streamOnce(recorded, asked, (id) =>
            Effect.map(chat.stream(callOf(id), closing.signal), (answer) => ChatStream.framesOf(answer, envelopeOf(id)))
          )
          return yield* ChatStream.respond(opening, {
            envelope: envelopeOf(asked.request),
            keepAliveEvery: options.keepAliveEvery,
            requested: { model: input.model ?? "", routed: input.model === undefined },
            closing: closing.signal
          })
        }, withRetryAfter)
      )
    })
  )

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** JSON is UTF-8; other bytes would reach the model as replacement characters, and nobody would know. */
const textOf = (bytes: Uint8Array) =>
  Effect.try({
    try: () => utf8.decode(bytes),
    catch: () => InvalidRequest.of("The request body is not valid UTF-8")
  })

const jsonOf = (body: unknown): RecordedAnswer => ({
  contentType: "application/json",
  body: Buffer.from(JSON.stringify(body))
})
