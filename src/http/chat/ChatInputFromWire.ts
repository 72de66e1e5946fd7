/**
 * Translates a valid chat body into the gateway's own form: aliases are resolved and defaults are filled in. `null` and
 * absent mean the same, `developer` becomes `system`, and `max_tokens` counts only without `max_completion_tokens`.
 */
import type { ChatMessage } from "../../api/ChatMessages.ts"
import type * as Api from "../../api/ChatRequest.ts"
import type {
  AssistantMessage,
  ChatRequest,
  Message,
  ContentPart,
  ResponseFormat,
  TextPart
} from "../../domain/Conversation.ts"
import type { ReasoningFields } from "../../domain/Reasoning.ts"
import type { ChatInput } from "../../gateway/ChatCall.ts"
import { modelFrom } from "../completion/ChoicesFromWire.ts"
import type { RequestContext } from "../completion/ClientProtocol.ts"
import { isLabel, maxEndUserIdLength } from "../edge/RequestLabels.ts"
import { cacheControlOf, withMark, withMarkOnLast, type WireCacheControl } from "./CacheControlFromWire.ts"

/** Translates a body that the schema has accepted. */
export const chatInputOf = (wire: Api.ChatCompletionRequest, context: RequestContext): ChatInput => ({
  model: modelFrom(wire, context.autoModel),
  request: toRequest(wire, context.sessionHeader),
  reasoning: toReasoning(wire),
  stream: wire.stream ?? false,
  callName: wire.metadata?.["call_name"] ?? undefined,
  endUserId: context.endUserHeader ?? endUserIn(wire.metadata)
})

/** Metadata other than `call_name` is never refused, so a value that cannot be a label counts as none. */
export const endUserIn = (metadata: Api.ChatCompletionRequest["metadata"]): string | undefined => {
  const id = metadata?.["end_user_id"]
  return isLabel(id, maxEndUserIdLength) ? id : undefined
}

/** Leaves out members without a value, so that absent stays absent. */
export const present = <A extends object>(fields: A): { [K in keyof A]?: NonNullable<A[K]> } => {
  const kept: { [K in keyof A]?: NonNullable<A[K]> } = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined && value !== null) kept[key] = value
  }
  return kept
}

const toRequest = (wire: Api.ChatCompletionRequest, sessionHeader: string | undefined): ChatInput["request"] => ({
  messages: wire.messages.map(toMessage),
  tools: (wire.tools ?? []).map(({ cache_control, function: tool }) => ({
    name: tool.name,
    parameters: tool.parameters,
    ...present({
      description: tool.description,
      cacheControl: cacheControlOf(cache_control) ?? cacheControlOf(tool.cache_control)
    })
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
    cacheControl: cacheControlOf(wire.cache_control),
    promptCacheKey: wire.prompt_cache_key,
    promptCacheRetention: wire.prompt_cache_retention,
    // An empty id counts as none; otherwise unrelated conversations would share one session pin.
    sessionId: (wire.session_id ?? sessionHeader) || undefined
  })
})

const toMessage = (message: ChatMessage): Message => {
  switch (message.role) {
    case "system":
    case "developer":
      return { role: "system", content: contentOf(message).filter(isText) }
    case "user":
      return { role: "user", content: contentOf(message) }
    case "assistant":
      return toAssistant(message)
    case "tool": {
      const content = contentOf(message)
      const mark = content.length === 0 ? cacheControlOf(message.cache_control) : undefined
      return { role: "tool", toolCallId: message.tool_call_id, content, ...present({ cacheControl: mark }) }
    }
  }
}

const toAssistant = (message: Extract<ChatMessage, { role: "assistant" }>): AssistantMessage => {
  const toolCalls = (message.tool_calls ?? []).map((call) => ({
    id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
    ...present({ cacheControl: cacheControlOf(call.cache_control) })
  }))
  // Calls come after the text, so the mark on a message that has some is on the last of them.
  const { cache_control, ...unmarked } = message
  return {
    role: "assistant",
    content: contentOf(toolCalls.length > 0 ? unmarked : message).filter(isText),
    toolCalls: withMarkOnLast(toolCalls, cacheControlOf(cache_control)),
    reasoningDetails: message.reasoning_details ?? [],
    ...present({
      refusal: message.refusal || undefined,
      reasoning: message.reasoning || message.reasoning_content || undefined
    })
  }
}

const isText = (part: ContentPart): part is TextPart => part.type === "text"

/** The parts of a message. A mark on the message is one on the last part that can have one. */
const contentOf = ({
  cache_control,
  content
}: {
  readonly cache_control?: WireCacheControl
  readonly content?: ChatMessage["content"]
}): ReadonlyArray<ContentPart> => withMark(toParts(content), cacheControlOf(cache_control))

const toParts = (content: ChatMessage["content"]): ReadonlyArray<ContentPart> => {
  if (content === undefined || content === null || content === "") return []
  if (typeof content === "string") return [{ type: "text", text: content }]
  return content.map((part): ContentPart => {
    if (part.type === "refusal") return { type: "text", text: part.refusal }
    const mark = present({ cacheControl: cacheControlOf(part.cache_control) })
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text, ...mark }
      case "image_url":
        return { type: "image", url: part.image_url.url, ...present({ detail: part.image_url.detail }), ...mark }
      case "input_audio":
        return { type: "audio", ...part.input_audio, ...mark }
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
