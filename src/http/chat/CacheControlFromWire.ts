/**
 * Reads `cache_control` wherever clients put it: on parts, on messages, on tool calls, on tools and on the request. A
 * mark on a message means that the prefix up to its end should be cached, so it becomes one on its last part.
 */
import { Duration, Option } from "effect"

import type { ChatMessage } from "../../api/ChatMessages.ts"
import type * as Api from "../../api/ChatRequest.ts"
import type { Cacheable, CacheControl, ContentPart } from "../../domain/Conversation.ts"

export type WireCacheControl = Api.ChatCompletionRequest["cache_control"]

/** `undefined` without a mark. A malformed one has been refused before. */
export const cacheControlOf = (control: WireCacheControl): CacheControl | undefined => {
  const ttl = cacheTtlOf(control)
  return ttl === undefined || ttl === "malformed" ? undefined : { ttl }
}

/** `items` with the mark on the last of them, unless that has one of its own. */
export const withMarkOnLast = <Item extends Cacheable>(
  items: ReadonlyArray<Item>,
  cacheControl: CacheControl | undefined
): ReadonlyArray<Item> =>
  cacheControl === undefined
    ? items
    : items.map((item, index) => (index === items.length - 1 ? { cacheControl, ...item } : item))

/** The same for parts, among which blank texts cannot be marked. */
export const withMark = (
  parts: ReadonlyArray<ContentPart>,
  cacheControl: CacheControl | undefined
): ReadonlyArray<ContentPart> => {
  const end = parts.findLastIndex((part) => part.type !== "text" || part.text.trim() !== "") + 1
  return [...withMarkOnLast(parts.slice(0, end), cacheControl), ...parts.slice(end)]
}

/** Durations such as `5m`, `1h` and `1 hour`; other notations are left to `Duration.fromInput`. */
const durationText = /^(\d{1,6})\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)$/i
const secondsPer: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3_600, d: 86_400 }

/**
 * The cache lifetime that a `cache_control` means. Providers offer five minutes and one hour: an hour or more becomes
 * one hour, and anything shorter becomes five minutes. `undefined` without a `cache_control`.
 */
export const cacheTtlOf = (control: WireCacheControl): CacheControl["ttl"] | "malformed" | undefined => {
  if (control === undefined || control === null) return undefined
  if (control.ttl === undefined || control.ttl === null) return "5m"
  const match = durationText.exec(control.ttl.trim())
  const seconds =
    match === null
      ? // Any text may be passed: `fromInput` returns none for what is not a duration.
        Option.map(Duration.fromInput(control.ttl as Duration.Input), Duration.toSeconds)
      : Option.some(Number(match[1]) * (secondsPer[match[2]?.[0]?.toLowerCase() ?? ""] ?? 0))
  if (Option.isNone(seconds) || !(seconds.value > 0)) return "malformed"
  return seconds.value >= 3_600 ? "1h" : "5m"
}

/** The first mark with a lifetime that cannot be read, as a message that names it. */
export const badCacheControl = (wire: Api.ChatCompletionRequest): string | undefined => {
  for (const [path, control] of marksIn(wire))
    if (cacheTtlOf(control) === "malformed")
      return `${path}cache_control.ttl: must be a duration such as 5m, 1h or 1 hour`
  return undefined
}

type Mark = readonly [path: string, control: WireCacheControl]

const marksIn = (wire: Api.ChatCompletionRequest): ReadonlyArray<Mark> => [
  ["", wire.cache_control],
  ...wire.messages.flatMap((message, at) => marksOfMessage(message, `messages[${at}].`)),
  ...(wire.tools ?? []).flatMap((tool, at): ReadonlyArray<Mark> => [
    [`tools[${at}].`, tool.cache_control],
    [`tools[${at}].function.`, tool.function.cache_control]
  ])
]

const marksOfMessage = (message: ChatMessage, path: string): ReadonlyArray<Mark> => {
  const { content } = message
  const parts = content === undefined || content === null || typeof content === "string" ? [] : content
  const calls = message.role === "assistant" ? (message.tool_calls ?? []) : []
  return [
    [path, message.cache_control],
    ...parts.map((part, index): Mark => [
      `${path}content[${index}].`,
      part.type === "refusal" ? undefined : part.cache_control
    ]),
    ...calls.map((call, index): Mark => [`${path}tool_calls[${index}].`, call.cache_control])
  ]
}
