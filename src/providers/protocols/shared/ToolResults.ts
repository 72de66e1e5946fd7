/** Which result answers which call: ids may come again in later turns, and results need not stand where they belong. */
import type { Message, ToolCall, ToolMessage } from "../../../domain/Conversation.ts"

export type Results = ReadonlyMap<ToolCall, ToolMessage>

/** The results of a conversation's calls. One belongs to the last call before it that has its id. */
export const resultsIn = (messages: ReadonlyArray<Message>): Results => {
  const called = new Map<string, ToolCall>()
  const results = new Map<ToolCall, ToolMessage>()
  for (const message of messages) {
    if (message.role === "assistant") for (const tool of message.toolCalls) called.set(tool.id, tool)
    const tool = message.role === "tool" ? called.get(message.toolCallId) : undefined
    if (message.role === "tool" && tool !== undefined) results.set(tool, message)
  }
  return results
}
