/**
 * A chat request in the gateway's own form: defaults are filled in, aliases are resolved, and parameters that the
 * contract ignores are gone. The router reads it and the protocols translate it; neither depends on its wire form.
 */
import type { Reasoning } from "./Reasoning.ts"

/** Marks the end of a prompt prefix that the provider should cache for this long. */
export interface CacheControl {
  readonly ttl: "5m" | "1h"
}

/** What can end a prefix that should be cached. A mark on a whole message is on the last of these in it. */
export interface Cacheable {
  readonly cacheControl?: CacheControl
}

/** Text in a message of any role. */
export interface TextPart extends Cacheable {
  readonly type: "text"
  readonly text: string
}

/** An image, by reference or inline. */
export interface ImagePart extends Cacheable {
  readonly type: "image"
  /** `https://…`, `http://…` or `data:<mime>;base64,<data>`. */
  readonly url: string
  /** How closely the model should look, as the client wrote it. OpenAI knows `low`, `high` and `auto`. */
  readonly detail?: string
}

/** The values of `input_audio.format` that the contract allows. */
export const audioFormats = ["mp3", "wav", "m4a", "webm", "ogg", "flac", "opus"] as const
export type AudioFormat = (typeof audioFormats)[number]

/** A recording. */
export interface AudioPart extends Cacheable {
  readonly type: "audio"
  /** The bytes of the file in base64. */
  readonly data: string
  readonly format: AudioFormat
}

/** A part of a message; the contract decides which roles may contain which parts. */
export type ContentPart = TextPart | ImagePart | AudioPart

/** A call that the model made. A `ToolMessage` with its id has the result. */
export interface ToolCall extends Cacheable {
  readonly id: string
  readonly name: string
  /** A JSON object as text, exactly as the model wrote it. It may be empty or malformed. */
  readonly arguments: string
}

/**
 * A block of a model's reasoning in the shape that OpenRouter defined and its clients know (`reasoning.text`,
 * `reasoning.summary`, `reasoning.encrypted`). It is opaque to everything but the protocol that made it.
 */
export type ReasoningDetail = { readonly [key: string]: unknown }

/** Instructions, from messages with the role `system` or `developer`. */
export interface SystemMessage {
  readonly role: "system"
  readonly content: ReadonlyArray<TextPart>
}

export interface UserMessage {
  readonly role: "user"
  readonly content: ReadonlyArray<ContentPart>
}

/** An earlier answer of a model, which the client sends back. */
export interface AssistantMessage {
  readonly role: "assistant"
  readonly content: ReadonlyArray<TextPart>
  readonly toolCalls: ReadonlyArray<ToolCall>
  /** What the model said instead of an answer. */
  readonly refusal?: string
  readonly reasoning?: string
  readonly reasoningDetails: ReadonlyArray<ReasoningDetail>
}

/** The result of a tool call. It is marked itself only where it has no content to mark. */
export interface ToolMessage extends Cacheable {
  readonly role: "tool"
  readonly toolCallId: string
  readonly content: ReadonlyArray<ContentPart>
  /** The tool failed, and the content says how. */
  readonly isError?: true
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** A function that the client lets the model call. */
/** A function that the client lets the model call. */
export interface Tool extends Cacheable {
  readonly name: string
  readonly description?: string
  /** The JSON Schema of the arguments. */
  readonly parameters: { readonly [key: string]: unknown }
  /** Whether the arguments must conform to that schema, in OpenAI's sense. */
  readonly strict?: boolean
}

/** Whether and which tool the model has to call; the object form forces the named tool. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string }

/** The format of the answer: plain text, any JSON object, or JSON that conforms to a schema. */
export type ResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema"
      readonly name: string
      readonly description?: string
      readonly strict: boolean
      readonly schema: { readonly [key: string]: unknown }
    }

/** Everything that a model is asked for. An optional field is absent when the client did not set it. */
export interface ChatRequest {
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<Tool>
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
  readonly responseFormat: ResponseFormat
  readonly reasoning?: Reasoning
  /** Limits the sum of visible and reasoning tokens. */
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly stop: ReadonlyArray<string>
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  /** The lifetime of automatic caching of the whole prompt, if it is requested. */
  readonly cacheControl?: CacheControl
  readonly promptCacheKey?: string
  readonly promptCacheRetention?: string
  readonly sessionId?: string
}

/** A request of one user message, with the contract's default for everything else. */
export const userRequest = (...content: ReadonlyArray<ContentPart>): ChatRequest => ({
  messages: [{ role: "user", content }],
  tools: [],
  toolChoice: "auto",
  parallelToolCalls: true,
  responseFormat: { type: "text" },
  stop: []
})

/** A request of one user message that is plain text. */
export const textRequest = (text: string): ChatRequest => userRequest({ type: "text", text })

/** True when the client requires the model to call a tool. */
export const forcesTool = (request: ChatRequest): boolean =>
  request.toolChoice === "required" || typeof request.toolChoice === "object"

/** Which kinds of input other than text the conversation contains. A target must accept all of them. */
export const modalitiesOf = (request: ChatRequest): { readonly image: boolean; readonly audio: boolean } => {
  const types = new Set(request.messages.flatMap((message) => message.content.map((part) => part.type)))
  return { image: types.has("image"), audio: types.has("audio") }
}

/** The text parts of a message, joined by newlines. */
export const textOf = (message: Message): string =>
  message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
