/**
 * How servers that speak OpenAI's protocols differ, as data. A new vendor is an entry here and no code; what a flag
 * means is written at its type, and what a vendor does comes from its documentation and from recorded traffic.
 */
import type { DialectName } from "../../../catalog/Provider.ts"
import type { AudioFormat } from "../../../domain/Conversation.ts"
import type { JsonObject } from "../../../domain/JsonObject.ts"
import type { IdRuleName } from "./WireIds.ts"

/** The member that says whether to think, in each of the forms there are. */
export const thinkingSwitches = {
  none: () => ({}),
  thinking: (on) => ({ thinking: { type: on ? "enabled" : "disabled" } }),
  /** The server keeps the reasoning of earlier turns. */
  "thinking, kept": (on) => ({ thinking: { type: on ? "enabled" : "disabled", clear_thinking: false } }),
  enabled: (on) => ({ reasoning: { enabled: on } }),
  enable_thinking: (on) => ({ enable_thinking: on }),
  chat_template_kwargs: (on) => ({ chat_template_kwargs: { enable_thinking: on } }),
  /** OpenRouter's whole object, which holds more than a switch: see `OpenAiChatRequest`. */
  reasoning: () => ({})
} as const satisfies Record<string, (on: boolean) => JsonObject>

export interface Dialect {
  readonly maxTokens: "max_completion_tokens" | "max_tokens"
  /** The role of system messages to models that reason. */
  readonly instructionRole: "developer" | "system"
  /** Usage in a stream has to be asked for. */
  readonly requestsStreamUsage: boolean
  /** Servers that leave the finish reason out of a stream they end properly. */
  readonly finishReason: "always" | "sometimes"
  /** `reasoning_effort` is known, and whether `none` is one of its values. */
  readonly effort: "none" | "levels" | "levels and none"
  /** What switches thinking on and off, for models that can do both. */
  readonly thinkingSwitch: keyof typeof thinkingSwitches
  /** How a message's own reasoning goes back to the model that made it. */
  readonly reasoningEcho: "none" | "reasoning" | "reasoning_content" | "details" | "chunks"
  /** An assistant message without its reasoning is refused, so an empty one is sent. */
  readonly requiresReasoningEcho: boolean
  /** `<think>` at the start of the content is reasoning. */
  readonly thinkTags: boolean
  readonly requiredTool: "required" | "any"
  readonly toolIds: IdRuleName
  /** A tool message repeats the name of its tool. */
  readonly namesToolResults: boolean
  /** Content beside tool calls when the model said nothing. */
  readonly emptyContent: null | ""
  readonly jsonSchema: boolean
  readonly audio: { readonly shape: "object" | "string"; readonly formats: ReadonlyArray<AudioFormat> }
  /** What a form for transcription may hold beside the file and the model. */
  readonly transcription: ReadonlyArray<"language" | "prompt" | "temperature" | "response_format">
  readonly penalties: "always" | "without reasoning" | "never"
  /** Models that reason refuse `stop`, so the gateway cuts the text itself. */
  readonly stopWithReasoning: boolean
  readonly cacheControl: boolean
  readonly promptCacheKey: boolean
  readonly promptCacheRetention: boolean
  /** Where the cache affinity of a session goes, beside `prompt_cache_key`. */
  readonly affinity?: { readonly header?: string; readonly field?: string }
  /** Members every request has, those with thinking models, and those of a stream with tools. */
  readonly constants: JsonObject
  readonly reasoningConstants: JsonObject
  readonly toolStreamConstants: JsonObject
}

