/** The headers that authenticate us to a provider. Only this file reads the secrets of an account. */
import { Effect, Redacted } from "effect"

import type { ProviderAccount, AwsCredentials, Provider } from "../../catalog/Provider.ts"
import * as AwsSignature from "./AwsSignature.ts"

type Headers = { readonly [name: string]: string }

const schemes = {
  bearer: (key) => ({ authorization: `Bearer ${key}` }),
  "x-api-key": (key) => ({ "x-api-key": key }),
  "x-goog-api-key": (key) => ({ "x-goog-api-key": key }),
  "api-key": (key) => ({ "api-key": key }),
  // A Bedrock API key. An account with AWS credentials signs its requests and has no such key.
  "aws-sigv4": (key) => ({ authorization: `Bearer ${key}` }),
  none: () => ({})
} as const satisfies Record<Provider["auth"], (key: string) => Headers>

/** The authentication headers for one request. A signature covers the request and the current time. */
export const authHeaders = (account: ProviderAccount, request: AwsSignature.Signable): Effect.Effect<Headers> =>
  account.aws === undefined
    ? Effect.succeed(schemes[account.provider.auth](Redacted.value(account.apiKey)))
    : AwsSignature.signedHeaders(signerOf(account.aws), request)

const signerOf = ({ accessKeyId, region, secretAccessKey, sessionToken }: AwsCredentials): AwsSignature.Signer => ({
  accessKeyId,
  secretAccessKey: Redacted.value(secretAccessKey),
  ...(sessionToken && { sessionToken: Redacted.value(sessionToken) }),
  region,
  service: "bedrock"
})
