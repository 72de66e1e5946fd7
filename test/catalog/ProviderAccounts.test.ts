import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted, Result } from "effect"

import { loadCatalog } from "../../src/catalog/Catalog.ts"
import type { Provider } from "../../src/catalog/Provider.ts"
import * as ProviderAccounts from "../../src/catalog/ProviderAccounts.ts"
import { providerId } from "../../src/domain/Ids.ts"

const bedrock: Provider = {
  id: providerId("bedrock"),
  protocol: "bedrock-converse",
  dialect: "generic",
  baseUrl: "https://bedrock-runtime.{region}.amazonaws.com",
  apiKeyEnv: "AWS_BEARER_TOKEN_BEDROCK",
  baseUrlEnv: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
  auth: "aws-sigv4"
}

/** The account that these variables define: its base URL, its key and its AWS credentials. */
const accountOf = Effect.fnUntraced(function* (env: Record<string, string>, provider = bedrock) {
  const accounts = yield* ProviderAccounts.configured([provider]).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
  )
  const account = accounts.get(provider.id)
  if (account === undefined) return undefined
  const { apiKey, aws, baseUrl } = account
  const signer =
    aws &&
    [aws.accessKeyId, aws.secretAccessKey, aws.sessionToken].map((value) =>
      Redacted.isRedacted(value) ? Redacted.value(value) : value
    )
  return { baseUrl, key: Redacted.value(apiKey), ...(signer && { signer, region: aws.region }) }
})

const credentials = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" }
const regional = (region: string): string => `https://bedrock-runtime.${region}.amazonaws.com`

describe("an account at AWS", () => {
  it.effect.each<readonly [Record<string, string>, unknown]>([
    [{}, undefined],
    [{ AWS_ACCESS_KEY_ID: "id" }, undefined],
    [{ AWS_BEARER_TOKEN_BEDROCK: "key" }, { baseUrl: regional("us-east-1"), key: "key" }],
    [
      { AWS_BEARER_TOKEN_BEDROCK: "key", ...credentials, AWS_REGION: "eu-west-1" },
      { baseUrl: regional("eu-west-1"), key: "key" }
    ],
    [
      { ...credentials, AWS_DEFAULT_REGION: "eu-west-1" },
      { baseUrl: regional("eu-west-1"), key: "", signer: ["id", "secret", undefined], region: "eu-west-1" }
    ],
    [
      {
        ...credentials,
        AWS_SESSION_TOKEN: "token",
        AWS_REGION: "eu-west-1",
        AWS_ENDPOINT_URL_BEDROCK_RUNTIME: "http://127.0.0.1:1/"
      },
      { baseUrl: "http://127.0.0.1:1", key: "", signer: ["id", "secret", "token"], region: "eu-west-1" }
    ]
  ])("of %j", ([env, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual<unknown>(yield* accountOf(env), expected)
    })
  )

  it.effect("does not switch on any other provider", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* accountOf(credentials, { ...bedrock, apiKeyEnv: "ACME_API_KEY", auth: "bearer" }))
    })
  )
})

describe("a base URL", () => {
  const { providers } = Result.getOrThrow(loadCatalog())
  const cases: ReadonlyArray<readonly [provider: string, set: string, used: string]> = [
    ["openai", "http://proxy:1", "http://proxy:1/v1"],
    ["openai", "http://proxy:1/", "http://proxy:1/v1"],
    ["openai", "http://proxy:1/v1/", "http://proxy:1/v1"],
    ["openai", "http://proxy:1/team/v1", "http://proxy:1/team/v1"],
    ["anthropic", "http://proxy:1", "http://proxy:1"],
    ["anthropic", "http://proxy:1/v1", "http://proxy:1"],
    ["anthropic", "http://proxy:1/claude/v1/", "http://proxy:1/claude"],
    ["minimax", "https://api.minimax.io/anthropic/v1", "https://api.minimax.io/anthropic"],
    ["minimax", "https://api.minimax.io", "https://api.minimax.io/anthropic"],
    ["google", "https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta"],
    ["groq", "https://api.groq.com/openai", "https://api.groq.com/openai/v1"],
    ["openrouter", "https://openrouter.ai/api", "https://openrouter.ai/api/v1"],
    ["deepseek", "https://api.deepseek.com/v1", "https://api.deepseek.com/v1"],
    ["deepseek", "https://api.deepseek.com", "https://api.deepseek.com"],
    ["azure", "https://acme.openai.azure.com", "https://acme.openai.azure.com/openai/v1"],
    ["azure", "https://acme.openai.azure.com/openai/v1/", "https://acme.openai.azure.com/openai/v1"],
    ["ollama", "http://localhost:11434", "http://localhost:11434/v1"],
    ["vllm", "http://localhost:8000/v1", "http://localhost:8000/v1"]
  ]
  it.effect.each(cases)("of %s may be %s", ([id, set, used]) =>
    Effect.gen(function* () {
      const provider = providers.get(providerId(id)) ?? assert.fail(id)
      const account = yield* accountOf({ [provider.apiKeyEnv]: "key", [provider.baseUrlEnv]: set }, provider)
      assert.strictEqual(account?.baseUrl, used)
    })
  )

  it.effect("that is the provider's own is used as it is", () =>
    Effect.gen(function* () {
      for (const provider of providers.values()) {
        if (provider.baseUrl === "" || provider.baseUrl.includes("{region}")) continue
        const env = { [provider.apiKeyEnv]: "key", [provider.baseUrlEnv]: provider.baseUrl }
        assert.strictEqual((yield* accountOf(env, provider))?.baseUrl, provider.baseUrl)
      }
    })
  )
})
