/** All protocols by name. A protocol name of the catalog that is missing here does not compile. */
import type { ChatProtocolName, EmbeddingProtocolName, TranscriptionProtocolName } from "../../catalog/Model.ts"
import { anthropicMessages } from "./anthropic-messages/AnthropicMessages.ts"
import { bedrockConverse } from "./bedrock-converse/BedrockConverse.ts"
import { gemini } from "./gemini/Gemini.ts"
import { openAiChat } from "./openai-chat/OpenAiChat.ts"
import { openAiEmbeddings } from "./openai-embeddings/OpenAiEmbeddings.ts"
import { openAiResponses } from "./openai-responses/OpenAiResponses.ts"
import { openAiTranscription } from "./openai-transcription/OpenAiTranscription.ts"
import type { EmbeddingProtocol, Protocol, TranscriptionProtocol } from "./Protocol.ts"

export const protocols: { readonly [Name in ChatProtocolName]: Protocol } = {
  "openai-chat": openAiChat,
  "openai-responses": openAiResponses,
  "anthropic-messages": anthropicMessages,
  gemini,
  "bedrock-converse": bedrockConverse
}

export const transcriptionProtocols: { readonly [Name in TranscriptionProtocolName]: TranscriptionProtocol } = {
  "openai-transcription": openAiTranscription
}

export const embeddingProtocols: { readonly [Name in EmbeddingProtocolName]: EmbeddingProtocol } = {
  "openai-embeddings": openAiEmbeddings
}
