/**
 * What of a conversation an endpoint does not get: reasoning that another model signed or wrote, for which this one has
 * no place, and schemas of tools that its protocol has to change. Without them a model may think again what was thought
 * before, or call a tool with other arguments, so they are named like parameters.
 */
import type { ProtocolName } from "../../catalog/Model.ts"
import type { AssistantMessage, ReasoningDetail } from "../../domain/Conversation.ts"
import { joinedDetails } from "../../domain/ReasoningBlocks.ts"
import { signaturesOf } from "./gemini/Signatures.ts"
import type { WireCall } from "./Protocol.ts"
import { dialects } from "./shared/Dialects.ts"
import { isDetailFrom, signedThinkingFrom } from "./shared/ReasoningDetails.ts"
import { mergesChoices } from "./shared/request/ClaudeSchema.ts"

/** Each as `name=omitted`, or with what is sent in its place. */
export const omittedContent = (protocol: ProtocolName, wire: WireCall): ReadonlyArray<string> => {
  const names: Array<string> = []
  const answers = wire.request.messages.filter(hasReasoning)
  if (answers.some((message) => losesDetails(protocol, wire, message))) names.push("messages.reasoning_details=omitted")
  if (answers.some((message) => losesText(protocol, wire, message))) names.push("messages.reasoning=omitted")
  const isClaudes = protocol === "anthropic-messages" || protocol === "bedrock-converse"
  if (isClaudes && wire.request.tools.some(({ parameters }) => mergesChoices(parameters)))
    names.push("tools.function.parameters=merged")
  return names
}

const hasReasoning = (message: WireCall["request"]["messages"][number]): message is AssistantMessage =>
  message.role === "assistant" && (message.reasoningDetails.length > 0 || message.reasoning !== undefined)

/**
 * Blocks of another model are lost, and so are signed blocks that do not go back as they were signed. Other blocks of
 * the model's own hold nothing but what it showed, and where they do not go back, its provider takes none.
 */
const losesDetails = (protocol: ProtocolName, { origin }: WireCall, message: AssistantMessage): boolean => {
  if (message.reasoningDetails.length === 0) return false
  const details = joinedDetails(message.reasoningDetails)
  if (!details.every((detail) => isDetailFrom(origin, detail))) return true
  const signed = details.filter(isSigned).length
  switch (protocol) {
    case "anthropic-messages":
    case "bedrock-converse":
      return signedThinkingFrom(origin, message).length < signed
    case "gemini":
      return signaturesCarried(origin, message) < signed
    default:
      return false
  }
}

const isSigned = ({ data, signature }: ReasoningDetail): boolean =>
  typeof data === "string" || typeof signature === "string"

const signaturesCarried = (origin: string, message: AssistantMessage): number => {
  const { ofCall, texts, thoughts } = signaturesOf(origin, message, message.content.map(({ text }) => text).join(""))
  return thoughts.length + texts.length + message.toolCalls.filter(({ id }) => ofCall(id) !== undefined).length
}

/** Without blocks nobody can tell which model reasoned, and few servers take the text alone. */
const losesText = (protocol: ProtocolName, { dialect }: WireCall, message: AssistantMessage): boolean =>
  message.reasoning !== undefined &&
  message.reasoningDetails.length === 0 &&
  !(protocol === "openai-chat" && takesText.has(dialects[dialect].reasoningEcho))

const takesText: ReadonlySet<string> = new Set(["reasoning", "reasoning_content", "chunks"])
