/** What embeddings cost: exactly what the provider counted, once, and nothing for those that failed. */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { audit, differences } from "../../src/audit/Audit.ts"
import { as, awaited, costOf, eventually, receiptOf, settledBalance } from "../support/Chat.ts"
import { embed, embeddingModel, vectorsIn } from "../support/EmbeddingRequests.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"

/** 0.02 USD per million tokens. */
const rate = 20_000n

const counted = (prompt: number) => ({ prompt_tokens: prompt, total_tokens: prompt })

/** Both endpoints of a model: that of OpenAI is the first. */
const twoEndpoints = (provider: FakeProvider["Service"]) => ({
  OPENROUTER_API_KEY: "sk-openrouter-of-the-operator",
  OPENROUTER_BASE_URL: `${provider.endpoint("openrouter").url}/api/v1`
})

const spent = (tenant: Tenant, credit: string) =>
  Effect.map(settledBalance(tenant.organization), (left) => usd(credit) - left)

describeWithFakeProvider(
  "Embeddings are charged",
  (it) => {
    it.effect("to the picodollar for what the provider counted, which receipts and the audit recompute", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const tenant = yield* (yield* TestGateway).tenant("1")
        provider.script(Fake.vectors({ usage: counted(7) }))
        const reply = yield* embed({ input: ["Hello there", "General"], encoding_format: "float" }, as(tenant))
        assert.deepStrictEqual(
          [costOf(JSON.parse(reply.text)), reply.at("usage.prompt_tokens")],
          [(7n * rate) as never, 7]
        )
        const expected = [0, 1].map((index) => Array.from(Float32Array.from(Fake.vectorAt(index, 4))))
        assert.deepStrictEqual(vectorsIn(reply), expected)
        const [call] = provider.received
        assert.deepStrictEqual(call?.body, {
          model: embeddingModel,
          input: ["Hello there", "General"],
          encoding_format: "base64"
        })
        const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
        assert.deepStrictEqual(
          ["cost_usd", "tokens.input", "tokens.output", "tokens.estimated", "picodollars_per_token.input"].map(
            receipt.at
          ),
          ["0.00000014", 7, 0, false, "20000"]
        )
        assert.isTrue(usd(String(receipt.at("held_usd"))) >= 7n * rate)
        assert.strictEqual(yield* spent(tenant, "1"), 7n * rate)
        const report = yield* audit
        assert.strictEqual(differences(report), 0, JSON.stringify(report))
      })
    )

    it.effect("for the local count where the provider reports none, or more tokens than there are bytes", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const tenant = yield* (yield* TestGateway).tenant("1")
        for (const usage of [null, counted(0), counted(9_000)]) {
          provider.script(Fake.vectors({ usage }))
          const before = yield* spent(tenant, "1")
          const tokens = yield* embed({ input: [[1, 2, 3], [4]] }, as(tenant))
          assert.strictEqual(costOf(JSON.parse(tokens.text)), (4n * rate) as never)
          const receipt = yield* receiptOf(tokens.headers.get("x-request-id"), tenant)
          assert.deepStrictEqual([receipt.at("tokens.estimated"), receipt.at("tokens.input")], [true, 4])
          assert.strictEqual((yield* spent(tenant, "1")) - before, 4n * rate)
        }
        provider.script(Fake.vectors({ usage: { total_tokens: 5 } }))
        assert.strictEqual((yield* embed({ input: "Hello" }, as(tenant))).at("usage.prompt_tokens"), 5)
      })
    )

    it.effect("at the endpoint that answered, when the first fails; no other model stands in", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const other = provider.endpoint("openrouter")
        const tenant = yield* (yield* TestGateway).tenant("1")
        provider.script(Fake.error(503))
        other.script(Fake.vectors({ usage: counted(3), encoding: "float" }))
        const body = { model: "text-embedding-3-large", input: "Hi", dimensions: 8, encoding_format: "base64" }
        const reply = yield* embed(body, as(tenant))
        assert.deepStrictEqual(vectorsIn(reply), [Array.from(Float32Array.from(Fake.vectorAt(0, 8)))])
        assert.strictEqual(costOf(JSON.parse(reply.text)), (3n * 130_000n) as never)
        const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
        assert.strictEqual(receipt.at("endpoint"), "openrouter/text-embedding-3-large")
        assert.strictEqual(other.received[0]?.body["model"], "openai/text-embedding-3-large")
        other.script(Fake.error(500))
        const failed = yield* embed(body, as(tenant))
        assert.deepStrictEqual([failed.status, failed.at("error.code")], [500, "internal_error"])
        const models = [...provider.received, ...other.received].map((call) => String(call.body["model"]))
        assert.isTrue(
          models.every((model) => model.endsWith("text-embedding-3-large")),
          models.join()
        )
        assert.strictEqual(yield* spent(tenant, "1"), 3n * 130_000n)
        assert.strictEqual(yield* (yield* TestGateway).lingeringHolds, 0)
      })
    )

    it.effect("not at all when vectors are missing, broken or of another length", () =>
      Effect.gen(function* () {
        const provider = yield* FakeProvider
        const tenant = yield* (yield* TestGateway).tenant("1")
        const [bad, other] = [Fake.vectors({ dimensions: 9 }), provider.endpoint("openrouter")]
        const broken = [
          bad,
          Fake.vectors({ change: (items) => items.slice(1) }),
          Fake.vectors({
            change: ([first]) => [
              { ...first, embedding: "AAA" },
              { ...first, embedding: "AAAA" }
            ]
          }),
          Fake.vectors({
            change: ([first]) => [
              { ...first, embedding: [1, "2"] },
              { ...first, embedding: [1, 2] }
            ]
          }),
          Fake.vectors({
            change: ([first]) => [
              { ...first, embedding: [] },
              { ...first, embedding: [] }
            ]
          })
        ]
        for (const behaviour of broken) {
          provider.script(behaviour)
          other.script(Fake.vectors({ usage: counted(2), change: (items) => items.toReversed() }))
          const before = yield* spent(tenant, "1")
          const model = "text-embedding-ada-002"
          const asked = behaviour === bad ? { dimensions: 8 } : { model }
          const reply = yield* embed({ input: ["a", "b"], ...asked }, as(tenant))
          // The other endpoint answers in an order of its own, which `index` puts right.
          assert.deepStrictEqual(
            vectorsIn(reply).map(([first]) => first),
            [0, 1]
          )
          const price = behaviour === bad ? rate : 100_000n
          assert.strictEqual((yield* spent(tenant, "1")) - before, 2n * price)
        }
      })
    )
  },
  twoEndpoints
)

