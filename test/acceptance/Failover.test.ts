import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { RateLimitError } from "openai"
import { inject } from "vitest"

import { modelId } from "../../src/domain/Ids.ts"
import {
  as,
  at,
  chunksOf,
  costOf,
  type Json,
  priced,
  receiptOf,
  refusal,
  settledBalance,
  singleEndpointModels,
  user
} from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeGateway, describeWithFakeProvider, TestGateway, usd } from "../support/TestGateway.ts"

/** Faults of one endpoint after which another endpoint of the model answers. */
const survivable = [
  "500",
  "503",
  "429",
  "429 retry-after=60",
  "overloaded",
  "quota",
  "401",
  "error-in-200",
  "html",
  "truncated-json",
  "cut"
]

/**
 * A model for each fault, because the circuit breaker of an endpoint that failed may be open. Its second endpoint has a
 * different price.
 */
const overlay = (): string => {
  const file = join(inject("scratch"), `twins-${process.pid}.json`)
  const endpoints = [
    { provider: "openai", price_usd_per_mtok: { input: 1, output: 2 } },
    { provider: "anthropic", price_usd_per_mtok: { input: 3, output: 4 } }
  ]
  const models = survivable.map((_, index) => ({
    id: `twin-${index}`,
    context_window: 8_000,
    max_output: 1_000,
    endpoints
  }))
  writeFileSync(file, JSON.stringify({ models }))
  return file
}

describeGateway(
  "Failover",
  (it) => {
    for (const [index, fault] of survivable.entries())
      it.effect(`answers from the second endpoint at its price after ${fault} at the first`, () =>
        Effect.gen(function* () {
          const gateway = yield* TestGateway
          const model = `twin-${index}`
          const reply = yield* gateway.chat({ model, messages: [user(`[fault:${fault} first] Still there?`)] })
          assert.strictEqual(reply.status, 200, reply.text)
          assert.include(reply.at("choices.0.message.content"), "Still there?")
          assert.strictEqual(reply.at("model"), model)
          const [read, written] = [Number(reply.at("usage.prompt_tokens")), Number(reply.at("usage.completion_tokens"))]
          assert.strictEqual(costOf(JSON.parse(reply.text)), BigInt(read * 3 + written * 4) * 1_000_000n)
          const receipt = yield* receiptOf(reply.at("id"))
          assert.strictEqual(receipt.at("endpoint"), `anthropic/${model}`)
          const attempts = receipt.at("attempts") as ReadonlyArray<Json>
          assert.strictEqual(attempts[0]?.["endpoint"], `openai/${model}`)
          assert.strictEqual(attempts.at(-1)?.["outcome"], "answered")
        })
      )

    for (const stream of [false, true])
      it.effect(
        `goes to the next candidate when the routed model is down, and charges its price (stream: ${stream})`,
        () =>
          Effect.gen(function* () {
            const gateway = yield* TestGateway
            const tenant = yield* gateway.tenant("1", { models: singleEndpointModels })
            const messages = [user(`[fault:503 first] What is the capital of Chile? ${stream}`)]
            const reply = yield* gateway.chat({ messages, stream }, as(tenant))
            assert.strictEqual(reply.status, 200)
            const answers: ReadonlyArray<Json> = stream ? chunksOf(reply.text) : [JSON.parse(reply.text)]
            const last = answers.at(-1)
            const served = String(last?.["model"])
            for (const answer of answers) assert.strictEqual(answer["model"], served)
            assert.strictEqual(at(answers[0], "svc", "routed_model"), served)
            const receipt = yield* receiptOf(last?.["id"], tenant)
            const down = receipt.at("attempts.0.model")
            assert.notStrictEqual(down, served)
            assert.strictEqual(receipt.at("attempts.0.status"), 503)
            assert.strictEqual(receipt.at("routing.candidates.0.model"), down)
            assert.strictEqual(receipt.at("routing.candidates.1.model"), served)
            const count = (name: string) => Number(at(last, "usage", name))
            const tokens = { input: count("prompt_tokens"), output: count("completion_tokens") }
            assert.strictEqual(costOf(last), yield* priced(served, tokens))
          })
      )

    it.effect("retries the same endpoint when it is the only one", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const reply = yield* gateway.chat({ model: "gpt-4.1", messages: [user("[fault:500 once] Again?")] })
        assert.strictEqual(reply.status, 200)
        const attempts = (yield* receiptOf(reply.at("id"))).at("attempts") as ReadonlyArray<Json>
        assert.deepStrictEqual(
          attempts.map(({ outcome, status }) => [outcome, status]),
          [
            ["Transient", 500],
            ["answered", null]
          ]
        )
      })
    )
  },
  { CATALOG_FILE: overlay() }
)

