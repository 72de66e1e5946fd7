/**
 * How servers that speak OpenAI's protocols differ, as data. A new vendor is an entry here and no code. What a flag
 * means is written at its declaration; what a vendor does comes from its documentation and from recorded traffic.
 */
import type { DialectName } from "../../../catalog/Provider.ts"
import type { AudioFormat } from "../../../domain/Conversation.ts"
import type { IdRuleName } from "./request/WireIds.ts"

/** One server's differences from OpenAI's protocols. */
export interface Dialect {
  /** The member for the output limit. */
  readonly maxTokens: "max_completion_tokens" | "max_tokens"
  /** The role of system messages to models that reason. */
  readonly instructionRole: "developer" | "system"
  /** A stream reports usage only if `stream_options` asks for it. */
  readonly requestsStreamUsage: boolean
  /** `sometimes`: the server may leave the finish reason out of a stream that it ends properly. */
  readonly finishReason: "always" | "sometimes"
  /** Whether the server knows `reasoning_effort`, and whether `none` is one of its values. */
  readonly effort: "none" | "levels" | "levels and none"
  /**
   * The member that switches thinking on and off, for models that can do both. `thinking, kept`: the server also keeps
   * the reasoning of earlier turns. `reasoning object`: OpenRouter's, which holds the effort and the budget too.
   */
  readonly thinkingSwitch:
    | "none"
    | "thinking"
    | "thinking, kept"
    | "reasoning.enabled"
    | "enable_thinking"
    | "chat_template_kwargs"
    | "reasoning object"
  /** The member that makes the server return reasoning apart from the content. */
  readonly reasoningSwitch: "none" | "include_reasoning" | "reasoning_split"
  /**
   * How a message's own reasoning goes back to the model that made it: in the member of that name, as
   * `reasoning_details`, or as chunks of the content.
   */
  readonly reasoningEcho: "none" | "reasoning" | "reasoning_content" | "details" | "chunks"
  /** Which assistant messages are refused without their reasoning, and what is sent where it is not known. */
  readonly missingReasoning?: { readonly in: "every message" | "tool calls"; readonly text: string }
  /** `<think>` at the start of the content is reasoning. */
  readonly thinkTags: boolean
  /** The tool choice that insists on a call. */
  readonly requiredTool: "required" | "any"
  /** Which ids of tool calls the server accepts. */
  readonly toolIds: IdRuleName
  /** A tool message repeats the name of its tool. */
  readonly namesToolResults: boolean
  /** A stream carries the arguments of tool calls in pieces only if `tool_stream` asks for it. */
  readonly requestsToolStream: boolean
  /** Content of an assistant message that has tool calls and no text. */
  readonly emptyContent: null | ""
  /** The server enforces a JSON Schema; elsewhere a sentence asks for it. */
  readonly jsonSchema: boolean
  /** False where JSON mode is refused beside tools: then a sentence asks for an object. */
  readonly jsonModeBesideTools: boolean
  /** The server knows the text of a refusal as a member of its message. */
  readonly refusals: boolean
  /**
   * `strict`: instructions stand at the start, the last message is the user's or a tool's, and an assistant's stands
   * between a tool's and a user's.
   */
  readonly roleOrder: "any" | "strict"
  /** How audio is written, and in which formats the server accepts it. */
  readonly audio: { readonly shape: "object" | "string"; readonly formats: ReadonlyArray<AudioFormat> }
  /** What a form for transcription may hold beside the file and the model. */
  readonly transcription: ReadonlyArray<"language" | "prompt" | "temperature" | "response_format">
  /** How embeddings are asked for: whether the server encodes vectors in base64, and what it calls their length. */
  readonly embeddings: { readonly base64: boolean; readonly dimensions: "dimensions" | "output_dimension" }
  /** Whether frequency and presence penalties are accepted: by all models, by those that do not reason, or by none. */
  readonly penalties: "always" | "without reasoning" | "never"
  /** False where models that reason refuse `stop`: then the gateway cuts the text itself. */
  readonly stopWithReasoning: boolean
  /** The server reads `cache_control` as Anthropic does. */
  readonly cacheControl: boolean
  /** The server knows `prompt_cache_key`. */
  readonly promptCacheKey: boolean
  /** The server knows `prompt_cache_retention`. */
  readonly promptCacheRetention: boolean
  /** Where the cache affinity of a session goes, beside `prompt_cache_key`. */
  readonly affinity?: { readonly header?: string; readonly field?: "session_id" }
  /** The server keeps a copy of the answer unless `store: false` asks it not to. */
  readonly storesAnswers: boolean
}

