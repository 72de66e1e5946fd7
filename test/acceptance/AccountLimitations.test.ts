import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { as, chunksOf, type Json, receiptOf, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, TestGateway } from "../support/TestGateway.ts"

const unverified = (param: string, purpose: string): Fake.Behaviour =>
  Fake.error(400, {
    message: `Your organization must be verified to ${purpose}.`,
    type: "invalid_request_error",
    param,
    code: "unsupported_value"
  })

/** Answers, unless the request is one that the provider refuses. */
const refusing =
  (isRefused: (received: Fake.Received) => boolean, refusal: Fake.Behaviour): Fake.Behaviour =>
  (response, received) =>
    isRefused(received) ? refusal(response, received) : Fake.answers("Hello to you")(response, received)

const hasSummary = ({ body }: Fake.Received): boolean =>
  (body["reasoning"] as Json | undefined)?.["summary"] !== undefined

const ask = (model: string, stream = false) =>
  Effect.gen(function* () {
    const gateway = yield* TestGateway
    const tenant = yield* gateway.tenant("1")
    const reply = yield* gateway.chat({ model, messages: [user("Hello")], stream }, as(tenant))
    return { reply, tenant }
  })

const textOf = (text: string): string =>
  chunksOf(text)
    .map((chunk) => (chunk["choices"] as ReadonlyArray<Json>)[0]?.["delta"] as Json | undefined)
    .map((delta) => delta?.["content"] ?? "")
    .join("")

const warnings = Effect.map(
  Effect.flatMap(TestGateway, (gateway) => gateway.logs),
  (lines) => lines.filter((line) => /optional extra|no Responses API/.test(line))
)

describeWithFakeProvider("An account that may not have summaries of reasoning", (it) => {
  it.effect("gets its answers without them, is asked for none again, and is logged once", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      provider.script(refusing(hasSummary, unverified("reasoning.summary", "generate reasoning summaries")))
      for (const model of ["gpt-5", "gpt-5", "gpt-5-mini"]) {
        const { reply, tenant } = yield* ask(model)
        assert.strictEqual(reply.status, 200, reply.text)
        assert.strictEqual(reply.at("choices.0.message.content"), "Hello to you")
        const attempts = (yield* receiptOf(reply.at("id"), tenant)).at("attempts") as ReadonlyArray<Json>
        assert.deepStrictEqual(
          attempts.map(({ outcome }) => outcome),
          ["answered"]
        )
      }
      assert.deepStrictEqual(provider.received.map(hasSummary), [true, false, false, false])
      assert.lengthOf(yield* warnings, 1)
    })
  )
})

describeWithFakeProvider("An account that may not stream a model", (it) => {
  it.effect("gets streams that are made of plain answers, and streams of the other models", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const isRefused = ({ body }: Fake.Received) => body["stream"] === true && body["model"] === "gpt-5"
      provider.script(refusing(isRefused, unverified("stream", "stream this model")))
      for (const model of ["gpt-5", "gpt-5", "gpt-5-mini"]) {
        const { reply } = yield* ask(model, true)
        assert.strictEqual(reply.status, 200, reply.text)
        assert.strictEqual(textOf(reply.text), "Hello to you")
      }
      assert.deepStrictEqual(
        provider.received.map(({ body }) => body["stream"]),
        [true, false, false, true]
      )
    })
  )
})

describeWithFakeProvider("A refusal that stays without the extra", (it) => {
  it.effect("is not remembered, and is reported", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const message = "Tool `reasoning summary` is odd"
      provider.script(Fake.error(400, { message, type: "invalid_request_error" }))
      for (const _ of [1, 2]) {
        const { reply } = yield* ask("gpt-5")
        assert.strictEqual(reply.status, 400)
        assert.strictEqual(reply.at("error.message"), message)
      }
      assert.deepStrictEqual(provider.received.map(hasSummary), [true, false, true, false])
      assert.lengthOf(yield* warnings, 0)
    })
  )
})

describeWithFakeProvider("A server without the Responses API behind OPENAI_BASE_URL", (it) => {
  it.effect("is found out once and asked by chat completions, plain and streamed", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const isResponses = ({ path }: Fake.Received) => path.endsWith("/responses")
      provider.script(refusing(isResponses, Fake.reply(404, { detail: "Not Found" })))
      const first = yield* ask("gpt-5")
      assert.strictEqual(first.reply.at("choices.0.message.content"), "Hello to you")
      const second = yield* ask("gpt-5-mini", true)
      assert.strictEqual(textOf(second.reply.text), "Hello to you")
      assert.deepStrictEqual(
        provider.received.map(({ path }) => path),
        ["/v1/responses", "/v1/chat/completions", "/v1/chat/completions"]
      )
      assert.lengthOf(yield* warnings, 1)
    })
  )
})

describeWithFakeProvider("A server that does not have the model", (it) => {
  it.effect("is not taken for one without the Responses API", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      provider.script(Fake.error(404, { message: "The model does not exist", code: "model_not_found" }))
      const { reply } = yield* ask("gpt-5")
      assert.strictEqual(reply.status, 500)
      assert.deepStrictEqual(
        provider.received.map(({ path }) => path),
        ["/v1/responses"]
      )
    })
  )
})
