/**
 * The body of `POST /chat/completions`, as OpenAI's API reference (openai-node 7.55) and those of the dialects
 * describe it. A member that is `undefined` is not sent. `RequestBody` lists every member the gateway can send, in the
 * order in which it sends them, and none of them is optional: a misspelt or a forgotten member does not compile.
 */
import type { ReasoningDetail } from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { EphemeralCacheControl } from "../shared/request/CacheBreakpoints.ts"
import type { EffortLevel } from "../shared/request/Thinking.ts"

/** The whole body. Members that only some servers know name these servers. */
export interface RequestBody {
  readonly model: string
  readonly tools: ReadonlyArray<FunctionTool> | undefined
  /** Mistral spells `required` as `any`. Refused without `tools`, as is the next member. */
  readonly tool_choice: "none" | "required" | "any" | NamedToolChoice | undefined
  readonly parallel_tool_calls: false | undefined
  /** Z.ai: arguments of tool calls come in pieces. */
  readonly tool_stream: true | undefined
  readonly messages: ReadonlyArray<OpenAiMessage>
  readonly response_format: JsonObjectFormat | JsonSchemaFormat | undefined
  /** Visible and reasoning tokens. OpenAI's models that reason refuse the older name, `max_tokens`. */
  readonly max_completion_tokens: number | undefined
  readonly max_tokens: number | undefined
  /** Up to four; models that reason refuse them. */
  readonly stop: ReadonlyArray<string> | undefined
  /** From 0 to 2. */
  readonly temperature: number | undefined
  /** From 0 to 1. */
  readonly top_p: number | undefined
  /** From -2 to 2, as the next one. */
  readonly frequency_penalty: number | undefined
  readonly presence_penalty: number | undefined
  /** DeepSeek, Moonshot and Z.ai; only Z.ai knows `clear_thinking`, and drops earlier reasoning unless it is false. */
  readonly thinking: { readonly type: "enabled" | "disabled"; readonly clear_thinking: false | undefined } | undefined
  /** Together, which knows only the switch, and OpenRouter. */
  readonly reasoning: OpenRouterReasoning | undefined
  /** Qwen. */
  readonly enable_thinking: boolean | undefined
  /** Qwen: the most tokens of thinking. */
  readonly thinking_budget: number | undefined
  /** vLLM: variables of the model's chat template. */
  readonly chat_template_kwargs: { readonly enable_thinking: boolean } | undefined
  readonly reasoning_effort: EffortLevel | "none" | undefined
  /** Groq: reasoning comes as a member of the message. */
  readonly include_reasoning: true | undefined
  /** MiniMax: the same. */
  readonly reasoning_split: true | undefined
  /** At most 64 characters. */
  readonly prompt_cache_key: string | undefined
  /** `in_memory` or `24h`. */
  readonly prompt_cache_retention: string | undefined
  /** OpenRouter, which translates it for the provider it chooses. */
  readonly cache_control: EphemeralCacheControl | undefined
  /** OpenRouter: at most 256 characters. */
  readonly session_id: string | undefined
  readonly store: false | undefined
  readonly stream: boolean
  readonly stream_options: { readonly include_usage: true } | undefined
}

/** A function that the model may call. */
export interface FunctionTool {
  readonly type: "function"
  readonly function: {
    readonly name: string
    readonly description: string | undefined
    /** JSON Schema. */
    readonly parameters: JsonObject
  }
}

/** Insists on a call of this function. */
export interface NamedToolChoice {
  readonly type: "function"
  readonly function: { readonly name: string }
}

/** OpenAI refuses it unless the word JSON occurs in the messages. */
export interface JsonObjectFormat {
  readonly type: "json_object"
}

/** The answer is JSON text that satisfies the schema. */
export interface JsonSchemaFormat {
  readonly type: "json_schema"
  readonly json_schema: {
    readonly name: string
    readonly description: string | undefined
    /** JSON Schema. */
    readonly schema: JsonObject
    readonly strict: boolean
  }
}

/** At most one of the first three members is set. */
export interface OpenRouterReasoning {
  readonly enabled?: boolean
  readonly max_tokens?: number
  readonly effort?: EffortLevel
  readonly exclude?: true | undefined
}

export type OpenAiMessage = InstructionMessage | UserChatMessage | AssistantChatMessage | ToolChatMessage

export interface InstructionMessage {
  /** `developer` is OpenAI's, for models that reason. */
  readonly role: "system" | "developer"
  readonly content: string | ReadonlyArray<ChatContentPart>
}

export interface UserChatMessage {
  readonly role: "user"
  readonly content: string | ReadonlyArray<ChatContentPart>
}

/** What the model answered before. */
export interface AssistantChatMessage {
  readonly role: "assistant"
  readonly content: string | null | ReadonlyArray<ThinkingChunk | TextChatPart>
  /** OpenAI: what the model said instead of an answer. */
  readonly refusal: string | undefined
  /** The model's own reasoning, in the one member that its server reads. */
  readonly reasoning_details: ReadonlyArray<ReasoningDetail> | undefined
  readonly reasoning: string | undefined
  readonly reasoning_content: string | undefined
  readonly tool_calls: ReadonlyArray<ChatToolCall> | undefined
}

/** A call that the model made. */
export interface ChatToolCall {
  /** At most 40 characters for OpenAI, exactly nine letters or digits for Mistral. */
  readonly id: string
  readonly type: "function"
  /** The arguments are the text of a JSON object. */
  readonly function: { readonly name: string; readonly arguments: string }
}

/** The result of a call. OpenAI takes only text here; `name` is Mistral's. */
export interface ToolChatMessage {
  readonly role: "tool"
  readonly tool_call_id: string
  readonly name: string | undefined
  readonly content: string | ReadonlyArray<ChatContentPart>
}

export type ChatContentPart = TextChatPart | ImageChatPart | AudioChatPart

export interface TextChatPart {
  readonly type: "text"
  readonly text: string
  /** OpenRouter. */
  readonly cache_control?: EphemeralCacheControl | undefined
}

export interface ImageChatPart {
  readonly type: "image_url"
  /** `detail`: `auto`, `low`, `high` or `original`. */
  readonly image_url: { readonly url: string; readonly detail: string | undefined }
  /** OpenRouter. */
  readonly cache_control?: EphemeralCacheControl | undefined
}

export interface AudioChatPart {
  readonly type: "input_audio"
  /** Base64; the bare string is Mistral's form. */
  readonly input_audio: { readonly data: string; readonly format: string } | string
}

/** Mistral's form of reasoning in the content of an assistant message. */
export interface ThinkingChunk {
  readonly type: "thinking"
  readonly thinking: ReadonlyArray<{ readonly type: "text"; readonly text: string }>
}
