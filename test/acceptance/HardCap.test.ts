/** Organizations whose balance can never go below zero, whatever providers count. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { audit, differences } from "../../src/audit/Audit.ts"
import { as, at, awaited, chunksOf, costOf, eventually, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { audioPart, silence } from "../support/Multipart.ts"
import { describeWithFakeProvider, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"
import { fieldParts, transcribe } from "../support/TranscriptionForms.ts"

const body = { model: "gpt-5", messages: [user("Hello.")] }
/** An answer that costs $0.0001. */
const small = { prompt_tokens: 8, completion_tokens: 9, total_tokens: 17 }
/** A dollar and a cent. */
const large = { prompt_tokens: 8, completion_tokens: 101_000, total_tokens: 101_008 }

/** A tenant with a hard cap, once the gateway knows of it. */
const cappedTenant = Effect.fnUntraced(function* (credit: string) {
  const gateway = yield* TestGateway
  const tenant = yield* gateway.tenant(credit)
  const changed = yield* gateway.admin("PATCH", `/admin/v1/organizations/${tenant.organization}`, { hard_cap: true })
  assert.deepStrictEqual([changed.status, changed.at("hard_cap")], [200, true], changed.text)
  const credits = yield* gateway.request("GET", "/v1/credits", undefined, as(tenant))
  assert.strictEqual(credits.at("hard_cap"), true)
  return tenant
})

const assertBooksAgree = Effect.map(audit, (report) =>
  assert.strictEqual(differences(report), 0, JSON.stringify(report))
)

/** What the requests of a tenant left of its credit, and that its books agree. */
const assertSpent = Effect.fnUntraced(function* (tenant: Tenant, credit: bigint, spent: bigint) {
  const left = yield* settledBalance(tenant.organization)
  assert.isTrue(left >= 0n, `${left} are left`)
  assert.strictEqual(left, credit - spent)
  yield* assertBooksAgree
})

