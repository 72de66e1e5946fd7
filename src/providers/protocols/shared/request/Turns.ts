/**
 * The shape that Anthropic, Gemini and Bedrock want of a conversation: system prompts apart from it, and turns that
 * alternate between user and model, the first and the last of them the user's. The sentences that are added to a
 * conversation here never change, because a cached prefix must stay the same.
 */
import type { Message, SystemMessage, ToolCall, ToolMessage } from "../../../../domain/Conversation.ts"

/** The user's turn before a conversation that begins with the model's, or after one that ends with it. */
export const continuePrompt = "Continue."

/** Introduces images and audio that a tool returned, where tool results hold only text. */
export const toolMediaIntroduction = "From the tool results above:"

/** Answers a tool call whose result the client did not send, where every call must have one. */
export const missingToolResult = "The tool gave no result."

/** A system message between the turns goes into the user's turn: not every model knows the role there. */
export const systemTags = { open: "<system>", close: "</system>" } as const

/** A conversation, split after the system messages it begins with. */
export interface SplitConversation {
  readonly system: ReadonlyArray<SystemMessage>
  readonly rest: ReadonlyArray<Message>
}

/** Later system messages stay in `rest`. */
export const splitSystem = (messages: ReadonlyArray<Message>): SplitConversation => {
  const system: Array<SystemMessage> = []
  for (const message of messages) {
    if (message.role !== "system") break
    system.push(message)
  }
  return { system, rest: messages.slice(system.length) }
}

/** What one message adds to the conversation: nothing, if `parts` is empty. */
export interface TurnAddition<Role extends string, Part> {
  readonly role: Role
  readonly parts: ReadonlyArray<Part>
}

/** All that consecutive messages of one role add. */
export interface AlternatingTurn<Role extends string, Part> {
  readonly role: Role
  readonly parts: Array<Part>
}

/** Merges neighbours of one role. `filler` is the user's turn where a conversation would begin or end without one. */
export const alternatingTurns = <Role extends string, Part>(
  additions: Iterable<TurnAddition<Role | "user", Part>>,
  filler: Part
): Array<AlternatingTurn<Role | "user", Part>> => {
  const turns: Array<AlternatingTurn<Role | "user", Part>> = []
  for (const { parts, role } of additions) {
    const last = turns.at(-1)
    if (parts.length === 0) continue
    // A list that is spread into arguments must be short, and a client may send any number of parts.
    if (last?.role === role) for (const part of parts) last.parts.push(part)
    else turns.push({ role, parts: [...parts] })
  }
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", parts: [filler] })
  if (turns.at(-1)?.role !== "user") turns.push({ role: "user", parts: [filler] })
  return turns
}

/** A history in which every call has an id of its own and is answered at once, as all providers insist. */
export const withResultsAtCalls = (history: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const messages = withUniqueCallIds(history)
  const results = toolResultsIn(messages)
  return messages.flatMap((message): ReadonlyArray<Message> => {
    if (message.role === "tool") return []
    if (message.role !== "assistant") return [message]
    return [message, ...message.toolCalls.map((call) => results.get(call) ?? missingResult(call))]
  })
}

const missingResult = ({ id }: ToolCall): ToolMessage => ({
  role: "tool",
  toolCallId: id,
  content: [{ type: "text", text: missingToolResult }]
})

/** The same messages for providers that know no refusals: the text of a refusal is a part of its content. */
export const withRefusalsAsText = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> =>
  messages.map((message) => {
    if (message.role !== "assistant" || !message.refusal) return message
    const { refusal, ...rest } = message
    return { ...rest, content: [...message.content, { type: "text", text: refusal }] }
  })

/** Results by the call they answer. Ids may recur in later turns, so an id alone does not identify a call. */
export type ToolResults = ReadonlyMap<ToolCall, ToolMessage>

/** The calls of one message that share an id. */
interface CallsOfId {
  readonly message: Message
  readonly calls: Array<ToolCall>
  answered: number
}

/**
 * A result belongs to the last message before it that has a call with its id; results need not follow their calls
 * directly. Where several calls of one message share the id, the results answer them in order; where there are more
 * results than calls, the last one counts.
 */
export const toolResultsIn = (messages: ReadonlyArray<Message>): ToolResults => {
  const callsOfId = new Map<string, CallsOfId>()
  const results = new Map<ToolCall, ToolMessage>()
  for (const message of messages) {
    if (message.role === "assistant")
      for (const call of message.toolCalls) {
        const known = callsOfId.get(call.id)
        if (known?.message === message) known.calls.push(call)
        else callsOfId.set(call.id, { message, calls: [call], answered: 0 })
      }
    const asked = message.role === "tool" ? callsOfId.get(message.toolCallId) : undefined
    const call = asked?.calls[Math.min(asked.answered++, asked.calls.length - 1)]
    if (message.role === "tool" && call !== undefined) results.set(call, message)
  }
  return results
}

/**
 * The same history with new ids for calls whose id an earlier call has, which many providers refuse. They depend on
 * nothing that comes later, so that a cached prefix stays the same.
 */
export const withUniqueCallIds = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls : []))
  const counts = new Map<string, number>()
  const renamed = new Map<ToolCall, ToolCall>()
  for (const call of calls) {
    const count = (counts.get(call.id) ?? 0) + 1
    counts.set(call.id, count)
    if (count > 1) renamed.set(call, { ...call, id: `${call.id}#${count}` })
  }
  if (renamed.size === 0) return messages
  const callOf = new Map(Array.from(toolResultsIn(messages), ([call, result]) => [result, call] as const))
  return messages.flatMap((message): ReadonlyArray<Message> => {
    if (message.role === "assistant")
      return [{ ...message, toolCalls: message.toolCalls.map((call) => renamed.get(call) ?? call) }]
    if (message.role !== "tool") return [message]
    const call = callOf.get(message)
    return call === undefined ? [] : [{ ...message, toolCallId: (renamed.get(call) ?? call).id }]
  })
}
