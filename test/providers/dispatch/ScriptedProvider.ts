/**
 * Providers under a script: one real server whose endpoints do as told, and a tiny protocol to speak with them. What
 * happens on the wire (resets, pages, half answers) is real; only the words are made up.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { Context, Duration, Effect, Layer, Logger, Redacted, Result } from "effect"
import { SecureRandom } from "effect/crypto"

import { Catalog } from "../../../src/catalog/Catalog.ts"
import { type ChatProtocolName, chatProtocolNames, type Endpoint, type Model } from "../../../src/catalog/Model.ts"
import type { ProviderAccount } from "../../../src/catalog/Provider.ts"
import type { CompletionEvent } from "../../../src/domain/Completion.ts"
import type { ChatRequest } from "../../../src/domain/Conversation.ts"
import { broken, Failure, type FailureReason, transient } from "../../../src/domain/Failure.ts"
import { endpointId, heldRequestId, modelId, providerId, requestId } from "../../../src/domain/Ids.ts"
import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import { picodollars } from "../../../src/domain/Money.ts"
import { CircuitBreakers } from "../../../src/providers/dispatch/CircuitBreakers.ts"
import { Dispatch } from "../../../src/providers/dispatch/Dispatch.ts"
import * as Failover from "../../../src/providers/dispatch/FailoverRules.ts"
import type { Target } from "../../../src/providers/dispatch/Target.ts"
import { ImageFetch } from "../../../src/providers/images/ImageFetch.ts"
import type { Protocol } from "../../../src/providers/protocols/Protocol.ts"
import { protocols } from "../../../src/providers/protocols/Protocols.ts"
import { HttpTransport } from "../../../src/providers/transport/HttpTransport.ts"
import { defaultTimeouts } from "../../../src/providers/transport/Timeouts.ts"

/** A request as it came over the wire. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type Behaviour = (response: ServerResponse, request: IncomingMessage) => void

export class Script extends Context.Service<
  Script,
  {
    /** A target that does these things in turn, and the last of them ever after. */
    readonly target: (name: string, ...behaviours: ReadonlyArray<Behaviour>) => Target
    readonly calls: (target: Target) => number
    readonly received: (target: Target) => ReadonlyArray<Received>
    /** Settles when the server sees the connection of this target's latest call close before it was answered. */
    readonly aborted: (target: Target) => Effect.Effect<void>
    /** Sockets that were opened so far. */
    readonly sockets: () => number
  }
>()("test/providers/Script") {}

const free = picodollars(0n)
const rates = { input: free, cacheRead: free, cacheWrite5m: free, cacheWrite1h: free, audioInput: free, output: free }

export const targetOf = (name: string, contextWindow = 1_000, model = name): Target => {
  const endpoint: Endpoint = {
    id: endpointId(name),
    provider: providerId(name),
    upstream: name,
    protocol: "openai-chat",
    price: { rates, tiers: [] },
    contextWindow,
    maxOutputTokens: 100
  }
  const served: Model = {
    id: modelId(model),
    kind: "chat",
    created: 0,
    ownedBy: "test",
    modalities: { image: false, audio: false },
    tools: true,
    forcedToolChoice: true,
    structuredOutput: true,
    sampling: "always",
    reasoning: { support: "none", efforts: [] },
    profiles: {},
    verbosity: 1,
    endpoints: [endpoint]
  }
  return { model: served, endpoint }
}

/** As if the ledger had granted it. */
export const held = heldRequestId(requestId("018f0000-0000-7000-8000-000000000001"))

export const request: ChatRequest = {
  messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
  tools: [],
  toolChoice: "auto",
  parallelToolCalls: true,
  responseFormat: { type: "text" },
  stop: []
}

const scriptLayer = Layer.effectContext(
  Effect.gen(function* () {
    const scripts = new Map<string, Array<Behaviour>>()
    const received = new Map<string, Array<Received>>()
    const closings = new Map<string, Promise<void>>()
    let sockets = 0
    const server = createServer((incoming, response) => {
      const [, name = "", ...path] = incoming.url?.split("/") ?? []
      const calls = received.get(name) ?? []
      received.set(name, calls)
      const call = calls.length
      const chunks: Array<Buffer> = []
      calls.push({
        path: `/${path.join("/")}`,
        headers: incoming.headers,
        get body() {
          return Buffer.concat(chunks)
        }
      })
      closings.set(name, new Promise((resolve) => response.on("close", () => !response.writableFinished && resolve())))
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
      const script = scripts.get(name) ?? []
      incoming.on("end", () => script[Math.min(call, script.length - 1)]?.(response, incoming))
    }).on("connection", () => sockets++)
    yield* Effect.acquireRelease(
      Effect.callback<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    )
    const { port } = server.address() as AddressInfo
    const account = (name: string): ProviderAccount => ({
      provider: {
        id: providerId(name),
        protocol: "openai-chat",
        dialect: "generic",
        baseUrl: "",
        apiKeyEnv: "",
        baseUrlEnv: "",
        auth: "bearer"
      },
      // Port 1 refuses connections.
      baseUrl: name === "unreachable" ? "http://127.0.0.1:1" : `http://127.0.0.1:${port}/${name}`,
      apiKey: Redacted.make("secret")
    })
    return Context.make(Script, {
      target: (name, ...behaviours) => {
        scripts.set(name, [...behaviours])
        return targetOf(name)
      },
      calls: (target) => received.get(target.endpoint.upstream)?.length ?? 0,
      received: (target) => received.get(target.endpoint.upstream) ?? [],
      aborted: (target) => Effect.promise(() => closings.get(target.endpoint.upstream) ?? Promise.reject()),
      sockets: () => sockets
    }).pipe(
      Context.add(Catalog, {
        version: "test",
        models: [],
        known: [],
        lookup: () => ({ _tag: "Unknown" as const }),
        account: (provider) => (provider === "unknown" ? undefined : account(provider))
      })
    )
  })
)

