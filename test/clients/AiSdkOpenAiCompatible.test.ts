/** The Vercel AI SDK with `@ai-sdk/openai-compatible`. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"

import { aiSdkClient } from "./AiSdk.ts"
import { describeClient } from "./ClientSuite.ts"
import { onEmbedded } from "./EmbeddedGateway.ts"

const client = aiSdkClient("The AI SDK, openai-compatible", ({ baseUrl, key, model }) =>
  createOpenAICompatible({
    name: "tollgate",
    baseURL: baseUrl,
    apiKey: key,
    // Without it, the SDK asks for any JSON in place of the schema.
    supportsStructuredOutputs: true
  }).chatModel(model)
)

describeClient(client, onEmbedded)
