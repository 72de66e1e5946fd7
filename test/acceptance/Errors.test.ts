/**
 * Every error of the closed table, and the errors for faults of a provider. None costs anything or reveals a secret.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { errorTable } from "../../src/api/ErrorTable.ts"
import { modelId } from "../../src/domain/Ids.ts"
import { maxFileBytes } from "../../src/http/audio/TranscriptionForm.ts"
import {
  answers,
  type Behaviour,
  error,
  reply as replies,
  resets,
  streams,
  FakeProvider
} from "../support/fake-provider/FakeProvider.ts"
import { audioPart, field } from "../support/Multipart.ts"
import { stalledRequest } from "../support/SlowClients.ts"
import { tenantOnSpentBudget } from "../support/SpentBudget.ts"
import { describeWithFakeProvider, type Reply, type Tenant, TestGateway } from "../support/TestGateway.ts"
import { transcribe } from "../support/TranscriptionForms.ts"

const secret = "the pelican flies at midnight"
const body = { model: "gpt-4o-mini", messages: [{ role: "user", content: secret }] }
const as = (tenant: Tenant) => ({ authorization: `Bearer ${tenant.key}` })
const operatorKey = "sk-openai-of-the-operator"

const assertError = (reply: Reply, status: number, code: string, about?: string) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], `${about} ${reply.text}`)
  assert.deepStrictEqual(JSON.parse(reply.text), { error: { code, message: reply.at("error.message") } })
  assert.match(String(reply.headers.get("content-type")), /^application\/json/)
  assert.match(String(reply.headers.get("x-request-id")), /^[0-9a-f-]{36}$/)
  for (const hidden of [secret, operatorKey, "sk-anthropic"]) assert.notInclude(reply.text, hidden)
}

const html = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>"
const page = (status: number, type = "text/html") => replies(status, html, { "content-type": type })
const cutJson: Behaviour = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" })
  response.write('{"id":"x","choices":[')
  setTimeout(() => response.destroy(), 5)
}

interface Fault {
  readonly name: string
  readonly behaviour: Behaviour
  readonly status: number
  readonly code: keyof typeof errorTable
  readonly message: RegExp
  readonly retryAfter?: string
}

/** Matches a message that names the endpoint once, with its status. */
const tried = (status?: number) => {
  const endpoint = `openai/gpt-4o-mini${status === undefined ? "" : ` \\(${status}\\)`}`
  return new RegExp(`tried ${endpoint}\\. Nothing was charged$`)
}
const faults: ReadonlyArray<Fault> = [
  {
    name: "a rate limit with a retry-after",
    behaviour: error(429, { code: "rate_limit_exceeded" }, { "retry-after": "7" }),
    status: 429,
    code: "rate_limit_exceeded",
    message: /rate-limited/,
    retryAfter: "7"
  },
  {
    name: "the operator's quota",
    behaviour: error(429, { type: "insufficient_quota", code: "insufficient_quota" }),
    status: 500,
    code: "internal_error",
    message: tried(429)
  },
  {
    name: "the operator's key",
    behaviour: error(401, { message: `Incorrect API key provided: ${operatorKey}`, code: "invalid_api_key" }),
    status: 500,
    code: "internal_error",
    message: tried(401)
  },
  {
    name: "the operator's unpaid bill",
    behaviour: error(402),
    status: 500,
    code: "internal_error",
    message: tried(402)
  },
  {
    name: "an invalid request",
    behaviour: error(400, { message: "Invalid value: 'x'.", type: "invalid_request_error", code: "invalid_value" }),
    status: 400,
    code: "invalid_request",
    message: /^Invalid value: 'x'\.$/
  },
  {
    name: "an invalid request that quotes the operator's key",
    behaviour: error(400, { message: `Key ${operatorKey} may not do that`, type: "invalid_request_error" }),
    status: 400,
    code: "invalid_request",
    message: /^Key \[redacted\] may/
  },
  {
    name: "a prompt that is too long",
    behaviour: error(400, { message: "Too long: 9 > 8 tokens.", code: "context_length_exceeded" }),
    status: 400,
    code: "invalid_request",
    message: /Too long/
  },
  {
    name: "a model it does not have",
    behaviour: error(404, { message: "The model does not exist", code: "model_not_found" }),
    status: 500,
    code: "internal_error",
    message: tried(404)
  },
  { name: "a fault of the provider", behaviour: error(500), status: 500, code: "internal_error", message: tried(500) },
  { name: "a page in place of an answer", behaviour: page(200), status: 500, code: "internal_error", message: tried() },
  {
    name: "a web page with the media type of JSON",
    behaviour: page(200, "application/json"),
    status: 500,
    code: "internal_error",
    message: tried()
  },
  { name: "a page of a broken proxy", behaviour: page(502), status: 500, code: "internal_error", message: tried(502) },
  { name: "a page as a refusal", behaviour: page(400), status: 500, code: "internal_error", message: tried(400) },
  { name: "an empty body", behaviour: replies(200, ""), status: 500, code: "internal_error", message: tried() },
  { name: "no choices", behaviour: replies(200, {}), status: 500, code: "internal_error", message: tried() },
  { name: "half an answer", behaviour: cutJson, status: 500, code: "internal_error", message: tried() },
  { name: "a reset", behaviour: resets, status: 500, code: "internal_error", message: tried() },
  {
    name: "a stream without output",
    behaviour: streams([": nothing\n\n", "data: [DONE]\n\n"]),
    status: 500,
    code: "internal_error",
    message: tried()
  }
]

