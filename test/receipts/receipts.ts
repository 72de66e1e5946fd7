/** Sample receipts. */
import * as Ids from "../../src/domain/Ids.ts"
import { picodollars } from "../../src/domain/Money.ts"
import type { Receipt, RoutingFeatures } from "../../src/receipts/Receipt.ts"

export const organization = Ids.organizationId("018f0000-0000-7000-8000-00000000000a")

/** The receipt of the request with this number. */
export const receiptOf = (number: number): Receipt => ({
  id: Ids.requestId(`018bcfe5-687b-7000-9000-${number.toString(16).padStart(12, "0")}`),
  organization,
  project: Ids.projectId("018f0000-0000-7000-8000-00000000000b"),
  environment: Ids.environmentId("018f0000-0000-7000-8000-00000000000c"),
  key: Ids.apiKeyId("018f0000-0000-7000-8000-00000000000d"),
  atMillis: 1_700_000_000_123,
  stream: false,
  requestedModel: "svc-auto",
  outcome: "completed",
  served: { model: Ids.modelId("gpt-5-mini"), endpoint: Ids.endpointId("openai/gpt-5-mini") },
  attempts: [
    {
      model: Ids.modelId("gpt-5-mini"),
      endpoint: Ids.endpointId("openai/gpt-5-mini"),
      outcome: "answered",
      latencyMillis: 12.5
    }
  ],
  usage: { input: 10, cacheRead: 1, cacheWrite5m: 0, cacheWrite1h: 0, audioInput: 0, output: 20, reasoning: 5 },
  usageEstimated: false,
  catalogVersion: "0123456789ab",
  rates: { input: picodollars(250_000n), output: picodollars(2_000_000n) },
  held: picodollars(9_007_199_254_740_993n),
  cost: picodollars(42_500_000n),
  durationMillis: 321
})

/** What the router knew about a short request in plain text. */
export const features: RoutingFeatures = {
  image: false,
  audio: false,
  tools: false,
  forcedTool: false,
  structuredOutput: false,
  tier: "high",
  promptTokens: 100,
  audioTokens: 0,
  outputLimit: 10
}
