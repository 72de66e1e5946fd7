/**
 * The handler of a request for a completion, in any protocol of clients. It reads and checks the body itself, because
 * the checks must come in the order of the contract.
 */
import { Clock, Duration, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"

import { CurrentCaller } from "../../api/Api.ts"
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
import { headerText, utf8Text } from "../edge/RequestText.ts"
import { adjustedHeader, withRetryAfter } from "../edge/ResponseHeaders.ts"
import * as AnswerStream from "./AnswerStream.ts"
import type { ClientProtocol, Envelope, RequestContext } from "./ClientProtocol.ts"

export interface CompletionOptions {
  readonly serviceName: string
  readonly maxBodyBytes: number
}

/** How long a stream may be silent before the client is sent something; load balancers close it after a minute. */
const keepAliveEvery = Duration.seconds(10)

/** Yields the handler of the endpoint of `protocol`. */
export const completionHandler = Effect.fnUntraced(function* <Asked>(
  protocol: ClientProtocol<Asked>,
  { maxBodyBytes, serviceName }: CompletionOptions
) {
  const chat = yield* CompleteChat
  const recorded = yield* RecordedAnswers
  const bodies = yield* RequestBodies
  const { version } = yield* Catalog
  const { signal: drainSignal } = yield* Drain
  const deadlines = yield* makeDeadlines
  const { endpoint, keepAlive } = protocol

  return Effect.fnUntraced(function* ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) {
    const { headers } = request
    const key = yield* Effect.fromResult(Idempotency.idempotencyKeyIn(headers))
    const body = yield* bodies.whole(request, maxBodyBytes)
    const context = contextOf(request, { serviceName })
    const { asked, input } = yield* Effect.fromResult(protocol.read(yield* utf8Text(body), context, headers))
    const caller = yield* CurrentCaller
    const createdSeconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
    const envelopeOf = (id: RequestId): Envelope => ({
      id,
      createdSeconds,
      serviceName,
      fingerprint: `fp_${version}`
    })
    const idempotent: Idempotency.OptionalIdempotentRequest = {
      key,
      body,
      organization: caller.organization,
      endpoint,
      request: yield* CurrentRequestId
    }
    const callOf = (id: RequestId): ChatCall => ({ id, mayBeCharged: id !== idempotent.request, caller, input })
    if (!input.stream) {
      const answer = yield* Idempotency.answerOnce(recorded, idempotent, (id) =>
        Effect.map(chat.complete(callOf(id)), (plain) => ({
          contentType: "application/json",
          body: Buffer.from(JSON.stringify(protocol.plain(envelopeOf(id), plain, asked))),
          ...adjustedOf(plain)
        }))
      )
      const { adjusted, body: content, contentType } = answer
      return HttpServerResponse.uint8Array(content, { contentType, headers: adjustedHeader(serviceName, adjusted) })
    }
    const opening = Idempotency.streamOnce(recorded, idempotent, (id) =>
      Effect.map(chat.stream(callOf(id), drainSignal), (answer) => ({
        texts: AnswerStream.textsOf(answer.items, protocol.stream(envelopeOf(id), answer, asked)),
        ...adjustedOf(answer)
      }))
    )
    return yield* AnswerStream.respond(opening, {
      serviceName,
      deadlines,
      keepAlive,
      keepAliveEvery,
      drainSignal,
      encoderOfFailure: () => protocol.stream(envelopeOf(idempotent.request), unanswered(input.model), asked)
    })
  }, withRetryAfter)
})

/** What the meaning of a request depends on beside its body. */
export const contextOf = (
  { headers }: HttpServerRequest.HttpServerRequest,
  { serviceName }: Pick<CompletionOptions, "serviceName">
): RequestContext => ({
  autoModel: `${serviceName}-auto`,
  sessionHeader: headerText(headers["x-session-id"]),
  endUserHeader: headerText(headers["x-end-user-id"])
})

/** What an error in a stream names when no model answered. */
const unanswered = (model: string | undefined) => ({
  model: model ?? "",
  routing: { routed: model === undefined, model: null, latencyMillis: null },
  adjustments: [],
  promptTokens: 0
})

const adjustedOf = ({ adjustments }: PlainAnswer | StreamedAnswer): Pick<RecordedAnswer, "adjusted"> =>
  adjustments.length === 0 ? {} : { adjusted: adjustments.join(", ") }
