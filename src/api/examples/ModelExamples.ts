/** Answers of `GET /v1/models` and `GET /v1/models/{id}` for the published document. */
import type { ModelCard, ModelList } from "../Models.ts"
import type { DocumentedExamples } from "../OperationDocs.ts"

const routedModel: typeof ModelCard.Encoded = {
  id: "svc-auto",
  object: "model",
  created: 1_794_182_400,
  owned_by: "svc",
  architecture: {
    modality: "text+image+audio->text",
    input_modalities: ["text", "image", "audio"],
    output_modalities: ["text"]
  },
  svc: {
    kind: "chat",
    routed: true,
    context_window: 1_050_000,
    max_output_tokens: 128_000,
    input_modalities: ["text", "image", "audio"],
    tools: true,
    forced_tool_choice: true,
    structured_output: true,
    reasoning: { support: "optional", efforts: ["minimal", "low", "medium", "high", "xhigh"] },
    providers: ["anthropic", "google", "openai"]
  }
}

const chatModel: typeof ModelCard.Encoded = {
  id: "gpt-5-mini",
  object: "model",
  created: 1_754_524_800,
  owned_by: "openai",
  architecture: { modality: "text+image->text", input_modalities: ["text", "image"], output_modalities: ["text"] },
  svc: {
    kind: "chat",
    price_usd_per_mtok: {
      input: "0.25",
      output: "2",
      cache_read: "0.025",
      cache_write: "0.25",
      cache_write_1h: "0.25",
      audio_input: "0.25",
      tiers: []
    },
    context_window: 400_000,
    max_output_tokens: 128_000,
    input_modalities: ["text", "image"],
    tools: true,
    forced_tool_choice: true,
    structured_output: true,
    reasoning: { support: "always", efforts: ["minimal", "low", "medium", "high"] },
    providers: ["openai"]
  }
}

const list: typeof ModelList.Encoded = { object: "list", data: [routedModel, chatModel] }

export const modelLists: DocumentedExamples = { models: { summary: "The first of the list", value: list } }

export const modelCards: DocumentedExamples = {
  chat: { summary: "A model for chats", value: chatModel },
  routed: { summary: "The routed model", value: routedModel }
}
