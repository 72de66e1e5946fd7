import { assert, describe, it } from "@effect/vitest"
import { Duration, Result, Schema } from "effect"

import type { JsonObject } from "../../../../src/domain/JsonObject.ts"
import { none } from "../../../../src/domain/Usage.ts"
import { gemini } from "../../../../src/providers/protocols/gemini/Gemini.ts"
import { Damage, pieces, readDamaged, Sizes, ToolArguments } from "../fragments.ts"
import { callOf, completed, decoded, failing, failureTag, outcome, streamed, thinker } from "../wire.ts"

const call = callOf({ dialect: "generic", model: thinker() })
const chunk = (parts: ReadonlyArray<JsonObject>, finishReason?: string, more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: "model", parts }, ...(finishReason !== undefined && { finishReason }), index: 0 }],
  responseId: "r1",
  ...more
})
const calling = (name: string, args?: JsonObject): JsonObject => ({ functionCall: { name, ...(args && { args }) } })

/** One chunk read as a plain response, as a stream, and as the second of a list of chunks. */
const allReadings = (body: JsonObject) => [
  decoded(gemini, body, call),
  streamed(gemini, [body], call),
  decoded(gemini, [chunk([]), body], call)
]

it("reads the finish reason by one table", () => {
  const cases: ReadonlyArray<readonly [string | undefined, ReadonlyArray<JsonObject>, string]> = [
    ["STOP", [{ text: "a" }], "stop"],
    ["STOP", [], "stop"],
    ["STOP", [calling("f")], "tool_calls"],
    ["MAX_TOKENS", [], "length"],
    ["CONTINUATION", [{ text: "a" }], "length"],
    ["SAFETY", [], "content_filter"],
    ["RECITATION", [{ text: "a" }], "content_filter"],
    ["BLOCKLIST", [], "content_filter"],
    ["PROHIBITED_CONTENT", [], "content_filter"],
    ["SPII", [], "content_filter"],
    ["IMAGE_SAFETY", [], "content_filter"],
    ["IMAGE_PROHIBITED_CONTENT", [], "content_filter"],
    ["IMAGE_RECITATION", [], "content_filter"],
    ["MALFORMED_FUNCTION_CALL", [], "broken"],
    ["UNEXPECTED_TOOL_CALL", [], "broken"],
    ["TOO_MANY_TOOL_CALLS", [], "broken"],
    ["MALFORMED_RESPONSE", [], "broken"],
    ["OTHER", [], "broken"],
    ["NO_IMAGE", [], "broken"],
    ["FINISH_REASON_UNSPECIFIED", [], "broken"],
    ["NEW_REASON", [{ text: "a" }], "stop"],
    ["MODEL_ARMOR_BLOCKED", [{ text: "a" }], "content_filter"],
    ["INTERNAL_ERROR", [{ text: "a" }], "broken"],
    ["LANGUAGE", [], "Unsupported"],
    [undefined, [{ text: "a" }], "broken"]
  ]
  for (const [reason, parts, expected] of cases)
    for (const result of allReadings(chunk(parts, reason)))
      assert.strictEqual(outcome(result), expected, reason ?? "none")
})

it("accepts answers without content, and prompts that were blocked", () => {
  for (const [body, usage] of [
    [{ candidates: [{ content: {}, finishReason: "SAFETY" }] }, undefined],
    [{ candidates: [{ finishReason: "SAFETY" }] }, undefined],
    // A prompt that is blocked before it is read uses nothing, which is not the same as an unknown usage.
    [{ promptFeedback: { blockReason: "MODEL_ARMOR" }, usageMetadata: { trafficType: "ON_DEMAND" } }, none]
  ] as const) {
    for (const result of allReadings(body)) {
      assert.deepInclude(completed(result), { content: "", finishReason: "content_filter", usage })
    }
  }
})

it("numbers only calls, gives {} for no arguments, and replaces ids that are missing or repeated", () => {
  const parts = [
    { functionCall: { name: "f", id: "same" } },
    { functionCall: { name: "g", id: "same", args: { x: [1] } } },
    { inlineData: { mimeType: "image/png", data: "AA" } },
    calling("h", {})
  ]
  for (const result of [
    decoded(gemini, chunk(parts, "STOP"), call),
    streamed(gemini, [...parts.map((part) => chunk([part])), chunk([{ text: "" }], "STOP"), "[DONE]"], call)
  ]) {
    const { finishReason, toolCalls } = completed(result)
    assert.strictEqual(finishReason, "tool_calls")
    assert.deepStrictEqual(
      toolCalls.map((tool) => [tool.name, tool.arguments]),
      [
        ["f", "{}"],
        ["g", `{"x":[1]}`],
        ["h", "{}"]
      ]
    )
    assert.strictEqual(new Set(toolCalls.map(({ id }) => id)).size, 3)
  }
})

