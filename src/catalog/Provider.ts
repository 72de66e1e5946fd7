/**
 * A provider: a vendor (or a server of one's own) with one account. All of it is data, so a new vendor is an entry in
 * the catalog and no code.
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
/** Names a set of flags for servers that speak OpenAI's chat protocol with their own accent. */
export type DialectName = (typeof dialectNames)[number]

export interface Provider {
  readonly id: ProviderId
  /** Of its chat models. Transcription models say their own. */
  readonly protocol: ChatProtocolName
  readonly dialect: DialectName
  /** Without a trailing slash. Empty where every account has its own: `baseUrlEnv` must be set then. */
  readonly baseUrl: string
  /** Environment variables that hold the key and replace `baseUrl`. */
  readonly apiKeyEnv: string
  readonly baseUrlEnv: string
  /**
   * How the key is sent. `none`: for servers that need no key, which are on when their base URL is set. `aws-sigv4`: as
   * bearer, unless the account has credentials to sign with.
   */
  readonly auth: "bearer" | "x-api-key" | "x-goog-api-key" | "api-key" | "aws-sigv4" | "none"
}

/** Where and as whom to call a provider that is switched on. */
export interface ProviderAccount {
  readonly provider: Provider
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
  /** With these, requests are signed and `apiKey` is not sent. */
  readonly aws?: AwsCredentials
}

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: Redacted.Redacted
  /** Of temporary credentials. */
  readonly sessionToken?: Redacted.Redacted
  readonly region: string
}
