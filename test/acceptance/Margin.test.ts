/** What is charged, where that is not what the providers bill: tenants see the charge, and operators see both. */
import { assert } from "@effect/vitest"
import { Clock, DateTime, Effect } from "effect"

import { audit } from "../../src/audit/Audit.ts"
import { picodollars, toUsd } from "../../src/domain/Money.ts"
import { as, at, chunksOf, costOf, eventually, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { audioPart, silence } from "../support/Multipart.ts"
import {
  describeGateway,
  describeWithFakeProvider,
  type Reply,
  type Tenant,
  TestGateway,
  usd
} from "../support/TestGateway.ts"
import { fieldParts, transcribe } from "../support/TranscriptionForms.ts"

const usage = { prompt_tokens: 1_001, completion_tokens: 77, total_tokens: 1_078 }
const chat = (model: string, stream = false) => ({ model, stream, messages: [user("Hello")] })

const ok = (reply: Reply): Reply => {
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
}

const price = Effect.fnUntraced(function* (tenant: Tenant, pricing: unknown) {
  const { admin } = yield* TestGateway
  return yield* admin("PATCH", `/admin/v1/organizations/${tenant.organization}`, { pricing })
})

/** Makes a request whose usage the provider reports as above, and returns its id and what was charged. */
const charged = Effect.fnUntraced(function* (tenant: Tenant, model: string, stream: boolean) {
  const gateway = yield* TestGateway
  const provider = yield* FakeProvider
  provider.script(Fake.answers("fine", { usage }))
  const reply = ok(yield* gateway.chat(chat(model, stream), as(tenant)))
  const last = stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text)
  return { id: String(at(last, "id")), cost: costOf(last) }
})

/** The one row of the usage of an organization, once it has this many requests: as operators and as tenants see it. */
const usageOf = Effect.fnUntraced(function* (tenant: Tenant, requests: number) {
  const gateway = yield* TestGateway
  const now = yield* Clock.currentTimeMillis
  const from = `from=${encodeURIComponent(DateTime.formatIso(DateTime.makeUnsafe(now - 3_600_000)))}`
  const own = gateway.request("GET", `/v1/usage?${from}`, undefined, as(tenant))
  const all = gateway.admin("GET", `/admin/v1/usage?${from}&organization_id=${tenant.organization}`)
  yield* eventually(
    Effect.map(own, (reply) => (ok(reply).at("data.0.requests") === requests ? reply : undefined)),
    "all requests"
  )
  return { own: ok(yield* own), all: ok(yield* all) }
})

/** Nothing of what a provider bills, in what a tenant can read. */
const assertSilent = (reply: Reply) => {
  assert.notMatch(reply.text, /provider_cost|margin|provider_price|rule|factor|providerCost/)
}

const assertClean = Effect.gen(function* () {
  const report = yield* audit
  assert.deepStrictEqual([report.findings, report.counts], [[], {}])
})

/** gpt-4.1 is billed at $2 and $8 per million tokens. */
const billed = 1_001n * 2_000_000n + 77n * 8_000_000n
const ceiling = (amount: bigint, divisor: bigint) => (amount + divisor - 1n) / divisor

