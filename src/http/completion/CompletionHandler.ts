/**
 * The handler of a request for a completion, in any protocol of clients. It reads and checks the body itself, because
 * the checks must come in the order of the contract.
 */
import { Clock, Duration, Effect, Result } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"

import { CurrentCaller } from "../../api/Api.ts"
import type { ChatError } from "../../api/Errors.ts"
import { Catalog } from "../../catalog/Catalog.ts"
import type { Caller } from "../../domain/Caller.ts"
import type { RequestId } from "../../domain/Ids.ts"
import type { ChatCall } from "../../gateway/ChatCall.ts"
import { CompleteChat, type PlainAnswer, type StreamedAnswer } from "../../gateway/CompleteChat.ts"
import type { RecordedAnswer } from "../../idempotency/IdempotentRequest.ts"
import { RecordedAnswers } from "../../idempotency/RecordedAnswers.ts"
import { type AnswerUnder, textOfAnswer } from "../../idempotency/Recording.ts"
import { makeDeadlines } from "../../timing/Deadlines.ts"
import { Drain } from "../edge/Drain.ts"
import { currentRequestId } from "../edge/Edge.ts"
import * as Idempotency from "../edge/Idempotency.ts"
import { RequestBodies } from "../edge/RequestBodies.ts"
import { headerText, utf8Text } from "../edge/RequestText.ts"
import { adjustedHeader, withRetryAfter } from "../edge/ResponseHeaders.ts"
import * as AnswerStream from "./AnswerStream.ts"
import type { ClientProtocol, Envelope, ReadBody, RequestContext } from "./ClientProtocol.ts"

export interface CompletionOptions {
  readonly serviceName: string
  readonly maxBodyBytes: number
}

/** How long a stream may be silent before the client is sent something; load balancers close it after a minute. */
const keepAliveEvery = Duration.seconds(10)

/**
 * Yields what answers an admitted request. Between the body and the use case it is one synchronous function, so that
 * the request's fiber takes no operation for each step.
 */
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
  const clock = yield* Clock.Clock
  const fingerprint = `fp_${version}`
  const { endpoint, keepAlive } = protocol

  const read = (body: Uint8Array, request: HttpServerRequest.HttpServerRequest) =>
    Result.flatMap(utf8Text(body), (text) => protocol.read(text, contextOf(request, { serviceName }), request.headers))

  const answer = (
    { asked, input }: ReadBody<Asked>,
    idempotent: Idempotency.OptionalIdempotentRequest,
    caller: Caller
  ) => {
    const createdSeconds = Math.floor(clock.currentTimeMillisUnsafe() / 1_000)
    const envelopeOf = (id: RequestId): Envelope => ({ id, createdSeconds, serviceName, fingerprint })
    const callOf = (id: RequestId): ChatCall => ({ id, mayBeCharged: id !== idempotent.request, caller, input })
    if (!input.stream) {
      const plain = (id: RequestId) =>
        Effect.map(chat.complete(callOf(id)), (completed) => ({
          text: JSON.stringify(protocol.plain(envelopeOf(id), completed, asked)),
          ...adjustedOf(completed)
        }))
      const sent = idempotent.key === undefined ? plain(idempotent.request) : plainOnce(recorded, idempotent, plain)
      return Effect.map(sent, (done) => responseOf(done, serviceName))
    }
    const opening = Idempotency.streamOnce(recorded, idempotent, (id) =>
      Effect.map(chat.stream(callOf(id), drainSignal), (opened) => ({
        texts: AnswerStream.textsOf(opened.items, protocol.stream(envelopeOf(id), opened, asked)),
        ...adjustedOf(opened)
      }))
    )
    return AnswerStream.respond(opening, {
      serviceName,
      deadlines,
      keepAlive,
      keepAliveEvery,
      drainSignal,
      encoderOfFailure: () => protocol.stream(envelopeOf(idempotent.request), unanswered(input.model), asked)
    })
  }

  return (request: HttpServerRequest.HttpServerRequest, caller: Caller, id: RequestId) => {
    const key = Idempotency.idempotencyKeyIn(request.headers)
    if (Result.isFailure(key)) return Effect.fail(key.failure)
    const { organization } = caller
    return Effect.flatMap(bodies.whole(request, maxBodyBytes), (body) => {
      const decoded = read(body, request)
      return Result.isFailure(decoded)
        ? Effect.fail(decoded.failure)
        : answer(decoded.success, { key: key.success, body, organization, endpoint, request: id }, caller)
    })
  }
})

const contentType = "application/json"

/** A plain answer as it is sent. */
interface PlainText {
  readonly text: string
  readonly adjusted?: string
}

/** As text, a body is written together with the headers. */
const responseOf = ({ adjusted, text }: PlainText, serviceName: string) =>
  HttpServerResponse.text(text, { contentType, headers: adjustedHeader(serviceName, adjusted) })

/** Makes an answer under an `Idempotency-Key`, or repeats the one that was made. */
const plainOnce = (
  recorded: RecordedAnswers["Service"],
  idempotent: Idempotency.OptionalIdempotentRequest,
  plain: AnswerUnder<PlainText, ChatError, never>
) => {
  const answer: Effect.Effect<RecordedAnswer, ChatError, HttpServerRequest.HttpServerRequest> = Idempotency.answerOnce(
    recorded,
    idempotent,
    (id) => Effect.map(plain(id), ({ text, ...adjusted }) => ({ contentType, body: Buffer.from(text), ...adjusted }))
  )
  return Effect.map(answer, (found): PlainText => {
    const { adjusted } = found
    return { text: textOfAnswer(found), ...(adjusted !== undefined && { adjusted }) }
  })
}

/** Has HttpApi call what answers an admitted request, on a route that is not one of its own. */
export const handlerOf =
  <E, R>(
    complete: (
      request: HttpServerRequest.HttpServerRequest,
      caller: Caller,
      id: RequestId
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
  ) =>
  ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) =>
    Effect.gen(function* () {
      return yield* complete(request, yield* CurrentCaller, yield* currentRequestId)
    }).pipe(withRetryAfter)

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
