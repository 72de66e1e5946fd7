/**
 * A provider: a vendor, or a server that the operator runs, with one account. A provider is all data, so adding a
 * vendor takes an entry in the catalog and no code.
 */
import type { Redacted } from "effect"

import type { ProviderId } from "../domain/Ids.ts"
import type { ChatProtocolName } from "./Model.ts"

export const dialectNames = [
  "openai",
  "azure",
  "deepseek",
  "groq",
  "mistral",
  "xai",
  "together",
  "fireworks",
  "cerebras",
  "moonshot",
  "zai",
  "minimax",
  "openrouter",
  "qwen",
  "vllm",
  "ollama",
  "lmstudio",
  "generic"
] as const
/** A named set of differences from OpenAI's chat protocol, for servers that implement it with deviations. */
export type DialectName = (typeof dialectNames)[number]

export interface Provider {
  readonly id: ProviderId
  /** The protocol of its chat models. Transcription models have a protocol of their own. */
  readonly protocol: ChatProtocolName
  readonly dialect: DialectName
  /** Without a trailing slash. Empty if every account has its own; then `baseUrlEnv` must be set. */
  readonly baseUrl: string
  /** The environment variable that holds the API key. */
  readonly apiKeyEnv: string
  /** The environment variable that overrides `baseUrl`. */
  readonly baseUrlEnv: string
  /**
   * How the key is sent. `none`: the server needs no key, and is switched on when its base URL is set. `aws-sigv4`: as
   * a bearer token, unless the account has credentials to sign requests with.
   */
  readonly auth: "bearer" | "x-api-key" | "x-goog-api-key" | "api-key" | "aws-sigv4" | "none"
  /** What becomes of prompts and answers. Absent where that is not known. */
  readonly dataPolicy?: DataPolicy
}

/** What a provider does with what it is sent, by the terms that it publishes. */
export interface DataPolicy {
  /** Whether it may train on it, unless an account has agreed on something else. */
  readonly mayTrain?: boolean
  /** For how many days it is kept, at most; 0 where nothing is. */
  readonly retentionDays?: number
}

/** The address and the credentials of a provider that is switched on. */
export interface ProviderAccount {
  readonly provider: Provider
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
  /** When set, requests are signed with these and `apiKey` is not sent. */
  readonly aws?: AwsCredentials
}

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: Redacted.Redacted
  /** Only temporary credentials have one. */
  readonly sessionToken?: Redacted.Redacted
  readonly region: string
}