describeWithFakeProvider("An organization with a pricing of its own", (it) => {
  const cases = [
    ["a factor", { factor: "1.5" }, (billed * 3n) / 2n, "3"],
    [
      "a factor whose rates are not whole",
      { factor: "1.000001" },
      ceiling(billed * 1_000_001n, 1_000_000n),
      "2.000002"
    ],
    ["a factor for the model", { factor: "9", models: { "gpt-4.1": { factor: "0.5" } } }, billed / 2n, "1"],
    [
      "prices of its own",
      { models: { "gpt-4.1": { price_usd_per_mtok: { input: 10, output: "20" } } } },
      1_001n * 10_000_000n + 77n * 20_000_000n,
      "10"
    ],
    ["nothing to pay", { factor: "0" }, 0n, "0"]
  ] as const
  for (const [name, pricing, expected, input] of cases)
    it.effect(`is charged by it, with ${name}`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        const answer = ok(yield* price(tenant, pricing))
        assert.deepStrictEqual(answer.at("pricing"), pricing)
        for (const stream of [false, true]) {
          const { cost, id } = yield* charged(tenant, "gpt-4.1", stream)
          assert.strictEqual(cost, expected)
          const receipt = yield* receiptOf(id, tenant)
          assert.strictEqual(usd(String(receipt.at("cost_usd"))), expected)
          assert.strictEqual(receipt.at("picodollars_per_token.input"), millions(input))
          assertSilent(receipt)
          const whole = ok(yield* gateway.admin("GET", `/admin/v1/requests/${id}`))
          assert.deepStrictEqual(
            [whole.at("cost_usd"), whole.at("provider_cost_usd"), whole.at("margin_usd")],
            [expected, billed, expected - billed].map((amount) => toUsd(picodollars(amount)))
          )
          const scope = "factor" in pricing && !("models" in pricing) ? "organization" : "organization_model"
          assert.strictEqual(whole.at("rule.scope"), scope)
          assert.strictEqual(whole.at("charge.0.picodollars"), millions(input))
        }
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1") - 2n * expected)
        const seen = yield* usageOf(tenant, 2)
        assert.strictEqual(seen.own.at("data.0.cost_usd"), toUsd(picodollars(2n * expected)))
        assertSilent(seen.own)
        assert.deepStrictEqual(
          ["cost_usd", "provider_cost_usd", "margin_usd"].map((member) => seen.all.at(`data.0.${member}`)),
          [2n * expected, 2n * billed, 2n * (expected - billed)].map((amount) => toUsd(picodollars(amount)))
        )
        const card = yield* gateway.request("GET", "/v1/models/gpt-4.1", undefined, as(tenant))
        assert.strictEqual(card.at("svc.price_usd_per_mtok.input"), input)
        assertSilent(card)
        const usual = yield* gateway.request("GET", "/v1/models/gpt-4.1")
        assert.strictEqual(usual.at("svc.price_usd_per_mtok.input"), "2")
        yield* assertClean
      })
    )

  it.effect("is routed, held and limited by what it is charged", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* gateway.tenant("1")
      ok(yield* price(tenant, { factor: "1.5" }))
      const receipts: Array<Reply> = []
      for (const who of [undefined, tenant]) {
        provider.script(Fake.answers("fine", { usage }))
        const reply = ok(yield* gateway.chat({ messages: [user("Hello")] }, who && as(who)))
        receipts.push(yield* receiptOf(JSON.parse(reply.text).id, who))
      }
      const [usual, own] = receipts.map((receipt) => ({
        held: usd(String(receipt.at("held_usd"))),
        candidates: receipt.at("routing.candidates") as ReadonlyArray<{ model: string; cost_usd: string }>
      }))
      const costs = new Map(usual?.candidates.map(({ cost_usd, model }) => [model, usd(cost_usd)]))
      assert.strictEqual(own?.candidates.length, usual?.candidates.length)
      for (const { cost_usd, model } of own?.candidates ?? [])
        assert.strictEqual(usd(cost_usd), ceiling((costs.get(model) ?? 0n) * 3n, 2n))
      assert.strictEqual(own?.held, ceiling((usual?.held ?? 0n) * 3n, 2n))
    })
  )

  it.effect("is charged as the catalog says again once it is taken away, and the change is recorded", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      ok(yield* price(tenant, { factor: "2" }))
      assert.strictEqual((yield* charged(tenant, "gpt-4.1", false)).cost, 2n * billed)
      assert.isNull(ok(yield* price(tenant, null)).at("pricing"))
      const usual = Effect.map(charged(tenant, "gpt-4.1", false), ({ cost }) => (cost === billed ? cost : undefined))
      yield* eventually(usual, "the usual price")
      const events = ok(yield* gateway.admin("GET", `/admin/v1/audit_events?subject_id=${tenant.organization}`))
      assert.deepStrictEqual(
        [0, 1].map((index) => [events.at(`data.${index}.before.pricing`), events.at(`data.${index}.after.pricing`)]),
        [
          [{ factor: "2" }, null],
          [null, { factor: "2" }]
        ]
      )
    })
  )

  it.effect("is refused with the field and the rule, and then nothing changes", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* gateway.tenant("1")
      const bad: ReadonlyArray<readonly [pricing: unknown, message: RegExp]> = [
        [{ factor: 1.5 }, /^pricing\.factor: /],
        [{ factor: "-1" }, /^pricing\.factor: /],
        [{ factor: "1001" }, /^pricing\.factor: /],
        [{ faktor: "1" }, /faktor/],
        [{ models: { "gpt-9": { factor: "1" } } }, /^pricing\.models\.gpt-9: is not a model/],
        [{ models: { "gpt-4.1": {} } }, /pricing\.models\.gpt-4\.1: .*one of factor/],
        [{ models: { "gpt-4.1": { price_usd_per_mtok: { input: 1 } } } }, /price_usd_per_mtok\.output/]
      ]
      for (const [pricing, message] of bad) {
        const reply = yield* price(tenant, pricing)
        assert.deepStrictEqual([reply.status, reply.at("error.code")], [400, "invalid_request"], reply.text)
        assert.match(String(reply.at("error.message")), message)
      }
      const found = yield* gateway.admin("GET", `/admin/v1/organizations/${tenant.organization}`)
      assert.isNull(ok(found).at("pricing"))
    })
  )

  it.effect("shows what the provider reported of a stream that broke and cost nothing", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* gateway.tenant("1")
      ok(yield* price(tenant, { factor: "1.5" }))
      const word = Fake.openaiChunk({ content: "word" })
      provider.script(Fake.streams([word, Fake.openaiUsageChunk(usage)]))
      const reply = yield* gateway.chat(chat("gpt-4.1", true), as(tenant))
      const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
      assert.deepStrictEqual([receipt.at("outcome"), receipt.at("cost_usd")], ["broken", "0"])
      assertSilent(receipt)
      const { all } = yield* usageOf(tenant, 1)
      assert.deepStrictEqual(
        [all.at("data.0.cost_usd"), all.at("data.0.provider_cost_usd"), all.at("data.0.margin_usd")],
        ["0", toUsd(picodollars(billed)), toUsd(picodollars(-billed))]
      )
      yield* assertClean
    })
  )
})

