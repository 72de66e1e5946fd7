import { createHash, createHmac } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"

import type { ProviderAccount } from "../../../src/catalog/Provider.ts"
import { providerId } from "../../../src/domain/Ids.ts"
import * as Auth from "../../../src/providers/transport/Auth.ts"

const account = (aws?: ProviderAccount["aws"]): ProviderAccount => ({
  provider: {
    id: providerId("bedrock"),
    protocol: "openai-chat",
    dialect: "generic",
    baseUrl: "",
    apiKeyEnv: "",
    baseUrlEnv: "",
    auth: "bearer"
  },
  baseUrl: "",
  apiKey: Redacted.make("bedrock-key"),
  ...(aws && { aws })
})
const credentials = { accessKeyId: "AKID", secretAccessKey: Redacted.make("wJalr+/secret"), region: "eu-west-1" }
const request = {
  url: "http://bedrock.test:8080/model/us.amazon.nova-pro-v1%3A0/converse?b=2&a=1",
  body: `{"text":"é"}`,
  contentType: "application/json"
}
/** 2015-08-30T12:36:00Z in milliseconds. */
const then = 1_440_938_160_000

const hash = (data: string): string => createHash("sha256").update(data).digest("hex")
const hmac = (key: string | Buffer, data: string): Buffer => createHmac("sha256", key).update(data).digest()

describe("Auth", () => {
  it.effect("signs a request as AWS defines it, with the time of the clock", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(then)
      const headers = yield* Auth.authHeaders(account(credentials), request)
      const canonical = [
        "POST",
        // AWS encodes the path of a request once more than the request itself.
        "/model/us.amazon.nova-pro-v1%253A0/converse",
        "a=1&b=2",
        "content-type:application/json",
        "host:bedrock.test:8080",
        `x-amz-content-sha256:${hash(request.body)}`,
        "x-amz-date:20150830T123600Z",
        "",
        "content-type;host;x-amz-content-sha256;x-amz-date",
        hash(request.body)
      ].join("\n")
      const scope = "20150830/eu-west-1/bedrock/aws4_request"
      const key = ["20150830", "eu-west-1", "bedrock", "aws4_request"].reduce<string | Buffer>(
        hmac,
        "AWS4wJalr+/secret"
      )
      const signature = hmac(key, `AWS4-HMAC-SHA256\n20150830T123600Z\n${scope}\n${hash(canonical)}`).toString("hex")
      assert.deepStrictEqual(headers, {
        authorization:
          `AWS4-HMAC-SHA256 Credential=AKID/${scope}, ` +
          `SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, Signature=${signature}`,
        "x-amz-content-sha256": hash(request.body),
        "x-amz-date": "20150830T123600Z"
      })
    })
  )

  it.effect("signs the session token of temporary credentials, and each attempt anew", () =>
    Effect.gen(function* () {
      const temporary = account({ ...credentials, sessionToken: Redacted.make("token") })
      const first = yield* Auth.authHeaders(temporary, request)
      yield* TestClock.adjust("1 minute")
      const second = yield* Auth.authHeaders(temporary, request)
      assert.strictEqual(first["x-amz-security-token"], "token")
      assert.include(first["authorization"], ";x-amz-date;x-amz-security-token,")
      assert.notStrictEqual(first["authorization"], second["authorization"])
    })
  )

  it.effect("sends a Bedrock API key as bearer where there are no credentials to sign with", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Auth.authHeaders(account(), request), { authorization: "Bearer bedrock-key" })
    })
  )
})
