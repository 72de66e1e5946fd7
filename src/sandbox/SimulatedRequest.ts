/**
 * What the sandbox understands of a request, whatever its wire protocol. Each protocol reads its requests into this one
 * form, and the reply is computed from it alone.
 */
import { Option, Schema } from "effect"

import type { JsonObject } from "../domain/JsonObject.ts"

/** A tool that the request offers. */
export interface OfferedTool {
  readonly name: string
  /** The JSON Schema of its arguments. */
  readonly schema: JsonObject
}

/** A prefix of the prompt that the client marked for caching. */
export interface MarkedPrefix {
  /** The model and everything before the mark, as text. */
  readonly prefix: string
  readonly ttl: "5m" | "1h"
}

/** A recording that is to be transcribed. */
export interface UploadedAudio {
  readonly bytes: number
  readonly extension: string
  readonly language: string | undefined
  /** The id of the provider that the sandbox stands in for, as far as the API key names one. */
  readonly account: string
}

/** Vectors that are asked for. */
export interface RequestedEmbedding {
  readonly inputs: ReadonlyArray<string> | ReadonlyArray<ReadonlyArray<number>>
  readonly dimensions: number
  readonly isBase64: boolean
}

export interface SimulatedRequest {
  readonly model: string
  readonly stream: boolean
  /** The number of messages in the conversation. */
  readonly messageCount: number
  /** Everything that counts as prompt, as text. */
  readonly promptText: string
  /** The cached prefixes, in the order of the prompt. */
  readonly cacheBreakpoints: ReadonlyArray<MarkedPrefix>
  readonly lastUserText: string
  /** The result of a tool, when the conversation ends with one. */
  readonly toolResult: string | undefined
  readonly imageCount: number
  readonly audioCount: number
  /** Set for requests to the transcription endpoint only. */
  readonly recording?: UploadedAudio
  /** Set for requests to the embeddings endpoint only. */
  readonly embedding?: RequestedEmbedding
  readonly tools: ReadonlyArray<OfferedTool>
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string }
  readonly parallelToolCalls: boolean
  /** The JSON Schema of the answer, `{}` for any JSON object, `undefined` for plain text. */
  readonly responseSchema: JsonObject | undefined
  /** True when the model is to reason before it answers. */
  readonly reasons: boolean
  /** The limit of output tokens, those of reasoning included. */
  readonly maxTokens: number | undefined
  readonly stopSequences: ReadonlyArray<string>
}

/** What only conversations have, as it is in a request that is none. */
export const noConversation = {
  stream: false,
  cacheBreakpoints: [],
  toolResult: undefined,
  imageCount: 0,
  tools: [],
  toolChoice: "none",
  parallelToolCalls: false,
  responseSchema: undefined,
  reasons: false,
  maxTokens: undefined,
  stopSequences: []
} satisfies Partial<SimulatedRequest>

const jsonInstruction = /\bone JSON object\b(?:.*\bJSON Schema: (\{.*\}))?/s
const decodeSchema = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/**
 * The schema of an answer that the system prompt asks for in words, for protocols without a field for it: `{}` when any
 * JSON object will do, `undefined` when there is no such instruction.
 */
export const requestedSchema = (system: string): JsonObject | undefined => {
  const instruction = jsonInstruction.exec(system)
  return instruction === null ? undefined : Option.getOrElse(decodeSchema(instruction[1]), () => ({}))
}

/** True for a message that asks for the transcript of its audio and nothing else. */
export const requestsTranscript = (message: string): boolean => /\bonly the transcript\b/.test(message)

/** The number of tokens in a prompt: one for every four characters. */
export const countTokens = (text: string): number => Math.ceil(text.length / 4)
