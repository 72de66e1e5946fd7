/**
 * The body of `POST /model/{modelId}/converse`, as the Bedrock Runtime API documents it; the model is in the path, and
 * whether the answer is a stream. A member that is `undefined` is not sent. `RequestBody` lists every member the
 * gateway can send, in the order in which it sends them, and none of them is optional: a misspelt or a forgotten member
 * does not compile.
 */
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { ClaudeThinkingParameter } from "../shared/request/ClaudeThinking.ts"
import type { EffortLevel } from "../shared/request/Thinking.ts"

/** The whole body. */
export interface RequestBody {
  /** Required where the history holds calls or results of tools. */
  readonly toolConfig: ToolConfig | undefined
  readonly system: ReadonlyArray<SystemBlock> | undefined
  /** Roles alternate, and the first message is the user's. */
  readonly messages: ReadonlyArray<ConverseMessage>
  readonly inferenceConfig: InferenceConfig | undefined
  /** What Converse does not unify; each maker has its own members. */
  readonly additionalModelRequestFields: ModelFields | undefined
  readonly outputConfig: { readonly textFormat: TextFormat } | undefined
}

/** The tools, and whether one of them must be called. */
export interface ToolConfig {
  readonly tools: ReadonlyArray<{ readonly toolSpec: ToolSpec } | CachePointBlock>
  /** Without it the model decides. There is no choice that forbids calls. */
  readonly toolChoice: { readonly tool: { readonly name: string } } | { readonly any: object } | undefined
}

export interface ToolSpec {
  readonly name: string
  /** Blank text is refused. */
  readonly description: string | undefined
  /** JSON Schema with an object at its root. */
  readonly inputSchema: { readonly json: JsonObject }
}

/** Limits and sampling, in the form that is the same for all models. */
export interface InferenceConfig {
  /** Visible and reasoning tokens. */
  readonly maxTokens: number | undefined
  /** From 0 to 1. */
  readonly temperature: number | undefined
  /** From 0 to 1. */
  readonly topP: number | undefined
  readonly stopSequences: ReadonlyArray<string> | undefined
}

/** Members of the model's own API, which differ between makers. */
export type ModelFields = ClaudeFields | NovaFields | GptOssFields | GptFields

export interface ClaudeFields {
  readonly thinking: ClaudeThinkingParameter | undefined
  readonly output_config: { readonly effort: EffortLevel } | undefined
  readonly anthropic_beta: ReadonlyArray<string> | undefined
}

export interface NovaFields {
  readonly reasoningConfig:
    | { readonly type: "disabled" }
    | { readonly type: "enabled"; readonly maxReasoningEffort: EffortLevel | undefined }
}

export interface GptOssFields {
  readonly reasoning_effort: EffortLevel
}

export interface GptFields {
  readonly reasoning: { readonly effort: EffortLevel }
}

/** The answer is JSON text that satisfies the schema. */
export interface TextFormat {
  readonly type: "json_schema"
  readonly structure: {
    readonly jsonSchema: {
      readonly name: string
      readonly description: string | undefined
      /** The text of a JSON Schema. */
      readonly schema: string
    }
  }
}

/** One turn. */
export interface ConverseMessage {
  readonly role: "user" | "assistant"
  readonly content: ReadonlyArray<ContentBlock>
}

export type SystemBlock = TextBlock | CachePointBlock

export type ContentBlock = TextBlock | ImageBlock | CachePointBlock | ReasoningBlock | ToolUseBlock | ToolResultBlock

export interface TextBlock {
  /** Blank text is refused. */
  readonly text: string
}

export interface ImageBlock {
  /** `format`: `png`, `jpeg`, `gif` or `webp`; `bytes`: base64. */
  readonly image: { readonly format: string; readonly source: { readonly bytes: string } }
}

/** Ends a prefix that should be cached: for five minutes, if it has no `ttl`. */
export interface CachePointBlock {
  readonly cachePoint: { readonly type: "default"; readonly ttl: "1h" | undefined }
}

/** Goes back unchanged: the signature covers the text. */
export interface ReasoningBlock {
  readonly reasoningContent:
    | { readonly reasoningText: { readonly text: string; readonly signature: string } }
    /** Base64. */
    | { readonly redactedContent: string }
}

/** A call that the model made. */
export interface ToolUseBlock {
  /** The id has at most 64 letters, digits, underscores and hyphens. */
  readonly toolUse: { readonly toolUseId: string; readonly name: string; readonly input: JsonObject }
}

/** Every call has one, in the user's turn right after it. */
export interface ToolResultBlock {
  readonly toolResult: {
    readonly toolUseId: string
    readonly content: ReadonlyArray<TextBlock | ImageBlock>
    readonly status: "success" | "error"
  }
}