/** A price in USD per million tokens, in picodollars per token. */
const millions = (usdPerMillion: string): string => {
  const [whole = "0", fraction = ""] = usdPerMillion.split(".")
  return String(BigInt(whole + fraction.padEnd(6, "0")))
}

describeWithFakeProvider(
  "A catalog file with rules",
  (it) => {
    it.effect("charges by model, by provider and for all, and shows operators both prices", () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const tenant = yield* gateway.tenant("1")
        const expected = {
          "gpt-4.1": [ceiling(billed * 6n, 5n), "2.4", "2"],
          "gpt-4o-mini": [1_001n * 200_000n + 77n * 800_000n, "0.2", "0.15"],
          "gpt-5-mini": [ceiling((1_001n * 250_000n + 77n * 2_000_000n) * 1_333_333n, 1_000_000n), "0.33333325", "0.25"]
        } as const
        for (const [model, [cost, input, provided]] of Object.entries(expected)) {
          assert.strictEqual((yield* charged(tenant, model, false)).cost, cost, model)
          const card = yield* gateway.request("GET", `/v1/models/${model}`, undefined, as(tenant))
          assert.strictEqual(card.at("svc.price_usd_per_mtok.input"), input)
          const listed = ok(yield* gateway.admin("GET", "/admin/v1/catalog/models?limit=200&provider=openai"))
          const found = (listed.at("data") as ReadonlyArray<{ id: string; endpoints: ReadonlyArray<unknown> }>).find(
            ({ id }) => id === model
          )
          const endpoint = found?.endpoints[0] as { provider_price: { price_usd_per_mtok: { input: string } } }
          assert.strictEqual(endpoint.provider_price.price_usd_per_mtok.input, provided)
        }
        const claude = yield* gateway.request("GET", "/v1/models/claude-sonnet-4-5", undefined, as(tenant))
        assert.strictEqual(claude.at("svc.price_usd_per_mtok.input"), "3.3")
        yield* assertClean
      })
    )
  },
  { CATALOG_FILE: "examples/catalog/charges.json" }
)

describeGateway("An organization with a pricing for transcriptions", (it) => {
  // gpt-transcribe is billed at $0.36 an hour, by the millisecond.
  const provided = 1_234_500_000n
  const cases = [
    ["a factor", { factor: "1.5" }, (provided * 3n) / 2n, 12_345],
    [
      "an hourly price and a minimum of its own",
      { models: { "gpt-transcribe": { price_usd_per_audio_hour: "1", minimum_audio_seconds: 20 } } },
      ceiling(20_000n * 1_000_000_000_000n, 3_600_000n),
      20_000
    ]
  ] as const
  for (const [name, pricing, expected, millis] of cases)
    it.effect(`is charged by ${name}, while the provider's cost is by the provider's own`, () =>
      Effect.gen(function* () {
        const tenant = yield* (yield* TestGateway).tenant("1")
        ok(yield* price(tenant, pricing))
        const parts = [audioPart({ content: silence(12_345) }), ...fieldParts({ model: "gpt-transcribe" })]
        const reply = ok(yield* transcribe(parts, as(tenant)))
        assert.strictEqual(costOf(JSON.parse(reply.text)), expected)
        const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
        assert.deepStrictEqual(
          [receipt.at("billed_audio_ms"), usd(String(receipt.at("held_usd")))],
          [millis, expected as never]
        )
        assertSilent(receipt)
        const { all } = yield* usageOf(tenant, 1)
        assert.strictEqual(all.at("data.0.provider_cost_usd"), toUsd(picodollars(provided)))
        yield* assertClean
      })
    )
})