const read = (line: JsonObject): Result.Result<ReadonlyArray<CompletionEvent>, Failure> => {
  if (line["error"] !== undefined) return Result.fail(transient("overloaded", "error inside"))
  return Result.succeed([
    ...(typeof line["text"] === "string" ? [{ type: "text" as const, text: line["text"] }] : []),
    ...(line["finish"] === "stop" ? [{ type: "finish" as const, reason: "stop" as const }] : [])
  ])
}

const reasons: { readonly [status: number]: FailureReason } = {
  400: { _tag: "Invalid" },
  401: { _tag: "Credentials" },
  404: { _tag: "Unsupported" },
  413: { _tag: "ContextTooLong" },
  451: { _tag: "Refused" }
}

/** Answers are `{"text","finish"}`, streams the same in pieces and then `[DONE]`. */
export const protocol: Protocol = {
  // The table is of no interest here: nothing reads it but the compiler.
  fields: {} as Protocol["fields"],
  takesImageUrls: true,
  encode: (call) => Result.succeed({ path: "", headers: {}, body: { stream: call.stream } }),
  decode: (body) => read(body as JsonObject),
  reader: () => {
    let finished = false
    let done = false
    return {
      step: ({ data }) => {
        done = data === "[DONE]"
        if (done) return Result.succeed([])
        const events = read(JSON.parse(data))
        if (Result.isSuccess(events)) finished ||= events.success.some(({ type }) => type === "finish")
        return events
      },
      ended: () => done,
      finish: () => (finished ? Result.succeed([]) : Result.fail(broken("no finish")))
    }
  },
  failure: ({ status, headers, body }) => {
    const wait = headers["retry-after"]
    return new Failure({
      reason: reasons[status] ?? {
        _tag: "Transient",
        kind: status === 429 ? "rate_limited" : "server",
        ...(wait !== undefined && { retryAfter: Duration.seconds(Number(wait)) })
      },
      message: body.slice(0, 20),
      status
    })
  }
}

export const status =
  (code: number, headers: { readonly [name: string]: string } = {}): Behaviour =>
  (response) =>
    response.writeHead(code, headers).end("{}")

export const json =
  (body: unknown): Behaviour =>
  (response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))

export const says = (text: string): Behaviour => json({ text, finish: "stop" })

/** Sends pieces of an event stream as they are, then leaves the connection open. */
export const sends =
  (...pieces: ReadonlyArray<string>): Behaviour =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
    for (const piece of pieces) response.write(piece)
  }

export const streams =
  (...pieces: ReadonlyArray<string>): Behaviour =>
  (response, incoming) => {
    sends(...pieces)(response, incoming)
    response.end()
  }

export const line = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`

export const never: Behaviour = () => undefined

export const reset: Behaviour = (response) => response.destroy()

export const quick = {
  ...defaultTimeouts,
  firstByte: Duration.millis(300),
  firstBytePlain: Duration.millis(300),
  firstOutput: Duration.millis(500),
  silence: Duration.millis(200)
}

/** The same protocol under every name. */
const everywhere = (one: Protocol): Record<ChatProtocolName, Protocol> =>
  // Every name is there, because the list of names is what it is made from.
  Object.fromEntries(chatProtocolNames.map((name) => [name, one])) as Record<ChatProtocolName, Protocol>

export const testLayer = (limits: Partial<Failover.FailoverLimits> = {}, timeouts = quick) =>
  layerOf(everywhere(protocol), ImageFetch.layer(), limits, timeouts)

/** With the real protocols, so that the script has to speak them. */
export const realLayer = () => layerOf(protocols, ImageFetch.layer(), {}, quick)

/** For a protocol that takes images as bytes, loaded by `inlined`. */
export const bytesOnlyLayer = (inlined: ImageFetch["Service"]["inlined"]) =>
  layerOf(
    everywhere({ ...protocol, takesImageUrls: false }),
    Layer.succeed(ImageFetch, ImageFetch.of({ inlined })),
    {},
    quick
  )

const layerOf = (
  spoken: Record<ChatProtocolName, Protocol>,
  images: Layer.Layer<ImageFetch>,
  limits: Partial<Failover.FailoverLimits>,
  timeouts: typeof quick
) =>
  Dispatch.layerWith({
    protocols: spoken,
    timeouts,
    limits: { ...Failover.defaultFailoverLimits, backoff: Duration.millis(5), ...limits }
  }).pipe(
    Layer.provideMerge(Layer.mergeAll(HttpTransport.layer(timeouts), CircuitBreakers.layer, images)),
    Layer.provide(SecureRandom.layerWebCrypto),
    Layer.provideMerge(scriptLayer),
    Layer.provideMerge(Logger.layer([]))
  )
