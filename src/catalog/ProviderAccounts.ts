/**
 * The accounts of the providers that are switched on. They come from the environment. When it switches no provider on,
 * every provider gets an account with the simulated provider instead.
 */
import { Config, Effect, Option, Redacted } from "effect"

import type { ChatProtocolName } from "./Model.ts"
import type { ProviderAccount, AwsCredentials, Provider } from "./Provider.ts"

export type ProviderAccounts = ReadonlyMap<Provider["id"], ProviderAccount>

/** The accounts that the environment defines. */
export const configured = Effect.fnUntraced(function* (providers: Iterable<Provider>) {
  const accounts = new Map<Provider["id"], ProviderAccount>()
  for (const provider of providers) {
    const found = yield* account(provider)
    if (found !== undefined) accounts.set(provider.id, found)
  }
  return accounts satisfies ProviderAccounts
})

/**
 * An account at a simulated server for every provider. Its key is the provider's id, so that the server knows which
 * provider to simulate.
 */
export const simulated = (
  providers: Iterable<Provider>,
  baseUrlFor: (protocol: ChatProtocolName) => string
): ProviderAccounts =>
  new Map(
    Array.from(providers, (provider) => [
      provider.id,
      { provider, baseUrl: baseUrlFor(provider.protocol), apiKey: Redacted.make(provider.id) }
    ])
  )

/**
 * The account of a provider. A provider is switched on when its key is set, or, if it needs no key, when its base URL
 * is. `{region}` in the base URL of the catalog stands for the AWS region.
 */
const account = Effect.fnUntraced(function* (provider: Provider) {
  const key = yield* Config.option(Config.Redacted(provider.apiKeyEnv))
  const baseUrl = yield* Config.option(Config.URL(provider.baseUrlEnv))
  const region = yield* awsRegion
  // A Bedrock API key takes precedence over credentials, as in the AWS SDKs.
  const aws = provider.auth === "aws-sigv4" && Option.isNone(key) ? yield* awsCredentials(region) : undefined
  const isOn = Option.isSome(key) || aws !== undefined || (provider.auth === "none" && Option.isSome(baseUrl))
  if (!isOn) return undefined
  return {
    provider,
    baseUrl: Option.match(baseUrl, {
      onNone: () => provider.baseUrl.replace("{region}", region),
      onSome: (url) => withUsualPath(provider, url.href.replace(/\/+$/, ""))
    }),
    apiKey: Option.getOrElse(key, () => Redacted.make("")),
    ...(aws && { aws })
  } satisfies ProviderAccount
})

/**
 * The base URL as the protocol needs it. SDKs disagree about whether a base URL includes the version, so a missing path
 * is completed to that of the provider's own address, and `/v1` is taken off where the protocol has it itself.
 */
const withUsualPath = (provider: Provider, url: string): string => {
  const base = provider.protocol === "anthropic-messages" ? url.replace(/\/v1$/, "") : url
  const usual = usualPath(provider)
  const path = pathOf(base)
  return usual.startsWith(`${path}/`) ? `${base.slice(0, base.length - path.length)}${usual}` : base
}

/** The path of the address in the catalog. A provider without one is a server of the operator's, or Azure. */
const usualPath = ({ baseUrl, dialect, protocol }: Provider): string => {
  if (baseUrl !== "") return pathOf(baseUrl)
  if (dialect === "azure") return "/openai/v1"
  return protocol === "openai-chat" ? "/v1" : ""
}

const pathOf = (url: string): string => url.replace(/^[a-z]+:\/\/[^/]*/i, "").replace(/\/+$/, "")

/** The default is the region of the model ids in the shipped catalog. */
const awsRegion = Config.NonEmptyString("AWS_REGION").pipe(
  Config.orElse(() => Config.NonEmptyString("AWS_DEFAULT_REGION")),
  Config.withDefault("us-east-1")
)

const awsCredentials = Effect.fnUntraced(function* (region: string) {
  const accessKeyId = yield* Config.option(Config.NonEmptyString("AWS_ACCESS_KEY_ID"))
  const secretAccessKey = yield* Config.option(Config.Redacted("AWS_SECRET_ACCESS_KEY"))
  const sessionToken = yield* Config.option(Config.Redacted("AWS_SESSION_TOKEN"))
  if (Option.isNone(accessKeyId) || Option.isNone(secretAccessKey)) return undefined
  return {
    accessKeyId: accessKeyId.value,
    secretAccessKey: secretAccessKey.value,
    ...(Option.isSome(sessionToken) && { sessionToken: sessionToken.value }),
    region
  } satisfies AwsCredentials
})
