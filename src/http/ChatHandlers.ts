/** `POST /v1/chat/completions`: reads the body itself, so that its checks come in the contract's order. */
import { Clock, type Duration, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../api/Api.ts"
import { InvalidRequest } from "../api/Errors.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { ChatCall } from "../gateway/ChatCall.ts"
import { CompleteChat } from "../gateway/CompleteChat.ts"
import { type Envelope, wholeBody } from "./ChatAnswer.ts"
import * as ChatBody from "./ChatBody.ts"
import * as ChatStream from "./ChatStream.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { withRetryAfter } from "./ResponseHeaders.ts"

export interface ChatOptions {
  readonly serviceName: string
  /** Silence on a stream after which the client gets a comment. */
  readonly keepAliveEvery: Duration.Duration
}

export const layer = (options: ChatOptions) =>
  HttpApiBuilder.group(Api, "chat", (handlers) =>
    Effect.gen(function* () {
      const chat = yield* CompleteChat
      const { version } = yield* Catalog
      const autoModel = `${options.serviceName}-auto`

      return handlers.handleRaw(
        "completions",
        Effect.fnUntraced(function* ({ request }) {
          const text = yield* textOf(yield* Effect.orDie(request.arrayBuffer))
          const surroundings = { autoModel, sessionHeader: request.headers["x-session-id"] }
          const input = yield* Effect.fromResult(ChatBody.read(text, surroundings))
          const call: ChatCall = { id: yield* CurrentRequest, caller: yield* CurrentCaller, input }
          const envelope: Envelope = {
            id: call.id,
            createdSeconds: Math.floor((yield* Clock.currentTimeMillis) / 1_000),
            serviceName: options.serviceName,
            fingerprint: `fp_${version}`
          }
          if (!input.stream) return HttpServerResponse.jsonUnsafe(wholeBody(envelope, yield* chat.whole(call)))
          return yield* ChatStream.respond(chat.streamed(call), {
            envelope,
            keepAliveEvery: options.keepAliveEvery,
            requested: { model: input.model ?? autoModel, routed: input.model === undefined }
          })
        }, withRetryAfter)
      )
    })
  )

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** JSON is UTF-8; other bytes would reach the model as replacement characters, and nobody would know. */
const textOf = (bytes: ArrayBuffer) =>
  Effect.try({
    try: () => utf8.decode(bytes),
    catch: () => InvalidRequest.of("The request body is not valid UTF-8")
  })
