/** `POST /v1/embeddings` as its clients see it: inputs, encodings, lengths, models, labels and errors. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { modelId } from "../../src/domain/Ids.ts"
import { as, at, costOf, eventually, priced, receiptOf, refusal, settledBalance, user } from "../support/Chat.ts"
import { embed, embeddingModel, embeddingPath, vectorsIn } from "../support/EmbeddingRequests.ts"
import { parseExposition, sumOf } from "../support/Exposition.ts"
import { describeGateway, type Reply, TestGateway, usd } from "../support/TestGateway.ts"
import { transcribeWith } from "../support/TranscriptionForms.ts"

const secret = "the pelican flies at midnight"

const assertError = (reply: Reply, status: number, code: string, message = /./) => {
  assert.deepStrictEqual([reply.status, reply.at("error.code")], [status, code], reply.text)
  assert.deepStrictEqual(JSON.parse(reply.text), { error: { code, message: reply.at("error.message") } })
  assert.match(String(reply.at("error.message")), message)
  assert.notInclude(reply.text, secret)
}

describeGateway("Embeddings", (it) => {
  it.effect("come for a text and for a list, the same in each encoding, with usage and its cost", () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestGateway).tenant("1")
      const one = yield* embed({ input: "Where is the bridge?" }, as(tenant))
      assert.deepStrictEqual(Object.keys(JSON.parse(one.text)), ["object", "data", "model", "usage", "svc"])
      assert.deepStrictEqual([one.at("object"), one.at("model")], ["list", embeddingModel])
      assert.deepStrictEqual(one.at("svc"), { routed: false, routed_model: null, routing_latency_ms: null })
      assert.lengthOf(vectorsIn(one)[0] ?? [], 1_536)
      const input = ["Where is the bridge?", "How much is the toll?", "Where is the bridge?"]
      const float = yield* embed({ input, encoding_format: "float", user: null }, as(tenant))
      const base64 = yield* embed({ input, encoding_format: "base64" }, as(tenant))
      assert.isString(at(base64.at("data"), 0, "embedding"))
      const [first, second, third] = vectorsIn(float)
      assert.deepStrictEqual(vectorsIn(base64), vectorsIn(float))
      assert.deepStrictEqual([first, third], [vectorsIn(one)[0], first])
      assert.notDeepEqual(second, first)
      // The sandbox counts a token for every four characters.
      assert.deepStrictEqual(
        [float.at("usage.prompt_tokens"), float.at("usage.total_tokens"), costOf(JSON.parse(float.text))],
        [5 + 6 + 5, 16, yield* priced(embeddingModel, { input: 16 })]
      )
      assert.strictEqual(yield* settledBalance(tenant.organization), usd("1") - 37n * 20_000n)
    })
  )

  it.effect("are refused with the choices of chats, which nothing would heed", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [body: object, message: RegExp]> = [
        [{ provider: { zdr: true } }, /^provider is not supported/],
        [{ provider: { only: ["openai"] } }, /^provider is not supported/],
        [{ provider: { nothing: 1 } }, /^provider.nothing is not supported/],
        [{ models: ["text-embedding-3-large"] }, /^models is not supported/],
        [{ svc: { max_cost_usd: "0.01" } }, /max_cost_usd is not supported/],
        [{ svc: { nothing: 1 } }, /^svc.nothing is not supported/]
      ]
      for (const [body, message] of cases)
        assertError(yield* embed({ input: secret, ...body }), 400, "unsupported_parameter", message)
      const harmless = { models: [], provider: {}, svc: { call_name: "x", strict: true }, dimensions: null }
      assert.strictEqual((yield* embed({ input: "Hello", ...harmless })).status, 200)
    })
  )

  it.effect("come for tokens and for lists of tokens, counted exactly", () =>
    Effect.gen(function* () {
      const [flat, nested] = [yield* embed({ input: [10, 20, 30] }), yield* embed({ input: [[10, 20, 30], [0]] })]
      assert.deepStrictEqual([vectorsIn(flat).length, vectorsIn(nested).length], [1, 2])
      assert.deepStrictEqual(vectorsIn(nested)[0], vectorsIn(flat)[0])
      assert.deepStrictEqual([flat.at("usage.prompt_tokens"), nested.at("usage.prompt_tokens")], [3, 4])
      const receipt = yield* receiptOf(nested.headers.get("x-request-id"))
      assert.deepStrictEqual([usd(String(receipt.at("held_usd"))), receipt.at("tokens.input")], [80_000n as never, 4])
    })
  )

  it.effect("have the length that is asked for, where the model can choose it", () =>
    Effect.gen(function* () {
      const short = yield* embed({ input: "Hello", dimensions: 64, encoding_format: "base64" })
      assert.lengthOf(vectorsIn(short)[0] ?? [], 64)
      const usual = yield* embed({ model: "mistral-embed", input: "Hello", dimensions: 1_024 })
      assert.lengthOf(vectorsIn(usual)[0] ?? [], 1_024)
      const message = /^dimensions: cannot be chosen for mistral-embed, whose vectors have 1024$/
      assertError(
        yield* embed({ model: "mistral-embed", input: "a", dimensions: 512 }),
        400,
        "invalid_request",
        message
      )
      const range = /^dimensions: must be from 1 to 1536/
      assertError(yield* embed({ input: "a", dimensions: 1_537 }), 400, "invalid_request", range)
    })
  )

  it.effect("come from every embedding model that is listed, and by names of other services", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const list = yield* gateway.request("GET", "/v1/models")
      const cards = list.at("data") as ReadonlyArray<{ readonly id: string; readonly svc: Record<string, unknown> }>
      const embedding = cards.filter(({ svc }) => svc["kind"] === "embedding")
      assert.isAtLeast(embedding.length, 7)
      assert.deepStrictEqual(cards.slice(-embedding.length), embedding)
      for (const { id, svc } of embedding) {
        const [vector] = vectorsIn(yield* embed({ model: id, input: "Hello" }))
        assert.strictEqual(vector?.length, svc["dimensions"], id)
      }
      const card = yield* gateway.request("GET", `/v1/models/${embeddingModel}`)
      assert.deepStrictEqual(card.at("architecture"), {
        modality: "text->embeddings",
        input_modalities: ["text"],
        output_modalities: ["embeddings"]
      })
      assert.deepStrictEqual(
        [card.at("svc.context_window"), card.at("svc.max_output_tokens"), card.at("svc.min_dimensions")],
        [8_192, undefined, 1]
      )
      const alias = yield* embed({ model: "openai/text-embedding-3-large", input: "Hello" })
      assert.strictEqual(alias.at("model"), "text-embedding-3-large")
    })
  )

  it.effect("belong to embedding models alone, which do nothing else", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const refused = {
        "svc-auto": /svc-auto chooses among models for chats/,
        "gpt-5-mini": /gpt-5-mini does not make embeddings/,
        "whisper-1": /does not make embeddings/,
        nope: /"nope" is not a model/
      }
      for (const [model, message] of Object.entries(refused))
        assertError(yield* embed({ model, input: secret }), 400, "invalid_model", message)
      for (const model of [undefined, null, 7, ""])
        assertError(yield* embed(JSON.stringify({ model, input: secret })), 400, "invalid_model", /^model must be/)
      const chat = yield* gateway.chat({ model: embeddingModel, messages: [user("Hi")] })
      assertError(chat, 400, "invalid_model", /is for \/v1\/embeddings/)
      assertError(yield* transcribeWith({ model: embeddingModel }), 400, "invalid_model", /audio input/)
    })
  )

  it.effect("are refused with the field and the rule, and cost nothing then", () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestGateway).tenant("1")
      const rows: ReadonlyArray<readonly [body: object, message: RegExp]> = [
        [{}, /^input is missing/],
        [{ input: null }, /^input is missing/],
        [{ input: "" }, /^input is empty/],
        [{ input: [] }, /^input is empty/],
        [{ input: [secret, ""] }, /^input\[1\] is empty/],
        [{ input: [[1], []] }, /^input\[1\] is empty/],
        [{ input: 7 }, /^input must be a text/],
        [{ input: [secret, 7] }, /^input must be a text/],
        [{ input: [[1], secret] }, /^input must be a text/],
        [{ input: [1.5] }, /^input must be a text/],
        [{ input: [[-1]] }, /^input must be a text/],
        [{ input: Array(2_049).fill(secret) }, /at most 2048 inputs/],
        [{ input: [[1], Array(8_193).fill(1)] }, /^input\[1\]: text-embedding-3-small takes at most 8192 tokens/],
        [{ model: "bge-m3", input: [1] }, /^input: bge-m3 takes texts, and no tokens/],
        [{ input: secret, dimensions: 0 }, /^dimensions must be a whole number/],
        [{ input: secret, dimensions: "64" }, /^dimensions must be a whole number/],
        [{ input: secret, encoding_format: "int8" }, /^encoding_format must be float or base64/],
        [{ input: secret, metadata: [] }, /^metadata must be an object/]
      ]
      for (const [body, message] of rows) assertError(yield* embed(body, as(tenant)), 400, "invalid_request", message)
      assertError(yield* embed("{", as(tenant)), 400, "invalid_request", /not valid JSON/)
      const name = { input: secret, metadata: { call_name: " " } }
      assertError(yield* embed(name, as(tenant)), 400, "invalid_call_name")
      const header = { ...as(tenant), "x-end-user-id": " " }
      assertError(yield* embed({ input: secret }, header), 400, "invalid_end_user_id")
      assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
    })
  )

  it.effect("have labels in their receipts", () =>
    Effect.gen(function* () {
      const { request } = yield* TestGateway
      const labels = (reply: Reply) =>
        Effect.map(receiptOf(reply.headers.get("x-request-id")), (receipt) => [
          receipt.at("call_name"),
          receipt.at("end_user_id"),
          receipt.at("requested_model"),
          receipt.at("endpoint")
        ])
      const served = [embeddingModel, `openai/${embeddingModel}`]
      const byUser = yield* embed({ input: "Hi", user: "user-1", metadata: { call_name: "index" } })
      assert.deepStrictEqual(yield* labels(byUser), ["index", "user-1", ...served])
      const both = { input: "Hi", user: "user-1", metadata: { end_user_id: "user-2" } }
      assert.deepStrictEqual(yield* labels(yield* embed(both)), [null, "user-2", ...served])
      const header = yield* embed(both, { "x-end-user-id": "user-3" })
      assert.deepStrictEqual(yield* labels(header), [null, "user-3", ...served])
      const used = yield* request("GET", "/v1/usage?from=2026-01-01T00:00:00Z&group_by=model")
      assert.include(used.text, embeddingModel)
    })
  )

  it.effect("are for keys that may use them, and models that they may use", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const body = { input: secret }
      assertError(yield* embed(body, { authorization: "Bearer wrong" }), 401, "unauthorized")
      const chats = yield* gateway.tenant("1", { endpoints: ["chat.completions"] })
      assertError(yield* embed(body, as(chats)), 403, "endpoint_not_allowed", /may not use embeddings$/)
      const only = yield* gateway.tenant("1", { endpoints: ["embeddings"] })
      assert.strictEqual((yield* embed(body, as(only))).status, 200)
      assertError(yield* gateway.chat({ messages: [user("Hi")] }, as(only)), 403, "endpoint_not_allowed")
      const large = yield* gateway.tenant("1", { models: [modelId("text-embedding-3-large")] })
      assertError(yield* embed(body, as(large)), 403, "model_not_allowed", /text-embedding-3-small/)
      assert.strictEqual((yield* embed({ ...body, model: "text-embedding-3-large" }, as(large))).status, 200)
      const poor = yield* gateway.tenant("0")
      const error = yield* refusal(() => poor.openai.embeddings.create({ model: embeddingModel, input: secret }))
      assert.deepStrictEqual([error.status, error.code], [402, "insufficient_credits"])
      const one = yield* gateway.tenant("1", { endpoints: ["embeddings"], requestsPerMinute: 1 })
      assert.strictEqual((yield* embed(body, as(one))).status, 200)
      assertError(yield* embed(body, as(one)), 429, "rate_limit_exceeded", /./)
      assert.strictEqual(yield* gateway.lingeringHolds, 0)
    })
  )

  it.effect("meet the faults that the sandbox is told to have", () =>
    Effect.gen(function* () {
      const tenant = yield* (yield* TestGateway).tenant("1")
      // Another model for each, as a fault may open the circuit breaker of an endpoint.
      const fails = { "bge-m3": "[fault:500]", "qwen3-embedding-4b": "[fault:empty]" }
      for (const [model, input] of Object.entries(fails))
        assertError(yield* embed({ model, input }, as(tenant)), 500, "internal_error", /No provider answered/)
      const long = yield* embed({ model: "mistral-embed", input: ["a", "[fault:context]"] }, as(tenant))
      assertError(long, 400, "invalid_request", /maximum context length/)
      assert.strictEqual(yield* settledBalance(tenant.organization), usd("1"))
      const first = yield* embed({ input: "[fault:503 first] over" }, as(tenant))
      const receipt = yield* receiptOf(first.headers.get("x-request-id"), tenant)
      const endpoints = [`openai/${embeddingModel}`, `openrouter/${embeddingModel}`]
      const attempts = receipt.at("attempts") as ReadonlyArray<{ readonly endpoint: string }>
      assert.deepStrictEqual([...new Set(attempts.map(({ endpoint }) => endpoint))], endpoints)
      assert.strictEqual(receipt.at("endpoint"), endpoints[1])
    })
  )

  it.effect("are counted in metrics under their own route", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      yield* embed({ model: "gemini-embedding-001", input: "Hi" })
      // A request counts when its last byte has been sent, which its client may see before.
      const labels = { route: embeddingPath, model: "gemini-embedding-001", outcome: "completed" }
      const counted = Effect.map(gateway.admin("GET", "/metrics"), ({ text }) =>
        sumOf(parseExposition(text), "tollgate_calls_total", labels) > 0 ? text : undefined
      )
      assert.include(yield* eventually(counted, "the count of the request"), "gemini-embedding-001")
    })
  )
})
