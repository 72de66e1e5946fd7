/**
 * Which providers are switched on, and as whom to call them: from the environment, or, when nothing there switches a
 * provider on, the simulated provider behind every one of them.
 */
import { Config, Effect, Option, Redacted } from "effect"

import type { ChatProtocolName } from "./Model.ts"
import type { ProviderAccount, AwsCredentials, Provider } from "./Provider.ts"

export type ProviderAccounts = ReadonlyMap<Provider["id"], ProviderAccount>

/** The accounts that the environment holds. */
export const configured = Effect.fnUntraced(function* (providers: Iterable<Provider>) {
  const accounts = new Map<Provider["id"], ProviderAccount>()
  for (const provider of providers) {
    const found = yield* account(provider)
    if (found !== undefined) accounts.set(provider.id, found)
  }
  return accounts satisfies ProviderAccounts
})

/** An account with every provider at a simulated server; the key tells it which provider was meant. */
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
 * A provider's account: on when its key is set, or, for servers without keys, when its base URL is. `{region}` in the
 * catalog's base URL is AWS's region.
 */
const account = Effect.fnUntraced(function* (provider: Provider) {
  const key = yield* Config.option(Config.Redacted(provider.apiKeyEnv))
  const baseUrl = yield* Config.option(Config.URL(provider.baseUrlEnv))
  const region = yield* awsRegion
  // A key of Bedrock's own comes before credentials, as it does in the SDKs of AWS.
  const aws = provider.auth === "aws-sigv4" && Option.isNone(key) ? yield* awsCredentials(region) : undefined
  const isOn = Option.isSome(key) || aws !== undefined || (provider.auth === "none" && Option.isSome(baseUrl))
  if (!isOn) return undefined
  return {
    provider,
    baseUrl: Option.match(baseUrl, {
      onNone: () => provider.baseUrl.replace("{region}", region),
      onSome: (url) => url.href.replace(/\/+$/, "")
    }),
    apiKey: Option.getOrElse(key, () => Redacted.make("")),
    ...(aws && { aws })
  } satisfies ProviderAccount
})

/** The region of the shipped catalog's model ids, where nothing else is said. */
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
