import { assert, it } from "@effect/vitest"
import { Duration } from "effect"

import { classifyResponse } from "../../../../../src/providers/protocols/shared/errors/ErrorClassifier.ts"
import { errorCodes, errorCodesByProvider } from "../../../../../src/providers/protocols/shared/errors/ErrorCodes.ts"
import { failureTag } from "../../wire.ts"

const failure = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  classifyResponse({ status, headers, body: typeof body === "string" ? body : JSON.stringify(body) })

it("classifies the errors of every vendor by code, text and status", () => {
  const reported = (message: string, more: object = {}) => ({ error: { message, ...more } })
  const cases: ReadonlyArray<readonly [number, unknown, string]> = [
    [400, reported("Unknown role", { type: "invalid_request_error" }), "Invalid"],
    [400, reported("Invalid schema for function 'billing_timeout_quota'"), "Invalid"],
    [400, reported("x", { code: "context_length_exceeded" }), "ContextTooLong"],
    [400, reported("prompt is too long: 9 tokens > 8 maximum", { type: "invalid_request_error" }), "ContextTooLong"],
    [400, reported("Range of input length should be [1, 8]"), "ContextTooLong"],
    [400, reported("Prompt is too large for model with 8 maximum context length"), "ContextTooLong"],
    [400, "", "ContextTooLong"],
    [413, reported("Request too large", { code: "rate_limit_exceeded" }), "ContextTooLong"],
    [429, reported("Request too large for m on tokens per min (TPM)", { code: null }), "ContextTooLong"],
    [
      400,
      reported("'temperature' is not supported with this model.", { code: "unsupported_parameter" }),
      "Unsupported"
    ],
    [404, reported("no such model"), "Unsupported"],
    [401, { detail: "Unauthorized" }, "Credentials"],
    [402, reported("Insufficient Balance"), "Credentials"],
    [429, reported("x", { type: "insufficient_quota" }), "Credentials"],
    [
      429,
      { type: "error", error: { type: "rate_limit_error", details: { error_code: "enforced_spend_limit_reached" } } },
      "Credentials"
    ],
    [400, reported("Your credit balance is too low to access the API."), "Credentials"],
    [400, { code: "Client error", error: "Incorrect API key provided: sk-abcdefgh12345678." }, "Credentials"],
    [400, reported("x", { code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } }), "Refused"],
    [403, reported("flagged", { code: 403, metadata: { reasons: ["violence"] } }), "Refused"],
    [400, reported("x", { code: "1301" }), "Refused"],
    [400, reported("x", { code: "1305" }), "overloaded"],
    [429, reported("x", { code: "1308" }), "Credentials"],
    [400, reported("x", { code: "tool_use_failed" }), "broken"],
    [400, reported("The server is currently experiencing high demand"), "overloaded"],
    [429, { message: "Requests rate limit exceeded" }, "rate_limited"],
    [429, { object: "error", message: "Service tier capacity exceeded for this model.", code: "3505" }, "overloaded"],
    [422, { detail: [{ loc: ["body", "user"], msg: "Extra inputs are not permitted" }] }, "Unsupported"],
    [409, reported("conflict"), "server"],
    [498, reported("x"), "overloaded"],
    [500, "not json", "server"],
    [
      502,
      reported("Provider returned error", { metadata: { raw: `{"error":{"type":"overloaded_error"}}` } }),
      "overloaded"
    ],
    [504, reported("x"), "timeout"],
    [529, reported("x"), "overloaded"],
    [403, "<!DOCTYPE html><html><body>cf</body></html>", "server"],
    [429, [{ error: { message: "later", status: "RESOURCE_EXHAUSTED" } }], "rate_limited"],
    [500, null, "server"],
    [500, { error: { message: { nested: 1 } } }, "server"]
  ]
  for (const [status, body, expected] of cases)
    assert.strictEqual(failureTag(failure(status, body)), expected, `${status} ${JSON.stringify(body)}`)
})

