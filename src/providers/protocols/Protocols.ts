/** All protocols by name. The compiler refuses a protocol name of the catalog that is missing here. */
import type { ProtocolName } from "../../catalog/Model.ts"
import { anthropicMessages } from "./AnthropicMessages.ts"
import { openAiChat } from "./OpenAiChat.ts"
import type { Protocol } from "./Protocol.ts"

export const protocols: { readonly [Name in ProtocolName]: Protocol } = {
  "openai-chat": openAiChat,
  "anthropic-messages": anthropicMessages
}
