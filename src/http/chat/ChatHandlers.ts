/**
 * `POST /v1/chat/completions`. The handler reads and checks the body itself, because the checks must come in the order
 * of the contract.
 */
import { Clock, Duration, Effect, Result } from "effect"
import { type Headers, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

import { Api, CurrentCaller } from "../../api/Api.ts"
import { InvalidRequest } from "../../api/Errors.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import type { RequestId } from "../../domain/Ids.ts"
import type { ChatCall } from "../../gateway/ChatCall.ts"
import { CompleteChat, type PlainAnswer, type StreamedAnswer } from "../../gateway/CompleteChat.ts"
import type { RecordedAnswer } from "../../idempotency/IdempotentRequest.ts"
import { RecordedAnswers } from "../../idempotency/RecordedAnswers.ts"
import { makeDeadlines } from "../../timing/Deadlines.ts"
import { Drain } from "../edge/Drain.ts"
import { CurrentRequestId } from "../edge/Edge.ts"
import * as Idempotency from "../edge/Idempotency.ts"
import { RequestBodies } from "../edge/RequestBodies.ts"
import { adjustedHeader, withRetryAfter } from "../edge/ResponseHeaders.ts"
import { type Envelope, completionBody } from "./ChatAnswer.ts"
import * as ChatBody from "./ChatBody.ts"
import * as ChatStream from "./ChatStream.ts"

export interface ChatOptions {
  readonly serviceName: string
  readonly maxBodyBytes: number
}

/** How long a stream may be silent before a comment is sent; load balancers close a connection after sixty seconds. */
const keepAliveEvery = Duration.seconds(10)

export const chatHandlersLayer = (options: ChatOptions) =>
  HttpApiBuilder.group(Api, "chat", (handlers) =>
    Effect.gen(function* () {
      const chat = yield* CompleteChat
      const recorded = yield* RecordedAnswers
      const bodies = yield* RequestBodies
      const { version } = yield* Catalog
      const { signal: drainSignal } = yield* Drain
      const deadlines = yield* makeDeadlines
      const autoModel = `${options.serviceName}-auto`

      return handlers.handleRaw(
        "completions",
        Effect.fnUntraced(function* ({ request }) {
          const key = yield* Effect.fromResult(Idempotency.idempotencyKeyIn(request.headers))
          const body = yield* bodies.whole(request, options.maxBodyBytes)
          const context = {
            autoModel,
            sessionHeader: headerText(request.headers["x-session-id"]),
            endUserHeader: headerText(request.headers["x-end-user-id"])
          }
          const input = yield* Effect.fromResult(ChatBody.readChatBody(yield* utf8Text(body), context))
          const caller = yield* CurrentCaller
          const createdSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
          const envelopeOf = (id: RequestId): Envelope => ({
            id,
            createdSeconds,
            serviceName: options.serviceName,
            fingerprint: `fp_${version}`
          })
          const idempotent: Idempotency.OptionalIdempotentRequest = {
            key,
            body,
            organization: caller.organization,
            endpoint: "chat.completions",
            request: yield* CurrentRequestId
          }
          const callOf = (id: RequestId): ChatCall => ({ id, mayBeCharged: id !== idempotent.request, caller, input })
          if (!input.stream) {
            const answer = yield* Idempotency.answerOnce(recorded, idempotent, (id) =>
              Effect.map(chat.complete(callOf(id)), (plain) => ({
                contentType: "application/json",
                body: Buffer.from(JSON.stringify(completionBody(envelopeOf(id), plain))),
                ...adjustedOf(plain)
              }))
            )
            const { adjusted, body: content, contentType } = answer
            const headers = adjustedHeader(options.serviceName, adjusted)
            return HttpServerResponse.uint8Array(content, { contentType, headers })
          }
          const opening = Idempotency.streamOnce(recorded, idempotent, (id) =>
            Effect.map(chat.stream(callOf(id), drainSignal), (answer) => ({
              texts: ChatStream.textsOf(answer, envelopeOf(id), {
                keepsLastDetails: keepsLastDetails(request.headers)
              }),
              ...adjustedOf(answer)
            }))
          )
          return yield* ChatStream.respond(opening, {
            envelope: envelopeOf(idempotent.request),
            deadlines,
            keepAliveEvery,
            requested: { model: input.model ?? "", routed: input.model === undefined },
            drainSignal
          })
        }, withRetryAfter)
      )
    })
  )

/**
 * True for the helpers of the `openai` package for Node that put a message together from its chunks: members that they
 * do not know are replaced by each chunk. The helpers of other packages join them, and would get them twice.
 */
const keepsLastDetails = (headers: Headers.Headers): boolean =>
  headers["x-stainless-lang"] === "js" && headers["x-stainless-helper-method"] !== undefined

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** JSON must be UTF-8. Other bytes would silently reach the model as replacement characters. */
const utf8Text = (bytes: Uint8Array) =>
  Effect.try({
    try: () => utf8.decode(bytes),
    catch: () => InvalidRequest.of("The request body is not valid UTF-8")
  })

/** Node reads every byte of a header as a character; a session id is the same text in the header as in the body. */
const headerText = (header: string | undefined): string | undefined => {
  if (header === undefined || /^[\x20-\x7e]*$/.test(header)) return header
  return Result.getOrElse(
    Result.try(() => utf8.decode(Buffer.from(header, "latin1"))),
    () => header
  )
}

const adjustedOf = ({ adjustments }: PlainAnswer | StreamedAnswer): Pick<RecordedAnswer, "adjusted"> =>
  adjustments.length === 0 ? {} : { adjusted: adjustments.join(", ") }
