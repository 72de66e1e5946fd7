/** The Vercel AI SDK with `@ai-sdk/openai-compatible`. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert } from "@effect/vitest"
import { generateText, streamText } from "ai"
import { Effect } from "effect"

import { TestGateway } from "../support/TestGateway.ts"
import { aiSdkClient } from "./AiSdk.ts"
import { type ClientRequest, describeClient } from "./ClientSuite.ts"
import { onEmbedded } from "./EmbeddedGateway.ts"

const modelOf = ({ baseUrl, key, model }: Pick<ClientRequest, "baseUrl" | "key" | "model">) =>
  createOpenAICompatible({
    name: "tollgate",
    baseURL: baseUrl,
    apiKey: key,
    // Without this, the SDK requests any JSON object in place of the schema.
    supportsStructuredOutputs: true
  }).chatModel(model)

describeClient(aiSdkClient("The AI SDK, openai-compatible", modelOf), onEmbedded)

onEmbedded.sandbox("The AI SDK, openai-compatible, with reasoning,", (it) => {
  it.effect("reads it separately from the text, plain and streamed", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const call = {
        model: modelOf({ baseUrl: `${gateway.url}/v1`, key: gateway.key, model: "claude-sonnet-4-6" }),
        prompt: "Hello",
        maxRetries: 0,
        providerOptions: { tollgate: { reasoningEffort: "high" } }
      }
      for (const result of [yield* Effect.promise(() => generateText(call)), streamText(call)]) {
        const [text, reasoning] = yield* Effect.promise(() => Promise.all([result.text, result.reasoningText]))
        assert.match(text, /^This is the sandbox/)
        assert.strictEqual(
          reasoning,
          "The conversation has 1 messages. The sandbox thinks for show and answers at once."
        )
      }
    })
  )
})
