import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Redacted } from "effect"

import type { Provider } from "../../../src/catalog/Provider.ts"
import { providerId } from "../../../src/domain/Ids.ts"
import { Dispatch } from "../../../src/providers/dispatch/Dispatch.ts"
import { type FailedCall, notFoundCause } from "../../../src/providers/dispatch/NotFoundLog.ts"
import { classifyResponse } from "../../../src/providers/protocols/shared/errors/ErrorClassifier.ts"
import * as Fake from "../../support/fake-provider/FakeProvider.ts"
import { FakeTargets, held, realLayer, request } from "./FakeTargets.ts"

const provider: Provider = {
  id: providerId("acme"),
  protocol: "openai-chat",
  dialect: "generic",
  baseUrl: "https://api.acme.dev/v1",
  apiKeyEnv: "ACME_API_KEY",
  baseUrlEnv: "ACME_BASE_URL",
  auth: "bearer"
}

const callTo = (baseUrl: string, path = "/chat/completions"): FailedCall => ({
  account: { provider, baseUrl, apiKey: Redacted.make("k") },
  path,
  upstream: "acme-1"
})

const failureOf = (status: number, body: unknown) =>
  classifyResponse({ status, headers: {}, body: typeof body === "string" ? body : JSON.stringify(body) })

const page = "<html><head><title>404 Not Found</title></head></html>"
const unknownUrl = { error: { message: "Invalid URL (POST /chat/completions)", type: "invalid_request_error" } }
const unknownModel = { error: { message: "The model `acme-1` does not exist", code: "model_not_found" } }

describe("What a provider does not find", () => {
  const causes: ReadonlyArray<readonly [string, FailedCall, number, unknown, string | undefined]> = [
    ["a base URL without the version", callTo("https://proxy"), 404, page, "usually ends in /v1"],
    ["a base URL without the version", callTo("https://proxy/llm"), 404, unknownUrl, "usually ends in /v1"],
    ["a doubled version", callTo("https://proxy/v1", "/v1/messages"), 404, page, "should not end in the version"],
    ["an API that is not there", callTo("https://proxy/v1"), 404, { detail: "Not Found" }, "does not have this API"],
    ["an API that is not there", callTo("https://proxy/v1"), 405, { detail: "Method Not Allowed" }, "this API"],
    ["an API that is not there", callTo("https://proxy/v1"), 404, "404 page not found", "this API"],
    ["an API that is not there", callTo("https://proxy/v1"), 404, "", "this API"],
    ["a model", callTo("https://proxy/v1"), 404, unknownModel, "the account of ACME_API_KEY"],
    ["a model", callTo("https://proxy/v1"), 404, { type: "error", error: { message: "model: acme-1" } }, "a model"],
    ["a model", callTo("https://proxy/v1", "/models/acme-1:generate"), 404, { message: "Not found" }, "a model"],
    ["a model", callTo("https://proxy/v1"), 400, { message: "The provided model identifier is invalid." }, "a model"],
    [
      "nothing",
      callTo("https://proxy"),
      404,
      { error: { message: "No endpoints found that support images" } },
      undefined
    ],
    ["nothing", callTo("https://proxy"), 400, { error: { message: "Bad role" } }, undefined],
    ["nothing", callTo("https://proxy"), 503, "", undefined]
  ]
  for (const [what, call, status, body, expected] of causes)
    it(`is ${what}: ${call.account.baseUrl}${call.path} ${status} ${JSON.stringify(body)}`, () => {
      const cause = notFoundCause(call, failureOf(status, body))
      if (expected === undefined) assert.isUndefined(cause)
      else assert.include(cause?.text, expected)
      if (cause !== undefined)
        assert.strictEqual(cause.variable, cause.kind === "path" ? "ACME_BASE_URL" : "ACME_API_KEY")
    })

  it.live("is logged once, with the path and the variable", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const capture = Logger.map(Logger.formatJson, (line) => void lines.push(line))
      const fake = yield* FakeTargets
      const dispatch = yield* Dispatch
      const targets = [fake.target("lost", Fake.reply(404, { detail: "Not Found" }))] as const
      const call = Effect.flip(dispatch.complete({ held, request, targets }))
      yield* Effect.repeat(call, { times: 2 }).pipe(Effect.provide(Logger.layer([capture])))
      const found = lines.filter((line) => line.includes("A provider has no such path"))
      assert.lengthOf(found, 1)
      for (const part of ['"provider":"lost"', "/chat/completions", '"status":404', '"variable":"', "has no such path"])
        assert.include(found[0], part)
      assert.notInclude(lines.join(), "hello")
    }).pipe(Effect.provide(realLayer()))
  )
})