/** What is true of a server that copies OpenAI and nothing is known about. */
const generic: Dialect = {
  maxTokens: "max_tokens",
  instructionRole: "system",
  requestsStreamUsage: true,
  finishReason: "sometimes",
  effort: "levels",
  thinkingSwitch: "none",
  reasoningEcho: "none",
  requiresReasoningEcho: false,
  thinkTags: false,
  requiredTool: "required",
  toolIds: "short",
  namesToolResults: false,
  emptyContent: "",
  jsonSchema: true,
  audio: { shape: "object", formats: ["wav", "mp3"] },
  transcription: ["language", "prompt", "temperature", "response_format"],
  penalties: "always",
  stopWithReasoning: true,
  cacheControl: false,
  promptCacheKey: false,
  promptCacheRetention: false,
  constants: {},
  reasoningConstants: {},
  toolStreamConstants: {}
}

/** A vendor that runs its own service: its streams end with a reason. */
const vendor: Dialect = { ...generic, finishReason: "always", emptyContent: null }

const openai: Dialect = {
  ...vendor,
  maxTokens: "max_completion_tokens",
  instructionRole: "developer",
  effort: "levels and none",
  penalties: "without reasoning",
  stopWithReasoning: false,
  promptCacheKey: true,
  promptCacheRetention: true,
  constants: { store: false }
}

export const dialects: { readonly [Name in DialectName]: Dialect } = {
  openai,
  azure: openai,
  deepseek: {
    ...vendor,
    effort: "levels",
    thinkingSwitch: "thinking",
    reasoningEcho: "reasoning_content",
    requiresReasoningEcho: true,
    jsonSchema: false,
    penalties: "never"
  },
  groq: {
    ...vendor,
    maxTokens: "max_completion_tokens",
    effort: "levels and none",
    reasoningConstants: { include_reasoning: true }
  },
  mistral: {
    ...vendor,
    requestsStreamUsage: false,
    effort: "levels and none",
    reasoningEcho: "chunks",
    requiredTool: "any",
    toolIds: "nine",
    namesToolResults: true,
    emptyContent: "",
    audio: { shape: "string", formats: ["wav", "mp3"] },
    transcription: ["language", "temperature"],
    promptCacheKey: true,
    affinity: { header: "x-affinity" }
  },
  xai: {
    ...vendor,
    effort: "levels and none",
    penalties: "without reasoning",
    stopWithReasoning: false,
    promptCacheKey: true,
    affinity: { header: "x-grok-conv-id" }
  },
  together: { ...vendor, thinkingSwitch: "enabled", thinkTags: true },
  fireworks: {
    ...vendor,
    effort: "levels and none",
    promptCacheKey: true,
    affinity: { header: "x-session-affinity" }
  },
  cerebras: { ...vendor, maxTokens: "max_completion_tokens", reasoningEcho: "reasoning", penalties: "never" },
  moonshot: { ...vendor, thinkingSwitch: "thinking", reasoningEcho: "reasoning_content", promptCacheKey: true },
  zai: {
    ...vendor,
    thinkingSwitch: "thinking, kept",
    reasoningEcho: "reasoning_content",
    jsonSchema: false,
    toolStreamConstants: { tool_stream: true }
  },
  minimax: {
    ...vendor,
    reasoningEcho: "details",
    thinkTags: true,
    jsonSchema: false,
    emptyContent: "",
    reasoningConstants: { reasoning_split: true }
  },
  openrouter: {
    ...vendor,
    thinkingSwitch: "reasoning",
    effort: "none",
    reasoningEcho: "details",
    audio: { shape: "object", formats: ["mp3", "wav", "m4a", "webm", "ogg", "flac", "opus"] },
    transcription: ["language", "temperature", "response_format"],
    cacheControl: true,
    promptCacheKey: true,
    affinity: { field: "session_id" }
  },
  qwen: { ...vendor, thinkingSwitch: "enable_thinking", reasoningEcho: "reasoning_content" },
  vllm: { ...generic, thinkingSwitch: "chat_template_kwargs", reasoningEcho: "reasoning", thinkTags: true },
  ollama: { ...generic, effort: "levels and none", reasoningEcho: "reasoning" },
  lmstudio: { ...generic, reasoningEcho: "reasoning", thinkTags: true },
  generic
}