it("adds thoughts to candidates, takes cached tokens out of the prompt, and keeps only the last counts", () => {
  const usageMetadata = {
    promptTokenCount: 100,
    toolUsePromptTokenCount: 10,
    cachedContentTokenCount: 40,
    candidatesTokenCount: 7,
    thoughtsTokenCount: 5,
    totalTokenCount: 122,
    promptTokensDetails: [
      { modality: "TEXT", tokenCount: 60 },
      { modality: "AUDIO", tokenCount: 40 }
    ],
    cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 15 }]
  }
  const expected = { ...none, input: 45, cacheRead: 40, audioInput: 25, output: 12, reasoning: 5 }
  const first = chunk([{ text: "a" }], undefined, { usageMetadata: { ...usageMetadata, candidatesTokenCount: 1 } })
  const last = chunk([{ text: "b" }], "STOP", { usageMetadata })
  assert.deepStrictEqual(completed(streamed(gemini, [first, last], call)).usage, expected)
  assert.deepStrictEqual(completed(decoded(gemini, last, call)).usage, expected)
  const silent = chunk([], "MAX_TOKENS", { usageMetadata: { promptTokenCount: 3, thoughtsTokenCount: 9 } })
  assert.deepStrictEqual(completed(decoded(gemini, silent, call)).usage, { ...none, input: 3, output: 9, reasoning: 9 })
})