describeWithFakeProvider("An organization with a hard cap", (it) => {
  for (const stream of [false, true])
    it.effect(`pays no more than its hold when a provider counts ten times as much (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* cappedTenant("0.05")
        provider.script(Fake.answers("ok", { usage: { ...small, completion_tokens: 10_000 } }))
        const reply = yield* gateway.chat({ ...body, stream, max_completion_tokens: 1_000 }, as(tenant))
        assert.strictEqual(reply.status, 200, reply.text)
        const answer = stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text)
        const receipt = yield* receiptOf(at(answer, "id"), tenant)
        const [held, cost, lost] = ["held_usd", "cost_usd", "uncollected_usd"].map((name) =>
          usd(String(receipt.at(name)))
        )
        assert.deepStrictEqual([cost, costOf(answer)], [held, held] as never)
        assert.strictEqual((cost ?? 0n) + (lost ?? 0n), 8n * 1_250_000n + 10_000n * 10_000_000n)
        yield* assertSpent(tenant, usd("0.05"), cost ?? 0n)
        const logs = yield* gateway.logs
        assert.isTrue(logs.some((line) => line.includes("cost more than its organization could be charged")))
        const metrics = yield* gateway.admin("GET", "/metrics")
        assert.match(metrics.text, /tollgate_uncollected_charges_total(\{[^}]*\})? [1-9]/)
      })
    )

  it.effect("is answered by as much as its balance pays for, and says so", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* cappedTenant("0.01")
      provider.script((response, received) => {
        const output = Number(at(received.body, "max_output_tokens"))
        const usage = { prompt_tokens: 8, completion_tokens: output, total_tokens: 8 + output }
        return Fake.answers("as much as I may", { usage })(response, received)
      })
      const reply = yield* gateway.chat({ ...body, max_completion_tokens: 50_000 }, as(tenant))
      assert.strictEqual(reply.status, 200, reply.text)
      const limit = Number(at((yield* awaited(provider.arrival(), "the call")).body, "max_output_tokens"))
      // Nearly all of the cent: the rest is for the bytes of the prompt, at their worst.
      assert.isTrue(limit > 900 && limit < 1_000, String(limit))
      assert.strictEqual(reply.headers.get("x-svc-adjusted"), `max_completion_tokens=${limit}`)
      yield* assertSpent(tenant, usd("0.01"), costOf(JSON.parse(reply.text)))
    })
  )

  it.effect("has all of 200 small calls at once answered on one dollar", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* cappedTenant("1")
      provider.script(Fake.answers("ok", { usage: small }))
      const limited = { ...body, max_completion_tokens: 450 }
      const replies = yield* Effect.forEach(Array.from({ length: 200 }), () => gateway.chat(limited, as(tenant)), {
        concurrency: "unbounded"
      })
      for (const { status, text } of replies) assert.strictEqual(status, 200, text)
      yield* assertSpent(tenant, usd("1"), 200n * 100_000_000n)
    })
  )

  it.effect("has all of twelve calls answered on five cents, which pay for two of them at a time", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* cappedTenant("0.05")
      provider.script(Fake.answers("ok", { usage: small }))
      const replies = yield* Effect.forEach(Array.from({ length: 12 }), () => gateway.chat(body, as(tenant)), {
        concurrency: "unbounded"
      })
      for (const { status, text } of replies) assert.strictEqual(status, 200, text)
      yield* assertSpent(tenant, usd("0.05"), 12n * 100_000_000n)
    })
  )

  it.effect("spends its dollar and no more when each of 200 calls at once is said to cost more than it", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* cappedTenant("1")
      provider.script(Fake.answers("ok", { usage: large }))
      const replies = yield* Effect.forEach(Array.from({ length: 200 }), () => gateway.chat(body, as(tenant)), {
        concurrency: "unbounded"
      })
      const answered = replies.filter(({ status }) => status === 200)
      assert.isAbove(answered.length, 1)
      for (const { status } of replies) assert.include([200, 402], status)
      const spent = answered.reduce((sum, { text }) => sum + costOf(JSON.parse(text)), 0n)
      yield* assertSpent(tenant, usd("1"), spent)
    })
  )

  it.effect("is refused at once where not even a short answer can be paid, with what it has", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* cappedTenant("0.002")
      const refused = yield* gateway.chat(body, as(tenant))
      assert.deepStrictEqual([refused.status, refused.at("error.code")], [402, "insufficient_credits"])
      assert.include(String(refused.at("error.message")), "has 0.002 USD left and may not owe anything")
    })
  )

  it.effect("is not taken below zero by a correction, unless that is forced", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* cappedTenant("1")
      const correct = (payment_id: string, amount_usd: string, force?: boolean) =>
        gateway.admin("POST", `/admin/v1/organizations/${tenant.organization}/credit/corrections`, {
          payment_id,
          amount_usd,
          reason: "test",
          ...(force !== undefined && { force })
        })
      const refused = yield* correct("a", "-1.5")
      assert.deepStrictEqual([refused.status, refused.at("error.code")], [400, "invalid_request"])
      assert.include(String(refused.at("error.message")), "force")
      assert.strictEqual((yield* correct("a", "-1")).at("balance.available_usd"), "0")
      assert.strictEqual((yield* correct("a", "-1")).at("booked"), false)
      assert.strictEqual((yield* correct("b", "-0.5", true)).at("balance.available_usd"), "-0.5")
    })
  )

  it.effect("pays no more than its hold for a transcription", () =>
    Effect.gen(function* () {
      const provider = yield* FakeProvider
      const tenant = yield* cappedTenant("0.05")
      const usage = { type: "tokens", input_tokens: 9_000, output_tokens: 2_000, total_tokens: 11_000 }
      provider.script(Fake.reply(200, { text: "Seven.", usage }))
      const parts = [audioPart({ content: silence(2_000) }), ...fieldParts({ model: "gpt-4o-transcribe" })]
      const reply = yield* transcribe(parts, as(tenant))
      assert.strictEqual(reply.status, 200, reply.text)
      const receipt = yield* receiptOf(reply.headers.get("x-request-id"), tenant)
      assert.strictEqual(receipt.at("cost_usd"), receipt.at("held_usd"))
      assert.notStrictEqual(receipt.at("uncollected_usd"), "0")
      yield* assertSpent(tenant, usd("0.05"), costOf(JSON.parse(reply.text)))
    })
  )

  it.effect("is one again two seconds after it was switched off and on, and each change is recorded", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const tenant = yield* cappedTenant("1")
      const path = `/admin/v1/organizations/${tenant.organization}`
      for (const hard_cap of [false, true]) {
        assert.strictEqual((yield* gateway.admin("PATCH", path, { hard_cap })).at("hard_cap"), hard_cap)
        yield* eventually(
          Effect.map(gateway.request("GET", "/v1/credits", undefined, as(tenant)), (credits) =>
            credits.at("hard_cap") === hard_cap ? true : undefined
          ),
          "the change"
        )
      }
      const log = yield* gateway.admin("GET", `/admin/v1/audit_events?organization_id=${tenant.organization}`)
      const changes = (log.at("data") as ReadonlyArray<object>).map((event) => at(event, "after", "hard_cap"))
      assert.deepStrictEqual(changes.slice(0, 2), [true, false])
    })
  )
})
