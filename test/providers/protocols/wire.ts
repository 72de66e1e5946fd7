/** Builds calls and reads answers, for the tests of the protocols. */
import { Result } from "effect"

import type { Model } from "../../../src/catalog/Model.ts"
import { type Completion, fold } from "../../../src/domain/Completion.ts"
import type { ChatRequest, Message } from "../../../src/domain/Conversation.ts"
import type { Failure } from "../../../src/domain/Failure.ts"
import { endpointId, modelId, providerId } from "../../../src/domain/Ids.ts"
import type { JsonObject } from "../../../src/domain/JsonObject.ts"
import { picodollars } from "../../../src/domain/Money.ts"
import type { Protocol, WireCall } from "../../../src/providers/protocols/Protocol.ts"

const free = picodollars(0n)
const rates = { input: free, cacheRead: free, cacheWrite5m: free, cacheWrite1h: free, audioInput: free, output: free }

/** A chat model that supports everything but reasoning. */
export const model = (over: Partial<Model> = {}): Model => ({
  id: modelId("m"),
  kind: "chat",
  created: 0,
  ownedBy: "lab",
  modalities: { image: true, audio: true },
  tools: true,
  forcedToolChoice: true,
  structuredOutput: true,
  sampling: "always",
  reasoning: { support: "none", efforts: [] },
  profiles: {},
  verbosity: 1,
  endpoints: [
    {
      id: endpointId("lab/m"),
      provider: providerId("lab"),
      upstream: "up",
      protocol: "openai-chat",
      price: { rates, tiers: [] },
      contextWindow: 100_000,
      maxOutputTokens: 8_192,
      structuredOutput: true,
      jsonMode: true,
      exclusive: []
    }
  ],
  ...over
})

/** A model that can reason, at three levels of effort. */
export const thinker = (over: Partial<Model["reasoning"]> = {}): Partial<Model> => ({
  reasoning: { support: "optional", efforts: ["low", "medium", "high"], ...over }
})

export const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] })

interface CallOptions extends Partial<Omit<WireCall, "request" | "model">> {
  readonly request?: Partial<ChatRequest>
  readonly model?: Partial<Model>
}

export const callOf = ({ model: traits, request, ...over }: CallOptions = {}): WireCall => ({
  request: {
    messages: [user("hi")],
    tools: [],
    toolChoice: "auto",
    parallelToolCalls: true,
    responseFormat: { type: "text" },
    stop: [],
    ...request
  },
  stream: true,
  model: model(traits),
  upstream: "up",
  maxOutputTokens: 8_192,
  dialect: "openai",
  origin: "lab/up",
  ...over
})

/** A body as the provider reads it: members that are `undefined` are not sent. */
export const asSent = (body: object): JsonObject => JSON.parse(JSON.stringify(body))

export const bodyOf = (protocol: Protocol, call: WireCall): JsonObject =>
  asSent(Result.getOrThrow(protocol.encode(call)).body)

export const decoded = (protocol: Protocol, body: unknown, call: WireCall): Result.Result<Completion, Failure> =>
  Result.map(protocol.decode(body, call), fold)

/** Reads a stream to its end. A string is the data of a frame; an object is sent as JSON. */
export const streamed = (
  protocol: Protocol,
  frames: ReadonlyArray<JsonObject | string>,
  call: WireCall
): Result.Result<Completion, Failure> =>
  Result.gen(function* () {
    const reader = protocol.reader(call)
    const events = []
    for (const frame of frames) {
      const data = typeof frame === "string" ? frame : JSON.stringify(frame)
      const event = typeof frame === "object" && typeof frame["type"] === "string" ? frame["type"] : ""
      events.push(...(yield* reader.step({ event, data })))
      if (reader.ended()) break
    }
    events.push(...(yield* reader.finish()))
    return fold(events)
  })

export const completed = (result: Result.Result<Completion, Failure>): Completion => Result.getOrThrow(result)

/** The finish reason of a completion, or what `failureTag` says of the failure. */
export const outcome = (result: Result.Result<Completion, Failure>): string | undefined =>
  Result.match(result, { onFailure: failureTag, onSuccess: ({ finishReason }) => finishReason })

/** The tag of a failure, with the kind of a transient one. */
export const failureTag = (failure: Failure): string =>
  failure.reason._tag === "Transient" ? failure.reason.kind : failure.reason._tag

/** `success`, or the tag of the failure. */
export const failing = (result: Result.Result<unknown, Failure>): string =>
  Result.match(result, { onFailure: failureTag, onSuccess: () => "success" })
