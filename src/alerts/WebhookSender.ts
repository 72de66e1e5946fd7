/**
 * Sends one signed message to the URL of a webhook. An operator or a customer chose that URL, and it is called from
 * inside our network: so it may lead to public addresses only, redirects are not followed, and of the answer no more is
 * read than the log keeps. The rule: this never fails; what went wrong is a part of the result.
 */
import {
  Cause,
  Clock,
  Context,
  Duration,
  Effect,
  Function,
  Layer,
  Option,
  Predicate,
  type Redacted,
  Stream
} from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"

import { withoutSecrets } from "../domain/Redaction.ts"
import { isPublic } from "../network/PublicAddress.ts"
import * as PublicSockets from "../network/PublicSockets.ts"
import { tollgateVersion } from "../observability/Version.ts"
import { signatureHeaders, type WebhookMessage } from "./WebhookSignature.ts"
import { webhookUrlFault } from "./WebhookUrl.ts"

/** For the connection and the answer together. */
export const answerTimeout = Duration.seconds(10)
const connectTimeout = Duration.seconds(5)
/** How much of an answer that is no success is read and kept. */
const maxErrorBytes = 1_024

export interface SenderOptions {
  /** Whether http and private addresses are allowed, for tests and closed networks. */
  readonly privateWebhooks: boolean
  readonly resolve?: PublicSockets.Resolve
}

/** How an attempt ended. */
export interface SendResult {
  readonly atMillis: number
  readonly durationMillis: number
  /** Of the answer, if there was one. */
  readonly status: number | undefined
  /** Absent after a success, which is a status of 200 to 299. */
  readonly error: string | undefined
}

interface Outgoing extends WebhookMessage {
  readonly url: string
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}

export class WebhookSender extends Context.Service<
  WebhookSender,
  {
    readonly send: (message: Omit<Outgoing, "sentAtMillis">) => Effect.Effect<SendResult>
  }
>()("tollgate/alerts/WebhookSender") {
  static readonly layer = ({ privateWebhooks, resolve }: SenderOptions) =>
    Layer.effect(
      WebhookSender,
      Effect.gen(function* () {
        const client = yield* PublicSockets.guardedClient({
          resolve: resolve ?? PublicSockets.nameServerLookup(),
          isAllowed: (address) => privateWebhooks || isPublic(address),
          connectTimeout
        })
        const scoped = HttpClient.withScope(client)

        const exchange = (message: Outgoing) =>
          scoped.execute(requestOf(message)).pipe(
            Effect.flatMap(outcomeOf),
            Effect.scoped,
            Effect.catchTag("HttpClientError", (error) =>
              Effect.succeed({ status: error.response?.status, error: reasonOf(error) })
            ),
            Effect.timeoutOrElse({
              duration: answerTimeout,
              orElse: () => Effect.succeed({ status: undefined, error: "no answer within 10 seconds" })
            }),
            // A span of the client would contain the URL, which may be secret, and send its trace id to that host.
            Effect.provideService(HttpClient.TracerDisabledWhen, Function.constTrue)
          )

        const send: WebhookSender["Service"]["send"] = Effect.fnUntraced(function* (message) {
          const atMillis = yield* Clock.currentTimeMillis
          const fault = webhookUrlFault(message.url, privateWebhooks)
          const { error, status } =
            fault === undefined
              ? yield* Effect.catchCause(exchange({ ...message, sentAtMillis: atMillis }), (cause) =>
                  Cause.hasInterruptsOnly(cause)
                    ? Effect.failCause(cause as Cause.Cause<never>)
                    : Effect.succeed({ status: undefined, error: "the attempt failed inside the gateway" })
                )
              : { status: undefined, error: `the URL ${fault}` }
          return { atMillis, durationMillis: (yield* Clock.currentTimeMillis) - atMillis, status, error }
        })

        return WebhookSender.of({ send })
      })
    )
}

const requestOf = (message: Outgoing) =>
  HttpClientRequest.post(message.url).pipe(
    HttpClientRequest.setHeaders({
      ...signatureHeaders(message, message.secrets),
      "user-agent": `tollgate/${tollgateVersion}`,
      "accept-encoding": "identity"
    }),
    HttpClientRequest.bodyText(message.body, "application/json")
  )

const outcomeOf = Effect.fnUntraced(function* ({ status, stream }: HttpClientResponse.HttpClientResponse) {
  if (status >= 200 && status < 300) return { status, error: undefined }
  if (status >= 300 && status < 400) return { status, error: `status ${status}: redirects are not followed` }
  const excerpt = yield* excerptOf(stream)
  return { status, error: excerpt === "" ? `status ${status}` : `status ${status}: ${excerpt}` }
})

/** The beginning of an answer, on one line and without what looks like a key. A body that breaks off is kept so far. */
const excerptOf = Effect.fnUntraced(function* (stream: Stream.Stream<Uint8Array, HttpClientError.HttpClientError>) {
  const packets: Array<Uint8Array> = []
  let size = 0
  yield* stream.pipe(
    Stream.takeUntil((packet) => {
      packets.push(packet.subarray(0, maxErrorBytes - size))
      size += packet.length
      return size >= maxErrorBytes
    }),
    Stream.runDrain,
    Effect.ignore
  )
  // A control character could not be stored, or would break the line of whoever prints it.
  return withoutSecrets(
    Buffer.concat(packets)
      .toString("utf8")
      .replaceAll(/[\p{Cc}\s]+/gu, " ")
      .trim()
  )
})

/** Names the failure and not the URL. */
const reasonOf = (error: HttpClientError.HttpClientError): string => {
  const { cause } = error.reason
  if (cause instanceof PublicSockets.ForbiddenAddress) return "the host is not at a public address"
  const code = Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : undefined
  return Option.match(Option.fromUndefinedOr(code), {
    onNone: () => "the connection failed",
    onSome: (known) => `the connection failed (${known})`
  })
}