/** What holds for a server that copies OpenAI and of which nothing more is known. */
const generic: Dialect = {
  maxTokens: "max_tokens",
  instructionRole: "system",
  requestsStreamUsage: true,
  finishReason: "sometimes",
  effort: "levels",
  thinkingSwitch: "none",
  reasoningSwitch: "none",
  reasoningEcho: "none",
  thinkTags: false,
  requiredTool: "required",
  toolIds: "short",
  namesToolResults: false,
  requestsToolStream: false,
  emptyContent: "",
  jsonSchema: true,
  jsonModeBesideTools: true,
  refusals: false,
  roleOrder: "any",
  audio: { shape: "object", formats: ["wav", "mp3"] },
  transcription: ["language", "prompt", "temperature", "response_format"],
  embeddings: { base64: false, dimensions: "dimensions" },
  penalties: "always",
  stopWithReasoning: true,
  cacheControl: false,
  promptCacheKey: false,
  promptCacheRetention: false,
  storesAnswers: false
}

/** A vendor that runs its own service: its streams always end with a finish reason. */
const vendor: Dialect = { ...generic, finishReason: "always", emptyContent: null }

const openai: Dialect = {
  ...vendor,
  maxTokens: "max_completion_tokens",
  instructionRole: "developer",
  effort: "levels and none",
  embeddings: { base64: true, dimensions: "dimensions" },
  penalties: "without reasoning",
  stopWithReasoning: false,
  refusals: true,
  promptCacheKey: true,
  promptCacheRetention: true,
  storesAnswers: true
}

/** A dialect name of the catalog that is missing here does not compile. */
export const dialects: { readonly [Name in DialectName]: Dialect } = {
  openai,
  azure: openai,
  deepseek: {
    ...vendor,
    effort: "levels",
    thinkingSwitch: "thinking",
    reasoningEcho: "reasoning_content",
    missingReasoning: { in: "every message", text: "" },
    jsonSchema: false,
    penalties: "never"
  },
  groq: {
    ...vendor,
    maxTokens: "max_completion_tokens",
    effort: "levels and none",
    reasoningSwitch: "include_reasoning",
    jsonModeBesideTools: false
  },
  mistral: {
    ...vendor,
    requestsStreamUsage: false,
    effort: "levels and none",
    reasoningEcho: "chunks",
    requiredTool: "any",
    toolIds: "nine",
    namesToolResults: true,
    roleOrder: "strict",
    emptyContent: "",
    audio: { shape: "string", formats: ["wav", "mp3"] },
    transcription: ["language", "temperature"],
    embeddings: { base64: false, dimensions: "output_dimension" },
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
  together: { ...vendor, thinkingSwitch: "reasoning.enabled", thinkTags: true },
  fireworks: {
    ...vendor,
    effort: "levels and none",
    promptCacheKey: true,
    affinity: { header: "x-session-affinity" }
  },
  cerebras: {
    ...vendor,
    maxTokens: "max_completion_tokens",
    reasoningEcho: "reasoning",
    jsonModeBesideTools: false,
    penalties: "never"
  },
  moonshot: {
    ...vendor,
    thinkingSwitch: "thinking",
    reasoningEcho: "reasoning_content",
    // An empty text counts as missing there.
    missingReasoning: { in: "tool calls", text: " " },
    promptCacheKey: true
  },
  zai: {
    ...vendor,
    thinkingSwitch: "thinking, kept",
    reasoningEcho: "reasoning_content",
    jsonSchema: false,
    requestsToolStream: true
  },
  minimax: {
    ...vendor,
    reasoningEcho: "details",
    thinkTags: true,
    jsonSchema: false,
    emptyContent: "",
    reasoningSwitch: "reasoning_split"
  },
  openrouter: {
    ...vendor,
    thinkingSwitch: "reasoning object",
    effort: "none",
    reasoningEcho: "details",
    audio: { shape: "object", formats: ["mp3", "wav", "m4a", "webm", "ogg", "flac", "opus"] },
    transcription: ["language", "temperature", "response_format"],
    embeddings: { base64: true, dimensions: "dimensions" },
    cacheControl: true,
    promptCacheKey: true,
    affinity: { field: "session_id" }
  },
  qwen: { ...vendor, thinkingSwitch: "enable_thinking", reasoningEcho: "reasoning_content" },
  vllm: {
    ...generic,
    embeddings: { base64: true, dimensions: "dimensions" },
    thinkingSwitch: "chat_template_kwargs",
    reasoningEcho: "reasoning",
    thinkTags: true
  },
  ollama: { ...generic, effort: "levels and none", reasoningEcho: "reasoning" },
  lmstudio: { ...generic, reasoningEcho: "reasoning", thinkTags: true },
  generic
}
