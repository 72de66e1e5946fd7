/**
 * A simulated provider on a loopback socket, so that the gateway runs without any account and still uses its whole real
 * path: connections, streams, error bodies. The answers are deterministic. The last user message may contain directives
 * for faults and tool calls, which `Directives.ts` lists: `[fault:500 first]` fails at the endpoint that receives the
 * message first, and so shows a failover.
 */
import { createServer } from "node:http"

import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Clock, Context, Effect, Layer, Result, Stream } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, Multipart } from "effect/http"

import type { ChatProtocolName, ProtocolName } from "../catalog/Model.ts"
import { parseDirectives } from "./Directives.ts"
import { errorResponse, respondTo } from "./FaultInjection.ts"
import * as AnthropicMessages from "./protocols/anthropic-messages/Response.ts"
import * as BedrockConverse from "./protocols/bedrock-converse/Response.ts"
import * as Gemini from "./protocols/gemini/Response.ts"
import * as OpenAiChat from "./protocols/openai-chat/Response.ts"
import * as OpenAiEmbeddings from "./protocols/openai-embeddings/Response.ts"
import * as OpenAiResponses from "./protocols/openai-responses/Response.ts"
import * as OpenAiTranscription from "./protocols/openai-transcription/Response.ts"
import { makeSandboxState, type SandboxState } from "./SandboxState.ts"
import type { FrameBytes, SimulatedProtocol } from "./SimulatedProtocol.ts"
import { replyTo } from "./SimulatedReply.ts"

const protocols: Record<ProtocolName, SimulatedProtocol<FrameBytes>> = {
  "openai-chat": OpenAiChat.simulatedProtocol,
  "openai-responses": OpenAiResponses.simulatedProtocol,
  "anthropic-messages": AnthropicMessages.simulatedProtocol,
  gemini: Gemini.simulatedProtocol,
  "bedrock-converse": BedrockConverse.simulatedProtocol,
  "openai-transcription": OpenAiTranscription.simulatedProtocol,
  "openai-embeddings": OpenAiEmbeddings.simulatedProtocol
}

/** The headers in which providers expect the API key. */
const keyHeaders = ["authorization", "x-api-key", "x-goog-api-key", "api-key"]

const maxRequest = ByteSize.fromInputUnsafe("64 MiB")

/** Idle connections are not closed just as the gateway sends a request on them: that is no fault anyone asked for. */
const keepAliveMillis = 600_000

export class Sandbox extends Context.Service<
  Sandbox,
  {
    /** The base URL of a provider with this protocol. It accepts any API key, and distinguishes endpoints by it. */
    readonly baseUrlFor: (protocol: ChatProtocolName) => string
  }
>()("tollgate/sandbox/Sandbox") {
  /** Listens on 127.0.0.1, on a free port, for as long as the layer lives. */
  static readonly layer = Layer.effect(
    Sandbox,
    Effect.map(HttpServer.HttpServer, ({ address }) => {
      const origin = HttpServer.formatAddress(address)
      return Sandbox.of({ baseUrlFor: (protocol) => `${origin}${protocols[protocol].basePath}` })
    })
  ).pipe(
    Layer.merge(
      Layer.suspend(() => HttpRouter.serve(routes(makeSandboxState()), { disableLogger: true, disableListenLog: true }))
    ),
    Layer.provide(
      NodeHttpServer.layer(() => createServer({ keepAliveTimeout: keepAliveMillis }), {
        host: "127.0.0.1",
        port: 0,
        // Each process has its own, also where the workers of a gateway share what they listen on.
        exclusive: true,
        gracefulShutdownTimeout: "1 second"
      })
    )
  )
}

const routes = (state: SandboxState) =>
  HttpRouter.use((router) =>
    Effect.forEach(Object.values(protocols), (protocol) => router.add("POST", protocol.path, handler(protocol, state)))
  )

const handler = Effect.fnUntraced(
  function* (protocol: SimulatedProtocol<FrameBytes>, state: SandboxState) {
    const incoming = yield* HttpServerRequest.HttpServerRequest
    const account = keyHeaders.map((name) => incoming.headers[name]).find((key) => key !== undefined) ?? ""
    const read = protocol.readRequest(yield* bodyOf(incoming), incoming.url, account.replace(/^Bearer /, ""))
    if (Result.isFailure(read)) return errorResponse(protocol, { _tag: "Invalid", message: read.failure })
    const request = read.success
    const directives = parseDirectives(request.lastUserText)
    const faults = yield* state.applyingFaults(directives.faults, {
      message: request.lastUserText,
      model: request.model,
      account
    })
    const reply = replyTo(request, {
      directives: { ...directives, faults },
      promptTokens: yield* state.promptTokens(request),
      createdSeconds: Math.floor((yield* Clock.currentTimeMillis) / 1_000)
    })
    return yield* respondTo(protocol, request, reply, faults)
  },
  Effect.provideService(HttpServerRequest.MaxBodySize, maxRequest)
)

/** The body as JSON or as a form, or `undefined`. A form of unknown length is refused, as some proxies do. */
const bodyOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<unknown> => {
  const { "content-length": length, "content-type": type = "" } = request.headers
  const isForm = type.startsWith("multipart/form-data")
  const body: Effect.Effect<unknown, unknown> = isForm ? formOf(request) : request.json
  return isForm && length === undefined ? Effect.undefined : Effect.orElseSucceed(body, () => undefined)
}

const formOf = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const form = new FormData()
  yield* Stream.runForEach(request.multipartStream, (part) =>
    Multipart.isField(part)
      ? Effect.sync(() => form.append(part.key, part.value))
      : Effect.map(part.contentEffect, (bytes) =>
          form.append(part.key, new File([Uint8Array.from(bytes)], part.name, { type: part.contentType }))
        )
  )
  return form
})