it("takes an objection to a parameter, in any words, for a limit of this target", () => {
  const cases: ReadonlyArray<readonly [string, string | null, string]> = [
    ["Not like this", "reasoning_effort", "Unsupported"],
    ["Not like this", "response_format.json_schema.schema", "Unsupported"],
    ["Not like this", "store", "Unsupported"],
    ["Not like this", "messages[0].content", "Invalid"],
    ["Not like this", "tools[0].function.name", "Invalid"],
    ["Not like this", null, "Invalid"],
    ["temperature: outside of what we like", null, "Unsupported"],
    ["tool_choice: we would rather choose ourselves", null, "Unsupported"],
    ["The thinking budget of 12 is bad", null, "Unsupported"],
    ["messages.3: a tool named get_temperature has no result", null, "Invalid"],
    ["'messages' must contain the word 'json' to use 'response_format' of type 'json_object'.", null, "Invalid"]
  ]
  for (const [message, param, expected] of cases)
    for (const status of [400, 422]) {
      const body = { error: { message, param, type: "invalid_request_error" } }
      assert.strictEqual(failureTag(failure(status, body)), expected, `${status} ${message} ${param}`)
    }
})

it("believes the status of a web page only where it cannot be about the request or the model", () => {
  const page = "<!DOCTYPE html><html><head><title>Not here</title></head></html>"
  const cases = new Map([
    [400, "server"],
    [401, "Credentials"],
    [403, "server"],
    [404, "server"],
    [413, "ContextTooLong"],
    [429, "rate_limited"],
    [502, "server"],
    [503, "overloaded"],
    [504, "timeout"]
  ])
  for (const [status, expected] of cases) assert.strictEqual(failureTag(failure(status, page)), expected, `${status}`)
  const { reason } = failure(429, page, { "retry-after": "30" })
  assert.isTrue(reason._tag === "Transient" && Duration.toMillis(reason.retryAfter ?? Duration.zero) === 30_000)
})

it("gives every code one meaning, whichever provider sends it", () => {
  const codes = Object.values(errorCodesByProvider).flatMap((byKind) => Object.values(byKind).flat())
  assert.strictEqual(codes.length, errorCodes.size)
})

it("follows a provider that says whether to retry", () => {
  assert.strictEqual(failureTag(failure(400, "odd", { "x-should-retry": "true" })), "server")
  assert.strictEqual(failureTag(failure(429, "odd", { "x-should-retry": "false" })), "Credentials")
})

it("waits as long as the headers or the text say", () => {
  const date = "Fri, 20 Nov 2026 10:00:00 GMT"
  const cases: ReadonlyArray<readonly [Record<string, string>, string, number | undefined]> = [
    [{ "retry-after-ms": "250", "retry-after": "9" }, "", 250],
    [{ "retry-after": "1.5" }, "", 1_500],
    [{ "retry-after": "Fri, 20 Nov 2026 10:00:07 GMT", date }, "", 7_000],
    [{ "retry-after": "Fri, 20 Nov 2026 10:00:07 GMT" }, "", undefined],
    [{ "retry-after": "soon" }, "", undefined],
    [{ "retry-after": "soon" }, "Please try again in 2s.", 2_000],
    [{ "retry-after": "Fri, 20 Nov 2026 10:00:07 GMT" }, "Please try again in 2s.", 2_000],
    [{ "retry-after": "-5", date }, "Please try again in 2s.", 2_000],
    [{ "retry-after-ms": "soon", "retry-after": "2" }, "", 2_000],
    [{}, "Rate limit reached. Please try again in 494ms. See the docs.", 494],
    [{}, "Please try again in 1m2.5s", 62_500],
    [{}, "Try again in 20 seconds", 20_000],
    [{}, "Please try again in a moment", undefined]
  ]
  for (const [headers, message, expected] of cases) {
    const { reason } = failure(429, { error: { message } }, headers)
    const wait = reason._tag === "Transient" ? reason.retryAfter : undefined
    assert.strictEqual(wait && Duration.toMillis(wait), expected, JSON.stringify([headers, message]))
  }
})

it("shows the provider's message in one short line without keys", () => {
  const shown = (text: string): string => failure(401, { error: { message: text } }).message
  const secrets = [
    "sk-proj-abcdEFGH1234",
    "gsk_0123456789abcdef",
    "0123456789abcdef0123456789abcdef",
    "sk-ant-api03-*****xyz"
  ]
  for (const secret of secrets) assert.strictEqual(shown(`Incorrect key: ${secret}`), "Incorrect key: [redacted]")
  assert.strictEqual(shown("a\n\n  b"), "a b")
  assert.strictEqual(shown("word ".repeat(1_000)).length, 500)
  assert.strictEqual(failure(502, "<html>…</html>").message, "The provider answered 502 with a web page.")
})
