/**
 * The reasoning of earlier messages. It goes back only to the model that made it, in the member that its server reads;
 * some servers refuse messages without it, and get a text that stands for it.
 */
import type { AssistantMessage } from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { WireCall } from "../Protocol.ts"
import { type Dialect, dialects } from "../shared/Dialects.ts"
import { detailsFrom } from "../shared/ReasoningDetails.ts"
import { canReason } from "../shared/request/Sampling.ts"
import { thinkingOf } from "../shared/request/Thinking.ts"
import type { TextChatPart, ThinkingChunk } from "./Body.ts"

/** A message's own reasoning, in one of the forms in which servers take it back, or in none. */
export interface ReasoningEcho {
  readonly text?: string
  readonly details?: AssistantMessage["reasoningDetails"]
  /** The content with the reasoning in it, in place of the text. */
  readonly content?: ReadonlyArray<ThinkingChunk | TextChatPart>
}

/** `text`: the text of the message. */
export const reasoningEcho = (call: WireCall, message: AssistantMessage, text: string): ReasoningEcho => {
  const dialect = dialects[call.dialect]
  if (dialect.reasoningEcho === "none") return {}
  const details = detailsFrom(call.origin, message)
  if (dialect.reasoningEcho === "details") return details.length > 0 ? { details } : {}
  // Without any block nobody can tell which model reasoned; blocks of another model prove that it was not this one.
  const foreign = message.reasoningDetails.length > 0 && details.length === 0
  const reasoning = details.length > 0 ? details.map(detailText).join("") : foreign ? "" : (message.reasoning ?? "")
  if (dialect.reasoningEcho !== "chunks") {
    const echoed = reasoning === "" ? missingReasoning(call, dialect, message) : reasoning
    return echoed === undefined ? {} : { text: echoed }
  }
  if (reasoning === "") return {}
  const chunk: ThinkingChunk = { type: "thinking", thinking: [{ type: "text", text: reasoning }] }
  return { content: text === "" ? [chunk] : [chunk, { type: "text", text }] }
}

/** What stands for reasoning that is not known, where a message is refused without any. */
const missingReasoning = (call: WireCall, { missingReasoning: rule }: Dialect, message: AssistantMessage) => {
  if (rule?.in !== "tool calls") return rule?.text
  const isNeeded = message.toolCalls.length > 0 && canReason(call.model) && thinkingOf(call).state !== "off"
  return isNeeded ? rule.text : undefined
}

const detailText = (detail: JsonObject): string => (typeof detail["text"] === "string" ? detail["text"] : "")
