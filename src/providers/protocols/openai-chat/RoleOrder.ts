/**
 * The order of roles that some servers insist on. What is added never changes, because a cached prefix must stay the
 * same.
 */
import type { Dialect } from "../shared/Dialects.ts"
import { continuePrompt, systemTags } from "../shared/request/Turns.ts"
import type { OpenAiMessage } from "./Body.ts"

/** Stands between the result of a tool and what the user says next. */
const bridge: OpenAiMessage = {
  role: "assistant",
  content: "OK.",
  refusal: undefined,
  reasoning_details: undefined,
  reasoning: undefined,
  reasoning_content: undefined,
  tool_calls: undefined
}

/** `messages` in an order that the server accepts. */
export const inRoleOrder = (
  { roleOrder }: Dialect,
  messages: ReadonlyArray<OpenAiMessage>
): ReadonlyArray<OpenAiMessage> => {
  if (roleOrder === "any") return messages
  const ordered: Array<OpenAiMessage> = []
  let hasBegun = false
  for (const message of messages) {
    const next: OpenAiMessage = hasBegun ? asUser(message) : message
    hasBegun ||= next.role !== "system"
    if (next.role === "user" && ordered.at(-1)?.role === "tool") ordered.push(bridge)
    ordered.push(next)
  }
  const last = ordered.at(-1)?.role
  if (last !== "user" && last !== "tool") ordered.push({ role: "user", content: continuePrompt })
  return ordered
}

/** An instruction amid the conversation becomes the user's, with tags that tell it from what the user says. */
const asUser = (message: OpenAiMessage): OpenAiMessage =>
  message.role === "system" || message.role === "developer"
    ? { role: "user", content: `${systemTags.open}\n${textOf(message.content)}\n${systemTags.close}` }
    : message

const textOf = (content: OpenAiMessage["content"]): string =>
  typeof content === "string"
    ? content
    : (content ?? []).map((part) => (part.type === "text" ? part.text : "")).join("\n")
