/**
 * The translation of a valid chat body: wire spelling and aliases out, defaults in. `null` and absent become the same,
 * `developer` becomes `system`, `max_tokens` counts only without `max_completion_tokens`.
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

/** What the gateway is asked to do. */
export const chatInputOf = (wire: Api.ChatCompletionRequest, surroundings: RequestContext): ChatInput => ({
  model: wire.model === surroundings.autoModel ? undefined : (wire.model ?? undefined),
  request: toRequest(wire, surroundings.sessionHeader),
  reasoning: toReasoning(wire),
  stream: wire.stream ?? false,
  callName: wire.metadata?.["call_name"] ?? undefined
})

/** Leaves out keys without a value, so that absent stays absent. */
const given = <A extends object>(fields: A): { [K in keyof A]?: NonNullable<A[K]> } => {
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
    ...given({ description: tool.description })
  })),
  toolChoice: toToolChoice(wire.tool_choice),
  parallelToolCalls: wire.parallel_tool_calls ?? true,
  responseFormat: toResponseFormat(wire.response_format),
  stop: typeof wire.stop === "string" ? [wire.stop] : (wire.stop ?? []),
  ...given({
    maxOutputTokens: wire.max_completion_tokens ?? wire.max_tokens,
    temperature: wire.temperature,
    topP: wire.top_p,
    frequencyPenalty: wire.frequency_penalty,
    presencePenalty: wire.presence_penalty,
    cacheControl: toCacheControl(wire.cache_control),
    promptCacheKey: wire.prompt_cache_key,
    promptCacheRetention: wire.prompt_cache_retention,
    // An empty id names no conversation; sharing it would pin strangers' threads together.
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
  ...given({ reasoning: message.reasoning })
})

const isText = (part: ContentPart): part is TextPart => part.type === "text"

const toParts = (content: Api.ChatMessage["content"]): ReadonlyArray<ContentPart> => {
  if (content === undefined || content === null || content === "") return []
  if (typeof content === "string") return [{ type: "text", text: content }]
  return content.map((part): ContentPart => {
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text, ...given({ cacheControl: toCacheControl(part.cache_control) }) }
      case "refusal":
        return { type: "text", text: part.refusal }
      case "image_url":
        return { type: "image", url: part.image_url.url, ...given({ detail: part.image_url.detail }) }
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
  return { type: "json_schema", name, schema, strict: strict ?? false, ...given({ description }) }
}

/** Any `reasoning` object counts as present, also an empty one. */
const toReasoning = (wire: Api.ChatCompletionRequest): ReasoningFields => {
  const { reasoning } = wire
  return {
    ...(reasoning && {
      reasoning: given({
        effort: reasoning.effort,
        maxTokens: reasoning.max_tokens,
        exclude: reasoning.exclude,
        enabled: reasoning.enabled
      })
    }),
    ...given({ reasoningEffort: wire.reasoning_effort })
  }
}

type WireCacheControl = Api.ChatCompletionRequest["cache_control"]

const toCacheControl = (control: WireCacheControl): CacheControl | undefined => {
  const ttl = cacheTtlOf(control)
  return ttl === undefined || ttl === "malformed" ? undefined : { ttl }
}

const compact = /^(\d{1,6})\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)$/i
const secondsPer: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** The lifetime that providers know which is at most the one asked for: five minutes, or one hour. */
export const cacheTtlOf = (control: WireCacheControl): CacheControl["ttl"] | "malformed" | undefined => {
  if (control === undefined || control === null) return undefined
  if (control.ttl === undefined || control.ttl === null) return "5m"
  const match = compact.exec(control.ttl.trim())
  const seconds =
    match === null
      ? Option.map(Duration.fromInput(control.ttl as Duration.Input), Duration.toSeconds)
      : Option.some(Number(match[1]) * (secondsPer[match[2]?.[0]?.toLowerCase() ?? ""] ?? 0))
  if (Option.isNone(seconds) || !(seconds.value > 0)) return "malformed"
  return seconds.value >= 3_600 ? "1h" : "5m"
}

export interface RequestContext {
  /** `<service>-auto`. */
  readonly autoModel: string
  /** Header `x-session-id`. */
  readonly sessionHeader: string | undefined
}
