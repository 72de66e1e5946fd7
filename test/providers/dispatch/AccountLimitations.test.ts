import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"

import { isPathMissing, makeAccountLimitations } from "../../../src/providers/dispatch/AccountLimitations.ts"
import { classifyError, classifyResponse } from "../../../src/providers/protocols/shared/errors/ErrorClassifier.ts"
import { refusedExtra, withoutExtras } from "../../../src/providers/protocols/shared/request/OptionalExtras.ts"
import { targetOf } from "./FakeTargets.ts"

const failureOf = (status: number, body: unknown) =>
  classifyResponse({ status, headers: {}, body: typeof body === "string" ? body : JSON.stringify(body) })

const reported = (message: string, more: object = {}) => ({ error: { message, ...more } })

describe("Limitations of an account", () => {
  it.effect("hold for all its endpoints or for one, and are forgotten after an hour", () =>
    Effect.gen(function* () {
      const limitations = makeAccountLimitations()
      const target = targetOf("a")
      const sibling = { ...target, endpoint: { ...targetOf("b").endpoint, provider: target.endpoint.provider } }
      yield* limitations.remember(target, "reasoning summary")
      yield* limitations.remember(target, "stream")
      assert.sameMembers([...(yield* limitations.known(target))], ["reasoning summary", "stream"])
      assert.sameMembers([...(yield* limitations.known(sibling))], ["reasoning summary"])
      assert.sameMembers([...(yield* limitations.known(targetOf("c")))], [])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* limitations.known(target)).size, 0)
    })
  )

  it("tell a server without a path from one without a model", () => {
    const missing = [
      failureOf(404, { detail: "Not Found" }),
      failureOf(404, "404 page not found"),
      failureOf(404, ""),
      failureOf(404, "<html><body>nginx</body></html>"),
      failureOf(404, reported("File Not Found", { code: 404, type: "not_found_error" })),
      failureOf(404, reported("Invalid URL (POST /v1/responses)", { type: "invalid_request_error" })),
      failureOf(404, reported("Unknown request URL: POST /openai/v1/responses. Please check the URL for typos")),
      failureOf(404, "<!DOCTYPE html><pre>Cannot POST /v1/responses</pre>"),
      failureOf(405, { detail: "Method Not Allowed" }),
      failureOf(501, ""),
      classifyError({ error: "Unexpected endpoint or method. (POST /v1/responses)" })
    ]
    for (const failure of missing) assert.isTrue(isPathMissing(failure), failure.message)
    const others = [
      failureOf(404, reported("The model `x` does not exist", { code: "model_not_found" })),
      failureOf(404, reported("No", { code: "DeploymentNotFound" })),
      failureOf(404, reported("Item with id 'rs_0' not found. Items are not persisted when `store` is set to false.")),
      failureOf(401, reported("Not Found")),
      failureOf(400, reported("Invalid value")),
      failureOf(503, "")
    ]
    for (const failure of others) assert.isFalse(isPathMissing(failure), failure.message)
  })

  const body = {
    reasoning: { effort: "low", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    store: false,
    stream: true,
    prompt_cache_key: "k",
    prompt_cache_retention: "24h",
    stream_options: { include_usage: true },
    thinking: { type: "adaptive", display: "summarized", block_binding: {} }
  }

  const refusals: ReadonlyArray<readonly [number, unknown, string | undefined]> = [
    [400, reported("No.", { param: "reasoning.summary", code: "unsupported_value" }), "reasoning summary"],
    [400, reported("Your organization must be verified to generate reasoning summaries."), "reasoning summary"],
    [400, reported("Your organization must be verified to stream this model.", { param: "stream" }), "stream"],
    [400, reported("Encrypted content is not supported with this model."), "encrypted reasoning"],
    [400, reported("Unrecognized request argument supplied: store"), "no storage"],
    [400, reported("property 'store' is unsupported"), "no storage"],
    [422, { detail: [{ loc: ["body", "store"], msg: "Extra inputs are not permitted" }] }, "no storage"],
    [400, reported("prompt_cache_retention is not supported for this model"), "cache retention"],
    [400, reported("Unknown parameter: 'prompt_cache_key'.", { code: "unknown_parameter" }), "cache key"],
    [422, { detail: [{ loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" }] }, "stream usage"],
    [400, reported("thinking.adaptive.block_binding: Extra inputs are not permitted"), "thinking binding"],
    [400, reported("thinking.adaptive.display: Extra inputs are not permitted"), "thinking display"],
    [400, reported("tool_stream is not supported"), undefined],
    [429, reported("Rate limit for reasoning summaries"), undefined],
    [500, reported("reasoning.summary"), undefined],
    [400, reported("messages is empty", { param: "messages" }), undefined]
  ]
  for (const [status, error, extra] of refusals)
    it(`are learnt from ${status} ${JSON.stringify(error)}: ${extra}`, () => {
      assert.strictEqual(refusedExtra(failureOf(status, error), body), extra)
    })

  it("leave extras out of a body, and nothing else", () => {
    const { include: _, thinking, ...rest } = body
    const sent = withoutExtras(body, ["encrypted reasoning", "reasoning summary", "thinking binding", "stream"])
    const expected = {
      ...rest,
      reasoning: { effort: "low" },
      thinking: { type: thinking.type, display: thinking.display }
    }
    assert.deepStrictEqual<object>(sent, expected)
    assert.deepStrictEqual<object>(withoutExtras({ reasoning: { summary: "auto" } }, ["reasoning summary"]), {
      reasoning: undefined
    })
  })
})
