/**
 * Translates a valid chat body into the gateway's own form: aliases are resolved and defaults are filled in. `null` and
 * absent mean the same, `developer` becomes `system`, and `max_tokens` counts only without `max_completion_tokens`.
 */
import { Duration, Option } from "effect"

import type * as Api from "../../api/ChatRequest.ts"
import type {
  AssistantMessage,
  CacheControl,
  ChatRequest,
  Message,
  ContentPart,
  ResponseFormat,
  TextPart
} from "../../domain/Conversation.ts"
import type { ReasoningFields } from "../../domain/Reasoning.ts"
import type { ChatInput } from "../../gateway/ChatCall.ts"

/** What the meaning of a request depends on beside its body. */
export interface RequestContext {
  /** `<service>-auto`, the model name that lets the router choose. */
  readonly autoModel: string
  /** The value of the header `x-session-id`. */
  readonly sessionHeader: string | undefined
}

/** Translates a body that the schema has accepted. */
export const chatInputOf = (wire: Api.ChatCompletionRequest, context: RequestContext): ChatInput => ({
  model: wire.model === context.autoModel ? undefined : (wire.model ?? undefined),
  request: toRequest(wire, context.sessionHeader),
  reasoning: toReasoning(wire),
  stream: wire.stream ?? false,
  callName: wire.metadata?.["call_name"] ?? undefined
})

/** Leaves out members without a value, so that absent stays absent. */
const present = <A extends object>(fields: A): { [K in keyof A]?: NonNullable<A[K]> } => {
  const kept: { [K in keyof A]?: NonNullable<A[K]> } = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined && value !== null) kept[key] = value
  }
  return kept
}

const toRequest = (wire: Api.ChatCompletionRequest, sessionHeader: string | undefined): ChatInput["request"] => ({
  messages: wire.messages.map(toMessage),
  tools: (wire.tools ?? []).map(({ function: tool }) => ({
    name: tool.name,
    parameters: tool.parameters,
    ...present({ description: tool.description })
  })),
  toolChoice: toToolChoice(wire.tool_choice),
  parallelToolCalls: wire.parallel_tool_calls ?? true,
  responseFormat: toResponseFormat(wire.response_format),
  stop: typeof wire.stop === "string" ? [wire.stop] : (wire.stop ?? []),
  ...present({
    maxOutputTokens: wire.max_completion_tokens ?? wire.max_tokens,
    temperature: wire.temperature,
    topP: wire.top_p,
    frequencyPenalty: wire.frequency_penalty,
    presencePenalty: wire.presence_penalty,
    cacheControl: toCacheControl(wire.cache_control),
    promptCacheKey: wire.prompt_cache_key,
    promptCacheRetention: wire.prompt_cache_retention,
    // An empty id counts as none; otherwise unrelated conversations would share one session pin.
    sessionId: (wire.session_id ?? sessionHeader) || undefined
  })
})

const toMessage = (message: Api.ChatMessage): Message => {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", content: toParts(message.content).filter(isText) }
    case "user":
      return { role: "user", content: toParts(message.content) }
    case "assistant":
      return toAssistant(message)
    case "tool":
      return { role: "tool", toolCallId: message.tool_call_id, content: toParts(message.content) }
  }
}

const toAssistant = (message: Extract<Api.ChatMessage, { role: "assistant" }>): AssistantMessage => ({
  role: "assistant",
  content: toParts(message.content).filter(isText),
  toolCalls: (message.tool_calls ?? []).map((call) => ({
    id: call.id,
    name: call.function.name,
    arguments: call.function.arguments
  })),
  reasoningDetails: message.reasoning_details ?? [],
  ...present({ reasoning: message.reasoning })
})

const isText = (part: ContentPart): part is TextPart => part.type === "text"

const toParts = (content: Api.ChatMessage["content"]): ReadonlyArray<ContentPart> => {
  if (content === undefined || content === null || content === "") return []
  if (typeof content === "string") return [{ type: "text", text: content }]
  return content.map((part): ContentPart => {
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text, ...present({ cacheControl: toCacheControl(part.cache_control) }) }
      case "refusal":
        return { type: "text", text: part.refusal }
      case "image_url":
        return { type: "image", url: part.image_url.url, ...present({ detail: part.image_url.detail }) }
      case "input_audio":
        return { type: "audio", ...part.input_audio }
    }
  })
}

const toToolChoice = (choice: Api.ChatCompletionRequest["tool_choice"]): ChatRequest["toolChoice"] =>
  typeof choice === "object" && choice !== null ? { name: choice.function.name } : (choice ?? "auto")

const toResponseFormat = (format: Api.ChatCompletionRequest["response_format"]): ResponseFormat => {
  if (format === undefined || format === null) return { type: "text" }
  if (format.type !== "json_schema") return format
  const { description, name, schema, strict } = format.json_schema
  return { type: "json_schema", name, schema, strict: strict ?? false, ...present({ description }) }
}

/** Any `reasoning` object counts as present, even an empty one. */
const toReasoning = (wire: Api.ChatCompletionRequest): ReasoningFields => {
  const { reasoning } = wire
  return {
    ...(reasoning && {
      reasoning: present({
        effort: reasoning.effort,
        maxTokens: reasoning.max_tokens,
        exclude: reasoning.exclude,
        enabled: reasoning.enabled
      })
    }),
    ...present({ reasoningEffort: wire.reasoning_effort })
  }
}

type WireCacheControl = Api.ChatCompletionRequest["cache_control"]

const toCacheControl = (control: WireCacheControl): CacheControl | undefined => {
  const ttl = cacheTtlOf(control)
  return ttl === undefined || ttl === "malformed" ? undefined : { ttl }
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
