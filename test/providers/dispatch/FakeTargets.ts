/**
 * Targets for `Dispatch` under a test's control: endpoints of one fake provider, and a small protocol to speak with
 * them. Whatever happens on the wire is real (resets, web pages, half answers); only the protocol is made up.
 */
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
import * as Fake from "../../support/fake-provider/FakeProvider.ts"

export class FakeTargets extends Context.Service<
  FakeTargets,
  {
    /** A target whose endpoint plays these behaviours in turn, and the last one for all that follow. */
    readonly target: (name: string, ...behaviours: ReadonlyArray<Fake.Behaviour>) => Target
    /** How many requests the target has received since its script was set. */
    readonly calls: (target: Target) => number
    /** These requests. */
    readonly received: (target: Target) => ReadonlyArray<Fake.Received>
    /** The first of them, once it has arrived. */
    readonly arrival: (target: Target) => Effect.Effect<Fake.Received>
    /** Waits until the connection of the latest call is closed before its answer is complete. */
    readonly aborted: (target: Target) => Effect.Effect<void>
    /** Connections to all targets that were opened so far. */
    readonly connections: () => number
  }
>()("test/providers/FakeTargets") {}

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
    maxOutputTokens: 100,
    structuredOutput: true,
    jsonMode: true,
    exclusive: []
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

/** A proof of a hold, as the ledger gives it. */
export const held = heldRequestId(requestId("018f0000-0000-7000-8000-000000000001"))

export const request: ChatRequest = {
  messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
  tools: [],
  toolChoice: "auto",
  parallelToolCalls: true,
  responseFormat: { type: "text" },
  stop: []
}

/** An account with this name at this address, whose key is `secret`. */
export const accountAt = (name: string, baseUrl: string): ProviderAccount => ({
  provider: {
    id: providerId(name),
    protocol: "openai-chat",
    dialect: "generic",
    baseUrl,
    apiKeyEnv: "",
    baseUrlEnv: "",
    auth: "bearer"
  },
  baseUrl,
  apiKey: Redacted.make("secret")
})

/** A catalog that knows nothing but the accounts of its providers. */
export const catalogOf = (account: Catalog["Service"]["account"]): Catalog["Service"] =>
  Catalog.of({
    version: "test",
    models: [],
    known: [],
    data: { providers: new Map(), models: new Map() },
    lookup: () => ({ _tag: "Unknown" }),
    account
  })

const targetsLayer = Layer.effectContext(
  Effect.map(Fake.FakeProvider, (server) => {
    const endpointOf = ({ endpoint }: Target) => server.endpoint(endpoint.upstream)
    // Port 1 refuses connections.
    const urlOf = (name: string) => (name === "unreachable" ? "http://127.0.0.1:1" : server.endpoint(name).url)
    return Context.make(FakeTargets, {
      target: (name, ...behaviours) => {
        server.endpoint(name).script(...behaviours)
        return targetOf(name)
      },
      calls: (target) => endpointOf(target).received.length,
      received: (target) => endpointOf(target).received,
      arrival: (target) => Effect.promise(() => endpointOf(target).arrival()),
      aborted: (target) =>
        Effect.promise(async () => {
          const endpoint = endpointOf(target)
          const { aborted } = endpoint.received.at(-1) ?? (await endpoint.arrival())
          return aborted
        }),
      connections: () => server.connections
    }).pipe(
      Context.add(
        Catalog,
        catalogOf((provider) => (provider === "unknown" ? undefined : accountAt(provider, urlOf(provider))))
      )
    )
  })
).pipe(Layer.provide(Fake.FakeProvider.layer))

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

/** An answer is `{"text","finish"}`. A stream has events with either of them, and then `[DONE]`. */
export const protocol: Protocol = {
  // Nothing reads the table of fields in these tests.
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

/** Answers with a status and no message. */
export const status = (code: number, headers: { readonly [name: string]: string } = {}): Fake.Behaviour =>
  Fake.reply(code, "{}", headers)

export const json = (body: unknown): Fake.Behaviour => Fake.reply(200, body)

/** A whole answer in the protocol of these targets. */
export const answers = (text: string): Fake.Behaviour => json({ text, finish: "stop" })

export const quick = {
  ...defaultTimeouts,
  firstByte: Duration.millis(300),
  firstBytePlain: Duration.millis(300),
  firstOutput: Duration.millis(500),
  silence: Duration.millis(200)
}

/** The same protocol under the name of each real one. */
const everywhere = (one: Protocol): Record<ChatProtocolName, Protocol> =>
  // The cast is safe: the record is made from the list of all names.
  Object.fromEntries(chatProtocolNames.map((name) => [name, one])) as Record<ChatProtocolName, Protocol>

export const testLayer = (limits: Partial<Failover.FailoverLimits> = {}, timeouts = quick) =>
  layerOf(everywhere(protocol), ImageFetch.layer(), limits, timeouts)

/** With the real protocols, which the behaviours have to follow. */
export const realLayer = () => layerOf(protocols, ImageFetch.layer(), {}, quick)

/** For a protocol that takes images as bytes only, which `inlined` loads. */
export const bytesOnlyLayer = (inlined: ImageFetch["Service"]["inlined"]) =>
  layerOf(
    everywhere({ ...protocol, takesImageUrls: false }),
    Layer.succeed(ImageFetch, ImageFetch.of({ inlined })),
    {},
    quick
  )

const layerOf = (
  named: Record<ChatProtocolName, Protocol>,
  images: Layer.Layer<ImageFetch>,
  limits: Partial<Failover.FailoverLimits>,
  timeouts: typeof quick
) =>
  Dispatch.layerWith({
    protocols: named,
    timeouts,
    limits: { ...Failover.defaultFailoverLimits, backoff: Duration.millis(5), ...limits }
  }).pipe(
    Layer.provideMerge(Layer.mergeAll(HttpTransport.layer(timeouts), CircuitBreakers.layer, images)),
    Layer.provideMerge(targetsLayer),
    Layer.provide(SecureRandom.layerWebCrypto),
    Layer.provideMerge(Logger.layer([]))
  )