describeWithFakeProvider("Errors", (it) => {
  it.effect("are of the closed table, each with its status, a request id and nothing but code and message", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const keyed = { "idempotency-key": "one-key-two-bodies" }
      yield* gateway.chat(body, keyed)
      provider.script(error(500))
      const slow = yield* gateway.tenant("1", { requestsPerMinute: 1 })
      yield* gateway.chat({ ...body, n: 2 }, as(slow))
      const shut = as(yield* gateway.tenant("1", { endpoints: [] }))
      const bound = as(yield* gateway.tenant("1", { models: [modelId("gpt-4o")] }))
      const replyOf: { readonly [Code in keyof typeof errorTable]: Effect.Effect<Reply, never, TestGateway> } = {
        invalid_request: gateway.chat({ ...body, temperature: 3 }),
        invalid_model: gateway.chat({ ...body, model: "nope" }),
        conflict: Effect.andThen(
          gateway.admin("POST", "/admin/v1/admin_keys", { name: "twice" }),
          gateway.admin("POST", "/admin/v1/admin_keys", { name: "twice" })
        ),
        invalid_call_name: gateway.chat({ ...body, metadata: { call_name: " " } }),
        invalid_end_user_id: transcribe([audioPart(), field("svc", '{"end_user_id":" "}')]),
        unsupported_parameter: gateway.chat({ ...body, n: 2 }),
        invalid_file_format: transcribe([audioPart({ filename: "speech.txt" })]),
        file_too_large: transcribe([audioPart({ content: Buffer.alloc(maxFileBytes + 1) })]),
        unsupported_response_format: transcribe([audioPart(), field("response_format", "srt")]),
        unauthorized: gateway.chat(body, { authorization: "" }),
        insufficient_credits: gateway.chat(body, as(yield* gateway.tenant("0"))),
        endpoint_not_allowed: gateway.chat(body, shut),
        model_not_allowed: gateway.chat(body, bound),
        not_found: gateway.request("GET", "/v1/nothing"),
        method_not_allowed: gateway.request("DELETE", "/v1/chat/completions"),
        request_timeout: stalledRequest("/v1/chat/completions"),
        idempotency_conflict: gateway.chat({ ...body, temperature: 1 }, keyed),
        request_too_large: gateway.chat(JSON.stringify({ ...body, pad: "x".repeat(33 * 1024 * 1024) })),
        rate_limit_exceeded: gateway.chat(body, as(slow)),
        budget_exceeded: gateway.chat(body, as(yield* tenantOnSpentBudget)),
        internal_error: gateway.chat(body)
      }
      const ids = new Set<string | null>()
      for (const [code, request] of Object.entries(replyOf)) {
        const reply = yield* request
        assertError(reply, Reflect.get(errorTable, code), code)
        ids.add(reply.headers.get("x-request-id"))
      }
      assert.strictEqual(ids.size, Object.keys(errorTable).length)
      assert.strictEqual(yield* gateway.lingeringHolds, 0)
    })
  )

  for (const stream of [false, true]) {
    it.effect(`show whose fault it was when the provider fails ${stream ? "before it streams" : "to answer"}`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        for (const { behaviour, code, message, name, retryAfter, status } of faults) {
          const before = yield* gateway.balance()
          provider.script(behaviour)
          // A model that has to wait is not asked again, so the one of the other faults is spared.
          const waiting = stream ? "gpt-4.1-nano" : "gpt-4.1-mini"
          const reply = yield* gateway.chat({ ...body, stream, ...(retryAfter !== undefined && { model: waiting }) })
          assertError(reply, status, code, name)
          assert.match(String(reply.at("error.message")), message, name)
          assert.notInclude(reply.text, "<", name)
          assert.strictEqual(reply.headers.get("retry-after"), retryAfter ?? null, name)
          assert.strictEqual(yield* gateway.lingeringHolds, 0, name)
          assert.deepStrictEqual(yield* gateway.balance(), before, name)
          provider.script(answers("fine"))
          assert.strictEqual((yield* gateway.chat({ ...body, stream })).status, 200, name)
        }
      })
    )
  }

  it.effect("do not change the id of an answer, which is its request id", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(answers("fine"))
      const reply = yield* gateway.chat(body)
      assert.strictEqual(reply.at("id"), `chatcmpl-${reply.headers.get("x-request-id")}`)
    })
  )

  it.effect("name the methods of a route, and are not_found for other routes", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const wrong = [
        ["GET", "/v1/chat/completions", "POST"],
        ["PUT", "/v1/chat/completions?x=1", "POST"],
        ["GET", "/v1/audio/transcriptions", "POST"],
        ["POST", "/v1/models", "GET"],
        ["DELETE", "/v1/models/gpt-4o-mini", "GET"],
        ["POST", "/v1/generations/x", "GET"],
        ["POST", "/health/live", "GET"],
        ["POST", "/health/ready", "GET"],
        ["PUT", "/openapi.json", "GET"],
        ["PUT", "/docs", "GET"]
      ] as const
      for (const [method, path, allowed] of wrong) {
        const reply = yield* gateway.request(method, path)
        assertError(reply, 405, "method_not_allowed", path)
        assert.strictEqual(reply.headers.get("allow"), allowed)
      }
      const unknown = [
        "/",
        "/v1",
        "/v2/chat/completions",
        "/v1/chat/completions/x",
        "/v1/models/a/b",
        "/%",
        "/v1/%2e%2e/"
      ]
      for (const path of unknown) assertError(yield* gateway.request("GET", path), 404, "not_found", path)
      assertError(yield* gateway.request("GET", "/v1/generations/nope"), 404, "not_found")
      const hints: ReadonlyArray<readonly [method: string, path: string, hint: RegExp]> = [
        ["POST", "/chat/completions", /POST \/v1\/chat\/completions.*base URL/],
        ["POST", "/v1/v1/chat/completions", /POST \/v1\/chat\/completions.*base URL/],
        ["GET", "/api/v1/models", /GET \/v1\/models/],
        ["GET", "/models", /GET \/v1\/models/],
        ["POST", "/openai/deployments/gpt-4o/chat/completions?api-version=1", /POST \/v1\/chat\/completions/],
        ["POST", "/v1/completions", /POST \/v1\/chat\/completions/],
        ["POST", "/responses", /POST \/v1\/responses.*base URL/],
        ["GET", "/v1/responses/resp_1", /stores no responses.*POST \/v1\/responses/],
        ["POST", "/v1/responses/compact", /stores no responses/],
        ["POST", "/messages", /POST \/v1\/messages.*base URL/],
        ["POST", "/anthropic/messages", /POST \/v1\/messages/],
        ["POST", "/v1/complete", /POST \/v1\/chat\/completions/],
        ["POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", /POST \/v1\/chat\/completions/],
        ["POST", "/api/chat", /POST \/v1\/chat\/completions/],
        ["POST", "/v1/audio/translations", /POST \/v1\/audio\/transcriptions/],
        ["POST", "/embeddings", /POST \/v1\/embeddings.*base URL/],
        ["POST", "/api/embed", /POST \/v1\/embeddings/],
        ["POST", "/v1/images/generations", /no image generation/],
        ["GET", "/v1/generation?id=x", /GET \/v1\/generations\/\{id\}/],
        ["GET", "/v1/threads/x/runs", /POST \/v1\/chat\/completions/],
        ["GET", "/health", /GET \/health\/live/],
        ["GET", "/", /under \/v1/]
      ]
      for (const [method, path, hint] of hints) {
        const reply = yield* gateway.request(method, path)
        assertError(reply, 404, "not_found", path)
        assert.match(String(reply.at("error.message")), hint, path)
      }
    })
  )

  it.effect("and all other requests leave no prompt and no key in the log", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const lines = yield* gateway.logs
      assert.isAbove(lines.length, 0)
      for (const line of lines) {
        for (const hidden of [secret, operatorKey, "sk-anthropic", gateway.key]) assert.notInclude(line, hidden)
      }
    })
  )
})
