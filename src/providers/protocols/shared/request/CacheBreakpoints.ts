/**
 * Where a prompt should be cached. A client may mark more places than providers accept, and in an order they refuse.
 * Which marks are kept is decided here; `cache_control` is written as Anthropic and OpenRouter write it.
 */
import type { Cacheable, CacheControl, ChatRequest, Message } from "../../../../domain/Conversation.ts"
import { isBlank } from "../Field.ts"

/** The `cache_control` member. Without `ttl` a prefix is cached for five minutes. */
export interface EphemeralCacheControl {
  readonly type: "ephemeral"
  readonly ttl: "1h" | undefined
}

/** Five minutes are the default, so they are not sent. */
export const ephemeral = ({ ttl }: CacheControl): EphemeralCacheControl => ({
  type: "ephemeral",
  ttl: ttl === "1h" ? "1h" : undefined
})

/** Anthropic and Bedrock refuse more breakpoints in one request. */
const maxBreakpoints = 4

/** What the client has marked, in the order of the prompt: tools, then messages, each with its calls after its text. */
export const markedIn = ({ messages, tools }: ChatRequest): ReadonlyArray<Cacheable> =>
  [...tools, ...messages.flatMap(cacheablesOf)].filter(({ cacheControl }) => cacheControl !== undefined)

const cacheablesOf = (message: Message): ReadonlyArray<Cacheable> => {
  const parts = message.content.filter((part) => part.type !== "text" || !isBlank(part.text))
  if (message.role === "assistant") return [...parts, ...message.toolCalls]
  return message.role === "tool" ? [...parts, message] : parts
}

/** The breakpoints of a request, by the part, call, tool or result that carries each. */
export type CacheBreakpoints = ReadonlyMap<Cacheable, CacheControl>

/**
 * What carries a breakpoint. The last marks win, because what they cover includes what earlier ones cover. An hour
 * after five minutes is refused, so it becomes five minutes.
 */
export const breakpoints = (request: ChatRequest): CacheBreakpoints => {
  const marked = markedIn(request).slice(request.cacheControl === undefined ? -maxBreakpoints : 1 - maxBreakpoints)
  const kept = new Map<Cacheable, CacheControl>()
  let longest: CacheControl["ttl"] = "1h"
  for (const item of marked) {
    if (item.cacheControl?.ttl !== "1h") longest = "5m"
    kept.set(item, { ttl: longest })
  }
  return kept
}

/** The breakpoint for the whole prompt stands last, so it too may not last longer than an earlier one. */
export const automaticBreakpoint = (request: ChatRequest): CacheControl | undefined =>
  request.cacheControl &&
  (markedIn(request).some(({ cacheControl }) => cacheControl?.ttl === "5m") ? { ttl: "5m" } : request.cacheControl)

/**
 * The same messages with every mark on a text, for servers that read marks nowhere else. The mark on a call moves to
 * the text before it, or else to the result after it.
 */
export const withMarksOnTexts = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const unplaced = new Map<string, CacheControl>()
  return messages.map((message): Message => {
    if (message.role === "tool") {
      const mark = message.cacheControl ?? unplaced.get(message.toolCallId)
      return { ...message, content: withMarkOnText(message.content, mark) ?? message.content }
    }
    if (message.role !== "assistant") return message
    const called = message.toolCalls.findLast(({ cacheControl }) => cacheControl !== undefined)
    if (called?.cacheControl === undefined) return message
    const toolCalls = message.toolCalls.map(({ cacheControl: _moved, ...call }) => call)
    const content = withMarkOnText(message.content, called.cacheControl)
    if (content === undefined) unplaced.set(called.id, called.cacheControl)
    return { ...message, toolCalls, content: content ?? message.content }
  })
}

/** `undefined` where there is no mark or no text for it. */
const withMarkOnText = <Part extends Message["content"][number]>(
  parts: ReadonlyArray<Part>,
  cacheControl: CacheControl | undefined
): ReadonlyArray<Part> | undefined => {
  const at = parts.findLastIndex((part) => part.type === "text" && !isBlank(part.text))
  return cacheControl === undefined || at < 0
    ? undefined
    : parts.map((part, index) => (index === at ? { cacheControl, ...part } : part))
}
