/** How our key reaches a provider. The one place that opens a provider's secret. */
import { Effect, Redacted } from "effect"

import type { ProviderAccount, AwsCredentials, Provider } from "../../catalog/Provider.ts"
import * as AwsSignature from "./AwsSignature.ts"

type Headers = { readonly [name: string]: string }

const schemes = {
  bearer: (key) => ({ authorization: `Bearer ${key}` }),
  "x-api-key": (key) => ({ "x-api-key": key }),
  "x-goog-api-key": (key) => ({ "x-goog-api-key": key }),
  "api-key": (key) => ({ "api-key": key }),
  /** An API key of Bedrock: an account that signs has none. */
  "aws-sigv4": (key) => ({ authorization: `Bearer ${key}` }),
  none: () => ({})
} as const satisfies Record<Provider["auth"], (key: string) => Headers>

/** The headers that identify us to this provider, for one request and for now. */
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
