/**
 * A simulated provider on a loopback socket, so that the gateway runs without any account and its whole real path is
 * used: connections, streams, error bodies. The answers are deterministic. The last user message may ask for faults and
 * tool calls; `Directives` has the list. `[fault:500 first]` fails at the endpoint that sees the message first, and so
 * shows failover.
 */
import { createServer } from "node:http"

import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Clock, Context, Effect, Layer, Result, Stream } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, Multipart } from "effect/http"

import type { ChatProtocolName, ProtocolName } from "../catalog/Model.ts"
import * as Directives from "./Directives.ts"
import * as Recall from "./Memory.ts"
import { anthropicWire } from "./protocols/anthropic-messages/Response.ts"
import { bedrockWire } from "./protocols/bedrock-converse/Response.ts"
import { geminiWire } from "./protocols/gemini/Response.ts"
import { openAiWire } from "./protocols/openai-chat/Response.ts"
import { openAiResponsesWire } from "./protocols/openai-responses/Response.ts"
import { openAiTranscriptionWire } from "./protocols/openai-transcription/Response.ts"
import { replyTo } from "./Replies.ts"
import { errorResponse, respondTo } from "./Staging.ts"
import type { Bytes, SimulatedProtocol } from "./Wire.ts"

const wires: Record<ProtocolName, SimulatedProtocol<Bytes>> = {
  "openai-chat": openAiWire,
  "openai-responses": openAiResponsesWire,
  "anthropic-messages": anthropicWire,
  gemini: geminiWire,
  "bedrock-converse": bedrockWire,
  "openai-transcription": openAiTranscriptionWire
}
/** Where providers look for a key. */
const keyHeaders = ["authorization", "x-api-key", "x-goog-api-key", "api-key"]

const maxRequest = ByteSize.fromInputUnsafe("64 MiB")

export class Sandbox extends Context.Service<
  Sandbox,
  {
    /** The base URL of a provider that speaks this protocol. Any key will do; endpoints are told apart by it. */
    readonly baseUrlFor: (protocol: ChatProtocolName) => string
  }
>()("tollgate/sandbox/Sandbox") {
  /** Listens on 127.0.0.1, on a free port, for as long as the layer lives. */
  static readonly layer = Layer.effect(
    Sandbox,
    Effect.map(HttpServer.HttpServer, ({ address }) => {
      const origin = HttpServer.formatAddress(address)
      return Sandbox.of({ baseUrlFor: (protocol) => `${origin}${wires[protocol].base}` })
    })
  ).pipe(
    Layer.merge(
      Layer.suspend(() =>
        HttpRouter.serve(routes(Recall.makeSandboxMemory()), { disableLogger: true, disableListenLog: true })
      )
    ),
    Layer.provide(
      NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0, gracefulShutdownTimeout: "1 second" })
    )
  )
}

const routes = (recall: Recall.SandboxMemory) =>
  HttpRouter.use((router) =>
    Effect.forEach(Object.values(wires), (wire) => router.add("POST", wire.path, answer(wire, recall)))
  )

const answer = Effect.fnUntraced(
  function* (wire: SimulatedProtocol<Bytes>, recall: Recall.SandboxMemory) {
    const request = yield* HttpServerRequest.HttpServerRequest
    const account = keyHeaders.map((name) => request.headers[name]).find((key) => key !== undefined) ?? ""
    const read = wire.read(yield* bodyOf(request), request.url, account.replace(/^Bearer /, ""))
    if (Result.isFailure(read)) return errorResponse(wire, { _tag: "Invalid", message: read.failure })
    const prompt = read.success
    const asked = Directives.parseDirectives(prompt.lastUserText)
    const faults = yield* recall.applying(asked.faults, {
      message: prompt.lastUserText,
      model: prompt.model,
      account
    })
    const reply = replyTo(prompt, {
      directives: { ...asked, faults },
      promptTokens: yield* recall.promptTokens(prompt),
      createdSeconds: Math.floor((yield* Clock.currentTimeMillis) / 1_000)
    })
    return yield* respondTo(wire, prompt, reply, faults)
  },
  Effect.provideService(HttpServerRequest.MaxBodySize, maxRequest)
)

/** JSON or a form; `undefined` for anything else. A form of unknown length is refused, as by many a proxy. */
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
