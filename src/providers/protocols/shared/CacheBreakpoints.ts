/**
 * Where a prompt should be cached. A client may mark more places than providers accept, and in an order they refuse.
 * Which marks are kept is decided here; `cache_control` is written as Anthropic and OpenRouter write it.
 */
import type { CacheControl, ChatRequest, ContentPart, TextPart } from "../../../domain/Conversation.ts"
import { isBlank } from "./Field.ts"

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

/**
 * Which text parts carry a breakpoint. The last ones win, because what they cover includes what earlier ones cover. An
 * hour after five minutes is refused, so it becomes five minutes.
 */
export const breakpoints = ({ cacheControl, messages }: ChatRequest): ReadonlyMap<TextPart, CacheControl> => {
  const marked = messages
    .flatMap((message): ReadonlyArray<ContentPart> => message.content)
    .flatMap((part) =>
      part.type === "text" && part.cacheControl !== undefined && !isBlank(part.text)
        ? [{ part, control: part.cacheControl }]
        : []
    )
    .slice(cacheControl === undefined ? -maxBreakpoints : 1 - maxBreakpoints)
  const short = marked.findIndex(({ control }) => control.ttl === "5m")
  return new Map(
    marked.map(({ control, part }, index) => [part, short >= 0 && index > short ? { ttl: "5m" } : control])
  )
}

/** The breakpoint for the whole prompt stands last, so it too may not last longer than an earlier one. */
export const automaticBreakpoint = ({ cacheControl, messages }: ChatRequest): CacheControl | undefined =>
  cacheControl &&
  (messages.some((message) =>
    message.content.some((part: ContentPart) => part.type === "text" && part.cacheControl?.ttl === "5m")
  )
    ? { ttl: "5m" }
    : cacheControl)