describe("an error", () => {
  const error = (code: number, status: string, message: string, ...details: ReadonlyArray<JsonObject>): JsonObject => ({
    error: { code, status, message, details }
  })
  const quota = (quotaId: string): JsonObject => ({ "@type": "QuotaFailure", violations: [{ quotaId }] })
  const retry = (retryDelay: string): JsonObject => ({ "@type": "RetryInfo", retryDelay })
  const exceeded = "You exceeded your current quota. Quota exceeded for metric: x, limit: 20. Please retry in 9s."
  const tooLong = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
  const cases: ReadonlyArray<readonly [JsonObject, string]> = [
    [error(400, "INVALID_ARGUMENT", "Please use a valid role: user, model."), "Invalid"],
    [error(400, "INVALID_ARGUMENT", "API key not valid.", { reason: "API_KEY_INVALID" }), "Credentials"],
    [error(400, "INVALID_ARGUMENT", "Renew it.", { reason: "API_KEY_INVALID" }), "Credentials"],
    [error(400, "FAILED_PRECONDITION", "User location is not supported for the API use."), "Credentials"],
    [error(400, "INVALID_ARGUMENT", tooLong), "ContextTooLong"],
    [error(400, "INVALID_ARGUMENT", "Penalty is not enabled for this model"), "Unsupported"],
    [error(400, "INVALID_ARGUMENT", "Corrupted thought signature."), "Unsupported"],
    [error(401, "UNAUTHENTICATED", "no"), "Credentials"],
    [error(403, "PERMISSION_DENIED", "no"), "Credentials"],
    [error(404, "NOT_FOUND", "models/x is not found"), "Unsupported"],
    [error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."), "rate_limited"],
    [error(429, "RESOURCE_EXHAUSTED", exceeded, quota("InputTokensPerModelPerMinute")), "rate_limited"],
    [error(429, "RESOURCE_EXHAUSTED", exceeded, quota("RequestsPerDayPerModel"), retry("9s")), "Credentials"],
    [error(429, "RESOURCE_EXHAUSTED", "Quota exceeded for metric: x, limit: 0"), "Credentials"],
    [error(500, "INTERNAL", "An internal error has occurred."), "server"],
    [error(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), "overloaded"],
    [error(504, "DEADLINE_EXCEEDED", "x"), "timeout"]
  ]

  it.each(cases)("%j", (body, expected) => {
    const { code } = body["error"] as { readonly code: number }
    const respond = (json: unknown) => gemini.failure({ status: code, headers: {}, body: JSON.stringify(json) })
    assert.strictEqual(failureTag(respond(body)), expected)
    assert.strictEqual(failureTag(respond([body])), expected)
    assert.strictEqual(respond(body).status, code)
    for (const result of allReadings(body)) assert.strictEqual(failing(result), expected)
    const event = gemini.reader(call).step({ event: "error", data: JSON.stringify(body) })
    assert.strictEqual(failing(event), expected)
  })

  it("is waited for as long as its details say, or else its text", () => {
    const waits = ["48.5s", "soon"].map((delay) => {
      const body = error(429, "RESOURCE_EXHAUSTED", exceeded, quota("PerMinute"), retry(delay))
      const { reason } = gemini.failure({ status: 429, headers: {}, body: JSON.stringify(body) })
      return reason._tag === "Transient" && reason.retryAfter && Duration.toMillis(reason.retryAfter)
    })
    assert.deepStrictEqual(waits, [48_500, 9_000])
  })

  it("falls under the general rules without Google's own body", () => {
    const kind = (status: number, body: string) => failureTag(gemini.failure({ status, headers: {}, body }))
    assert.strictEqual(kind(404, "<!DOCTYPE html><title>Error 404</title>"), "server")
    assert.strictEqual(kind(429, ""), "rate_limited")
    assert.strictEqual(kind(503, `{"error":"busy"}`), "overloaded")
  })
})

it("fails as broken on bodies and chunks that are not answers", () => {
  for (const body of [
    null,
    "x",
    [],
    [null],
    {},
    { candidates: [] },
    { candidates: "x" },
    chunk([{ functionCall: {} }], "STOP")
  ])
    assert.strictEqual(failing(decoded(gemini, body, call)), "broken")
  for (const frame of ["{", "[]", "null", `"x"`])
    assert.strictEqual(failing(streamed(gemini, [chunk([{ text: "a" }], "STOP"), frame], call)), "broken")
})

const Signature = Schema.Literals(["c2ln", "bG9uZ2Vy"])
const Part = Schema.Union([
  Schema.Struct({ text: Schema.String }),
  Schema.Struct({ text: Schema.String, thought: Schema.Literal(true) }),
  Schema.Struct({ text: Schema.String, thoughtSignature: Signature }),
  Schema.Struct({ text: Schema.String, thought: Schema.Literal(true), thoughtSignature: Signature }),
  Schema.Struct({
    functionCall: Schema.Struct({ name: Schema.NonEmptyString, args: ToolArguments })
  }),
  Schema.Struct({ functionCall: Schema.Struct({ name: Schema.NonEmptyString }), thoughtSignature: Signature })
])
const Parts = Schema.Array(Part).check(Schema.isMaxLength(8))
type Parts = typeof Parts.Type

describe("generated answers", () => {
  const usageMetadata = { promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 5 }
  const plain = (parts: Parts): JsonObject => chunk(parts, "STOP", { usageMetadata })
  /**
   * Texts without a signature come in pieces, calls and signed parts whole. The finish reason comes with the last part
   * or alone.
   */
  const stream = (parts: Parts, sizes: ReadonlyArray<number>): ReadonlyArray<JsonObject> => {
    const cut = parts.flatMap((part): ReadonlyArray<JsonObject> =>
      "text" in part && !("thoughtSignature" in part)
        ? pieces(part.text, sizes).map((text) => ({ ...part, text }))
        : [part]
    )
    const usage = { usageMetadata: { ...usageMetadata, candidatesTokenCount: 1 } }
    const [last = { text: "" }] = (sizes[0] ?? 1) % 2 === 0 ? cut.slice(-1) : []
    const before = (sizes[0] ?? 1) % 2 === 0 ? cut.slice(0, -1) : cut
    return [...before.map((part) => chunk([part], undefined, usage)), chunk([last], "STOP", { usageMetadata })]
  }

  it.prop("are the same completion plain, as a list and in any fragmentation", { Parts, Sizes }, (made) => {
    const whole = completed(decoded(gemini, plain(made.Parts), call))
    const frames = stream(made.Parts, made.Sizes)
    assert.deepStrictEqual(completed(streamed(gemini, frames, call)), whole)
    assert.deepStrictEqual(completed(decoded(gemini, frames, call)), whole)
    const texts = (thought: boolean) =>
      made.Parts.map((part) => ("text" in part && "thought" in part === thought ? part.text : "")).join("")
    assert.deepInclude(whole, { content: texts(false), reasoning: texts(true) })
    assert.deepStrictEqual(
      whole.toolCalls.map((tool): unknown => [tool.name, JSON.parse(tool.arguments)]),
      made.Parts.flatMap((part) =>
        "functionCall" in part
          ? [[part.functionCall.name, "args" in part.functionCall ? part.functionCall.args : {}]]
          : []
      )
    )
    assert.strictEqual(whole.finishReason, whole.toolCalls.length > 0 ? "tool_calls" : "stop")
    assert.deepInclude(whole.usage, { input: 6, cacheRead: 4, output: 5 })
    const signed = made.Parts.filter((part) => "thoughtSignature" in part)
    assert.strictEqual(
      whole.reasoningDetails.filter((detail) => detail["signature"] ?? detail["data"]).length,
      signed.length
    )
  })

  it.prop("are broken when cut anywhere before their end", { Parts, Sizes, at: Schema.Int }, (made) => {
    const frames = stream(made.Parts, made.Sizes)
    const result = streamed(gemini, frames.slice(0, Math.abs(made.at) % frames.length), call)
    assert.strictEqual(Result.isFailure(result) ? failureTag(result.failure) : "success", "broken")
  })

  it.prop("never make reading throw, whatever value is wrong", { Parts, Sizes, Damage }, (made) => {
    const frames = stream(made.Parts, made.Sizes).map((frame) => ["", frame] as const)
    const error = {
      error: { code: 429, message: "m", details: [{ violations: [{ quotaId: "x" }], retryDelay: "1s" }] }
    }
    readDamaged(gemini, call, { plain: plain(made.Parts), frames, error: { status: 429, body: error } }, made.Damage)
  })
})