describeWithFakeProvider("Embeddings", (it) => {
  it.effect("with the same Idempotency-Key are made and charged once, and another body is refused", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const tenant = yield* (yield* TestGateway).tenant("1")
      const headers = { ...as(tenant), "idempotency-key": randomUUID() }
      provider.script(Fake.vectors({ usage: counted(2) }))
      const [first, again] = [yield* embed({ input: "Hi" }, headers), yield* embed({ input: "Hi" }, headers)]
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
      assert.lengthOf(provider.received, 1)
      const other = yield* embed({ input: "Ho" }, headers)
      assert.deepStrictEqual([other.status, other.at("error.code")], [409, "idempotency_conflict"])
      assert.strictEqual(yield* spent(tenant, "1"), 2n * rate)
    })
  )

  it.effect("hold the worst case under a hard cap, and never cost more", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* gateway.tenant("0.001")
      yield* gateway.admin("PATCH", `/admin/v1/organizations/${tenant.organization}`, { hard_cap: true })
      provider.script(Fake.vectors({ usage: counted(9_000) }))
      const input = "a".repeat(100)
      const reply = yield* embed({ input }, as(tenant))
      const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
      assert.strictEqual(usd(String(receipt.at("held_usd"))), (116n * rate) as never)
      assert.isTrue(costOf(JSON.parse(reply.text)) <= 116n * rate)
      const tooLong = yield* embed({ input: Array(2_000).fill("a".repeat(4_000)) }, as(tenant))
      assert.deepStrictEqual([tooLong.status, tooLong.at("error.code")], [402, "insufficient_credits"])
      assert.isTrue((yield* settledBalance(tenant.organization)) >= 0n)
    })
  )

  it.effect("count against budgets, tokens per minute and concurrent requests", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const code = (reply: { readonly status: number; readonly at: (path: string) => unknown }) => [
        reply.status,
        reply.at("error.code")
      ]
      const owner = yield* gateway.tenant("1")
      const budget = { api_key_id: owner.keyId, amount_usd: "0.000001", period: "total" }
      assert.strictEqual((yield* gateway.admin("POST", "/admin/v1/budgets", budget)).status, 200)
      provider.script(Fake.vectors({ usage: counted(60) }))
      assert.strictEqual((yield* embed({ input: "a".repeat(80) }, as(owner))).status, 200)
      const refused = yield* eventually(
        Effect.map(embed({ input: "Hi" }, as(owner)), (reply) => (reply.status === 200 ? undefined : reply)),
        "the end of the budget"
      )
      assert.deepStrictEqual(code(refused), [429, "budget_exceeded"])
      const slow = yield* gateway.tenant("1", { tokensPerMinute: 100 })
      assert.strictEqual((yield* embed({ input: [Array(90).fill(1)] }, as(slow))).status, 200)
      assert.deepStrictEqual(code(yield* embed({ input: [Array(90).fill(1)] }, as(slow))), [429, "rate_limit_exceeded"])
      const single = yield* gateway.tenant("1", { concurrentRequests: 1 })
      provider.script(Fake.hangs)
      const controller = new AbortController()
      const open = single.openai.embeddings
        .create({ model: embeddingModel, input: "Hi" }, { signal: controller.signal })
        .catch(() => undefined)
      yield* awaited(provider.arrival(), "the first request")
      assert.deepStrictEqual(code(yield* embed({ input: "Hi" }, as(single))), [429, "rate_limit_exceeded"])
      controller.abort()
      yield* awaited(open, "the end of the first request")
      // A client that leaves pays nothing.
      assert.strictEqual(yield* spent(single, "1"), 0n)
    })
  )
})