/** Refusals of a provider, and the error that the client of a direct call gets. */
const refusals: ReadonlyArray<{
  readonly model: string
  readonly behaviour: Fake.Behaviour
  readonly status: number
  readonly code: string
  readonly message: RegExp
  readonly calls: number
}> = [
  {
    model: "gpt-4o",
    behaviour: Fake.error(400, { message: "messages[0] is odd", type: "invalid_request_error" }),
    status: 400,
    code: "invalid_request",
    message: /messages\[0\] is odd/,
    calls: 1
  },
  {
    model: "gpt-5",
    behaviour: Fake.error(401, { message: "Incorrect API key sk-secret", code: "invalid_api_key" }),
    status: 500,
    code: "internal_error",
    message: /openai\/gpt-5 \(401\)/,
    calls: 1
  },
  {
    model: "gpt-5-mini",
    behaviour: Fake.error(402, { message: "Payment required" }),
    status: 500,
    code: "internal_error",
    message: /openai\/gpt-5-mini \(402\)/,
    calls: 1
  },
  {
    model: "gpt-5-nano",
    behaviour: Fake.error(429, { message: "You exceeded your current quota", code: "insufficient_quota" }),
    status: 500,
    code: "internal_error",
    message: /openai\/gpt-5-nano \(429\)/,
    calls: 1
  },
  {
    model: "gpt-4.1-nano",
    behaviour: Fake.error(403, { message: "No access" }),
    status: 500,
    code: "internal_error",
    message: /openai\/gpt-4.1-nano \(403\)/,
    calls: 1
  },
  {
    model: "gpt-4.1-mini",
    behaviour: Fake.error(404, { message: "The model does not exist", code: "model_not_found" }),
    status: 500,
    code: "internal_error",
    message: /openai\/gpt-4.1-mini \(404\)/,
    calls: 1
  },
  {
    model: "gpt-4.1",
    behaviour: Fake.error(503, { message: "down" }),
    status: 500,
    code: "internal_error",
    message: /openai\/gpt-4.1 \(503\)/,
    calls: 2
  },
  {
    model: "claude-opus-4-8",
    behaviour: Fake.resets,
    status: 500,
    code: "internal_error",
    message: /anthropic\/claude-opus-4-8/,
    calls: 2
  }
]

