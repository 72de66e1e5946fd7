/** Models and requests for tests of routing, with ordinary values for everything that a test does not set. */
import { type Endpoint, type Model, modelEfforts, perAxis, type Profile } from "../../src/catalog/Model.ts"
import { userRequest, type ChatRequest, type ContentPart, textRequest } from "../../src/domain/Conversation.ts"
import { endpointId, modelId, providerId } from "../../src/domain/Ids.ts"
import { picodollars } from "../../src/domain/Money.ts"
import type { RoutingRequest } from "../../src/routing/RoutingRequest.ts"

export const flatProfile = (skill: number, peaks: Partial<Profile> = {}): Profile => ({
  ...perAxis(() => skill),
  ...peaks
})

/** An endpoint that charges `rate` picodollars for every token of any kind. */
export const endpointAt = (rate: bigint, parts: Partial<Endpoint> = {}): Endpoint => {
  const each = picodollars(rate)
  return {
    id: endpointId("acme/model"),
    provider: providerId("acme"),
    upstream: "model",
    protocol: "openai-chat",
    price: {
      rates: { input: each, cacheRead: each, cacheWrite5m: each, cacheWrite1h: each, audioInput: each, output: each },
      tiers: []
    },
    contextWindow: 100_000,
    maxOutputTokens: 10_000,
    structuredOutput: true,
    jsonMode: true,
    exclusive: [],
    ...parts
  }
}

export interface Traits extends Partial<Omit<Model, "id" | "endpoints">> {
  readonly skill?: number
  readonly rate?: bigint
  readonly endpoint?: Partial<Endpoint>
}

/** A model that supports everything, unless `traits` says otherwise. */
export const modelOf = (id: string, { endpoint, rate = 1_000n, skill = 0.5, ...traits }: Traits = {}): Model => ({
  id: modelId(id),
  kind: "chat",
  created: 0,
  ownedBy: "acme",
  modalities: { image: true, audio: true },
  tools: true,
  forcedToolChoice: true,
  structuredOutput: true,
  sampling: "always",
  reasoning: { support: "optional", efforts: modelEfforts.filter((effort) => effort !== "none") },
  profiles: { none: flatProfile(skill), low: flatProfile(skill), high: flatProfile(skill) },
  verbosity: 1,
  endpoints: [endpointAt(rate, endpoint)],
  ...traits
})

export const requestOf = (
  content: string | ReadonlyArray<ContentPart>,
  parts: Partial<ChatRequest> = {}
): ChatRequest => ({
  ...(typeof content === "string" ? textRequest(content) : userRequest(...content)),
  ...parts
})

export const routingRequestOf = (request: ChatRequest, parts: Partial<RoutingRequest> = {}): RoutingRequest => ({
  request,
  promptTokens: 100,
  allowed: undefined,
  ...parts
})

export const image: ContentPart = { type: "image", url: "https://example.com/cat.png" }
export const audio: ContentPart = { type: "audio", data: "AAAA", format: "wav" }
export const tool = { name: "get_weather", parameters: { type: "object" } }
