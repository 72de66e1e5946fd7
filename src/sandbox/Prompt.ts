/** What the sandbox understood of a request and what it will answer, whatever the wire protocol. */
import { Option, Schema } from "effect"

import type { JsonObject } from "../domain/JsonObject.ts"

export interface OfferedTool {
  readonly name: string
  readonly schema: JsonObject
}

/** Prompt tokens by how a provider bills them. */
export interface PromptTokens {
  readonly fresh: number
  readonly cacheRead: number
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
}

/** A prefix of the prompt that the client marked for caching. */
export interface Breakpoint {
  readonly prefix: string
  readonly ttl: "5m" | "1h"
}

/** A recording that is to be transcribed. */
export interface UploadedAudio {
  readonly bytes: number
  readonly extension: string
  readonly language: string | undefined
  /** Whose server the sandbox stands in for, as far as the key tells. */
  readonly account: string
}

export interface Prompt {
  readonly model: string
  readonly stream: boolean
  /** Messages in the conversation. */
  readonly messages: number
  /** Everything that counts as prompt, as text. */
  readonly text: string
  readonly breakpoints: ReadonlyArray<Breakpoint>
  readonly lastUserText: string
  /** The result of a tool, when that is what the conversation ends with. */
  readonly toolResult: string | undefined
  readonly images: number
  readonly audios: number
  /** Where transcription is all that is asked. */
  readonly recording?: UploadedAudio
  readonly tools: ReadonlyArray<OfferedTool>
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string }
  readonly parallelCalls: boolean
  /** `undefined`: plain text. */
  readonly answerSchema: JsonObject | undefined
  readonly thinks: boolean
  readonly maxTokens: number | undefined
  readonly stop: ReadonlyArray<string>
}

export interface ReplyToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface Reply {
  readonly id: string
  readonly createdSeconds: number
  /** One element per token. */
  readonly thinking: ReadonlyArray<string>
  readonly text: ReadonlyArray<string>
  readonly calls: ReadonlyArray<ReplyToolCall>
  readonly finish: "stop" | "length" | "tool_calls" | "content_filter"
  /** The stop sequence that ended the text. */
  readonly stoppedAt: string | undefined
  readonly promptTokens: PromptTokens
  readonly outputTokens: number
}

const wish = /\bone JSON object\b(?:.*\bJSON Schema: (\{.*\}))?/s
const decodeSchema = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/** The schema of an answer that is asked for in words, as a docile model reads them; an empty one for any JSON. */
export const schemaAskedFor = (system: string): JsonObject | undefined => {
  const asked = wish.exec(system)
  return asked === null ? undefined : Option.getOrElse(decodeSchema(asked[1]), () => ({}))
}

/** True for a message that asks for what its audio says and nothing else. */
export const isTranscriptAskedFor = (message: string): boolean => /\bonly the transcript\b/.test(message)

/** Words with the space before them: near enough to tokens. */
export const tokensOf = (text: string): ReadonlyArray<string> => text.match(/\s*\S+|\s+$/g) ?? []

/** About four characters are one token. */
export const countTokens = (text: string): number => Math.ceil(text.length / 4)