describeWithFakeProvider("A provider's refusal", (it) => {
  for (const { behaviour, calls, code, message, model, status } of refusals)
    it.effect(`of ${model} (${message.source}) is ${status} ${code}, and costs nothing`, () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        provider.script(behaviour)
        const reply = yield* gateway.chat({ model, messages: [user("Hello")] }, as(tenant))
        assert.strictEqual(reply.status, status)
        assert.deepStrictEqual(Object.keys(JSON.parse(reply.text)), ["error"])
        assert.strictEqual(reply.at("error.code"), code)
        assert.match(String(reply.at("error.message")), message)
        assert.notInclude(reply.text, "sk-secret")
        assert.lengthOf(provider.received, calls)
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
        const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
        assert.strictEqual(receipt.at("outcome"), code)
        assert.lengthOf(receipt.at("attempts") as ReadonlyArray<Json>, calls)
      })
    )

  it.effect("is 429 with the shortest retry-after when every target is rate-limited", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      const models = ["o3", "o4-mini"].map((id) => modelId(id))
      const tenant = yield* gateway.tenant("1", { models })
      for (const stream of [false, true]) {
        provider.script(
          Fake.error(429, { code: "rate_limit_exceeded" }, { "retry-after": "90" }),
          Fake.error(429, { code: "rate_limit_exceeded" }, { "retry-after": "45" })
        )
        const error = yield* refusal(() =>
          tenant.openai.chat.completions.create({ model: "svc-auto", messages: [user("Hi")], stream })
        )
        assert.instanceOf(error, RateLimitError)
        assert.strictEqual(error.code, "rate_limit_exceeded")
        const wait = Number(error.headers?.get("retry-after"))
        // The second time the waits still run, so that nobody is asked and the rest of the shortest is the answer.
        if (stream) assert.isTrue(wait >= 1 && wait <= 45, `retry-after: ${wait}`)
        else assert.strictEqual(wait, 45)
        assert.lengthOf(provider.received, stream ? 0 : 2)
      }
      assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
    })
  )

  for (const [status, ...models] of [
    [401, "gpt-5.1", "claude-sonnet-4-6"],
    [402, "gpt-5.2", "claude-opus-4-6"]
  ] as const)
    it.effect(`of the operator's account with ${status} fails over to another model when the request is routed`, () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1", { models: models.map((id) => modelId(id)) })
        provider.script(Fake.error(status), Fake.answers("Here."))
        const reply = yield* gateway.chat({ messages: [user("Hello")] }, as(tenant))
        assert.strictEqual(reply.status, 200)
        const receipt = yield* receiptOf(reply.at("id"), tenant)
        const outcomes = (receipt.at("attempts") as ReadonlyArray<Json>).map(({ outcome }) => outcome)
        assert.deepStrictEqual(outcomes, ["Credentials", "answered"])
        // The account's circuit breaker is open now, so the next request does not try it.
        provider.script()
        const next = yield* gateway.chat({ messages: [user("Hello")] }, as(tenant))
        assert.strictEqual(next.at("model"), reply.at("model"))
        assert.lengthOf(provider.received, 1)
      })
    )

  it.effect("of the request itself is reported at once, without a failover", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(Fake.error(400, { message: "bad schema", type: "invalid_request_error" }))
      const reply = yield* gateway.chat({ messages: [user("Hello")] })
      assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "invalid_request"])
      assert.lengthOf(provider.received, 1)
    })
  )

  it.effect("of a parameter is not the client's while another target is left", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      const objections: ReadonlyArray<Json> = [
        { message: "Not like this", type: "invalid_request_error", param: "reasoning_effort" },
        { message: "temperature: outside of what we like", type: "invalid_request_error" },
        { message: "At most 1 image(s) may be provided in one request.", type: "BadRequestError", code: 400 }
      ]
      for (const objection of objections) {
        provider.script(Fake.error(400, objection), Fake.answers("Here."))
        const reply = yield* gateway.chat({ messages: [user("Hello")] })
        assert.strictEqual(reply.status, 200, JSON.stringify(objection))
        assert.lengthOf(provider.received, 2)
      }
      provider.script(Fake.error(400, objections[0] ?? {}))
      const alone = yield* gateway.chat({ model: "gpt-5-mini", messages: [user("Hello")] })
      assert.deepStrictEqual([alone.status, alone.at("error.code")], [400, "invalid_request"])
      assert.include(String(alone.at("error.message")), "Not like this")
    })
  )

  it.effect("by every provider names every attempt, within the limit of attempts", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const gateway = yield* TestGateway
      provider.script(Fake.error(500))
      const reply = yield* gateway.chat({ messages: [user("Hello")], reasoning_effort: "none" })
      assert.deepStrictEqual([reply.status, reply.at("error.code")], [500, "internal_error"])
      const receipt = yield* receiptOf(reply.headers.get("x-request-id"))
      const attempts = (receipt.at("attempts") as ReadonlyArray<Json>).filter(({ outcome }) => outcome !== "skipped")
      assert.lengthOf(attempts, 8)
      assert.lengthOf(provider.received, 8)
      for (const attempt of attempts) assert.include(String(reply.at("error.message")), String(at(attempt, "endpoint")))
    })
  )
})
