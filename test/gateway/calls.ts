/** A chat call, a target that can answer it and a hold that records its charges, for the tests of the use cases. */
import { Effect } from "effect"

import type { CompletionEvent } from "../../src/domain/Completion.ts"
import type { ChatRequest } from "../../src/domain/Conversation.ts"
import {
  apiKeyId,
  endpointId,
  environmentId,
  heldRequestId,
  modelId,
  organizationId,
  projectId,
  providerId,
  requestId
} from "../../src/domain/Ids.ts"
import { type Picodollars, picodollars } from "../../src/domain/Money.ts"
import { none, type Usage } from "../../src/domain/Usage.ts"
import type { ChatCall, ChatInput } from "../../src/gateway/ChatCall.ts"
import type { Hold } from "../../src/ledger/CreditLedger.ts"
import type { Target } from "../../src/providers/dispatch/Target.ts"

const id = "018f4f6e-0000-7000-8000-000000000001"

export const request: ChatRequest = {
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
  tools: [],
  toolChoice: "auto",
  parallelToolCalls: true,
  responseFormat: { type: "text" },
  stop: []
}

export const callOf = (input: Partial<ChatInput> = {}, models?: ReadonlyArray<string>): ChatCall => ({
  id: requestId(id),
  caller: {
    key: apiKeyId(id),
    organization: organizationId(id),
    project: projectId(id),
    environment: environmentId(id),
    endpoints: undefined,
    models: models && new Set(models.map((model) => modelId(model))),
    requestsPerMinute: undefined
  },
  input: { model: undefined, request, reasoning: {}, stream: true, callName: undefined, ...input }
})

/** Costs two picodollars per prompt token and ten per output token. */
export const targetOf = (name: string): Target => {
  const [two, ten] = [picodollars(2n), picodollars(10n)]
  const rates = { input: two, cacheRead: two, cacheWrite5m: two, cacheWrite1h: two, audioInput: two, output: ten }
  const endpoint = {
    id: endpointId(`acme/${name}`),
    provider: providerId("acme"),
    upstream: name,
    protocol: "openai-chat",
    price: { rates, tiers: [] },
    contextWindow: 100_000,
    maxOutputTokens: 1_000,
    structuredOutput: true,
    jsonMode: true,
    exclusive: []
  } as const
  const model = {
    id: modelId(name),
    kind: "chat",
    created: 0,
    ownedBy: "acme",
    modalities: { image: false, audio: false },
    tools: true,
    forcedToolChoice: true,
    structuredOutput: true,
    sampling: "always",
    reasoning: { support: "optional", efforts: [] },
    profiles: {},
    verbosity: 1,
    endpoints: [endpoint]
  } as const
  return { model, endpoint }
}

/** A hold of this amount, and the list of charges that were settled on it. */
export const holdOf = (amount: bigint) => {
  const charges: Array<Picodollars> = []
  const hold: Hold = {
    request: heldRequestId(requestId(id)),
    amount: picodollars(amount),
    // Settles only after a yield, as the ledger does.
    settle: (amount, facts) =>
      Effect.andThen(Effect.yieldNow, () =>
        Effect.sync(() => {
          charges.push(amount)
          return { charge: { amount, ...(facts !== undefined && { facts }) } }
        })
      )
  }
  return { hold, charges }
}

export const text = (content: string): CompletionEvent => ({ type: "text", text: content })
export const finish: CompletionEvent = { type: "finish", reason: "stop" }
export const usage = (counts: Partial<Usage>): CompletionEvent => ({ type: "usage", usage: { ...none, ...counts } })
