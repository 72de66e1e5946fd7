/**
 * The body of `POST /v1/messages`, as Anthropic's API reference (version 2023-06-01) describes it. A member that is
 * `undefined` is not sent. `RequestBody` lists every member the gateway can send, in the order in which it sends them,
 * and none of them is optional: a misspelt or a forgotten member does not compile.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { EphemeralCacheControl } from "../shared/request/CacheBreakpoints.ts"
import type { ClaudeThinkingParameter } from "../shared/request/ClaudeThinking.ts"
import type { EffortLevel } from "../shared/request/Thinking.ts"

/** The whole body. */
export interface RequestBody {
  readonly model: string
  /** Required. Visible and reasoning tokens. */
  readonly max_tokens: number
  readonly tools: ReadonlyArray<ClaudeTool> | undefined
  /** Refused without `tools`. */
  readonly tool_choice: ClaudeToolChoice | undefined
  readonly system: ReadonlyArray<TextBlock> | undefined
  /** Roles alternate, and the first and the last message are the user's. */
  readonly messages: ReadonlyArray<ClaudeMessage>
  /** The API places one breakpoint on the last block that can be cached; it counts toward the four of a request. */
  readonly cache_control: EphemeralCacheControl | undefined
  readonly thinking: ClaudeThinkingParameter | undefined
  readonly output_config: OutputConfig | undefined
  /** From 0 to 1. Refused beside thinking, and by newer models; `top_p` is refused beside it. */
  readonly temperature: number | undefined
  readonly top_p: number | undefined
  /** Sequences of white space are refused. */
  readonly stop_sequences: ReadonlyArray<string> | undefined
  readonly stream: boolean
}

/** A function that the model may call. */
export interface ClaudeTool {
  readonly name: string
  readonly description: string | undefined
  /** JSON Schema with an object at its root and no choices there. */
  readonly input_schema: JsonObject
  readonly cache_control: EphemeralCacheControl | undefined
}

/** Whether and which tool is called. `any` insists on a call. */
export interface ClaudeToolChoice {
  readonly type: "auto" | "any" | "tool" | "none"
  /** Of the tool, where `type` is `tool`. */
  readonly name: string | undefined
  readonly disable_parallel_tool_use: true | undefined
}

/** How much effort an answer may take, and which schema it must satisfy. */
export interface OutputConfig {
  readonly effort: EffortLevel | undefined
  readonly format: AnswerFormat | undefined
}

/** The answer is JSON text that satisfies the schema. */
export interface AnswerFormat {
  readonly type: "json_schema"
  /** JSON Schema in which every object is closed, without most limits. */
  readonly schema: JsonObject
}

/** One turn. */
export interface ClaudeMessage {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<ContentBlock>
}

export type ContentBlock =
  | TextBlock
  | ImageBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlock
  | ToolResultBlock

export interface TextBlock {
  readonly type: "text"
  /** Text of white space alone is refused. */
  readonly text: string
  readonly cache_control?: EphemeralCacheControl | undefined
}

export interface ImageBlock {
  readonly type: "image"
  readonly source:
    | { readonly type: "url"; readonly url: string }
    /** Base64 of a JPEG, PNG, GIF or WebP image. */
    | { readonly type: "base64"; readonly media_type: string; readonly data: string }
  readonly cache_control: EphemeralCacheControl | undefined
}

/** Goes back unchanged: the signature covers the text. */
export interface ThinkingBlock {
  readonly type: "thinking"
  readonly thinking: string
  readonly signature: string
}

/** Thinking that only the provider can read. */
export interface RedactedThinkingBlock {
  readonly type: "redacted_thinking"
  readonly data: string
}

/** A call that the model made. */
export interface ToolUseBlock {
  readonly type: "tool_use"
  /** At most 64 letters, digits, underscores and hyphens. */
  readonly id: string
  readonly name: string
  readonly input: JsonObject
  readonly cache_control: EphemeralCacheControl | undefined
}

/** Stands at the start of the user's turn right after the call. */
export interface ToolResultBlock {
  readonly type: "tool_result"
  readonly tool_use_id: string
  readonly content: string | ReadonlyArray<TextBlock | ImageBlock>
  readonly is_error: true | undefined
  readonly cache_control: EphemeralCacheControl | undefined
}
