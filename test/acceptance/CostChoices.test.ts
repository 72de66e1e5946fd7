/** What a request may cost, and how it trades cost against quality. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { as, at, awaited, chunksOf, costOf, type Json, receiptOf, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeGateway, describeWithFakeProvider, type Tenant, TestGateway, usd } from "../support/TestGateway.ts"

const messages = [user("Prove that the square root of two is irrational, and explain every step.")]

const ask = Effect.fnUntraced(function* (body: object, tenant?: Tenant) {
  const gateway = yield* TestGateway
  const reply = yield* gateway.chat({ messages, ...body }, tenant && as(tenant))
  assert.strictEqual(reply.status, 200, reply.text)
  return { reply, receipt: yield* receiptOf(reply.at("id"), tenant) }
})

describeGateway("cost_quality", (it) => {
  it.effect("0.5 is what a request without it gets, 0 the cheapest candidate and 1 the best", () =>
    Effect.gen(function* () {
      const candidatesAt = (svc?: object) =>
        Effect.map(ask(svc === undefined ? {} : { svc }), ({ receipt, reply }) => ({
          model: reply.at("model"),
          choices: receipt.at("choices"),
          candidates: receipt.at("routing.candidates") as ReadonlyArray<Json>
        }))
      const [usual, middle] = [yield* candidatesAt(), yield* candidatesAt({ cost_quality: 0.5 })]
      assert.deepStrictEqual(middle.candidates, usual.candidates)
      assert.deepStrictEqual([usual.choices, middle.choices], [null, { cost_quality: 0.5 }])
      const [cheapest, best] = [yield* candidatesAt({ cost_quality: 0 }), yield* candidatesAt({ cost_quality: 1 })]
      const first = ({ candidates }: typeof usual) => Number(candidates[0]?.["cost_usd"])
      assert.isTrue(first(cheapest) <= first(usual) && first(usual) <= first(best))
      assert.isBelow(first(cheapest), first(best))
      const costs = cheapest.candidates.map(({ cost_usd }) => Number(cost_usd))
      assert.deepStrictEqual(
        [...costs].sort((a, b) => a - b),
        costs
      )
      const distances = best.candidates.map(({ distance }) => Number(distance))
      assert.isAtMost(distances[0] ?? 1, Number(usual.candidates[0]?.["distance"]))
      assert.strictEqual(best.model, best.candidates[0]?.["model"])
    })
  )
})

describeWithFakeProvider("max_cost_usd", (it) => {
  /** Writes as many tokens as it may, or as many as models of the catalog can. */
  const talkative: Fake.Behaviour = (response, received) => {
    const asked = at(received.body, "max_output_tokens") ?? at(received.body, "max_completion_tokens")
    const output = Number(asked ?? 100_000)
    const usage = { prompt_tokens: 20, completion_tokens: output, total_tokens: 20 + output }
    return Fake.answers("and so on", { usage })(response, received)
  }

  for (const stream of [false, true])
    it.effect(`is the most that a direct call costs, however much the model writes (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("5")
        provider.script(talkative)
        const body = { model: "gpt-5", messages, svc: { max_cost_usd: "0.01" }, stream }
        const reply = yield* gateway.chat(body, as(tenant))
        assert.strictEqual(reply.status, 200, reply.text)
        const sent = yield* awaited(provider.arrival(), "the call")
        const limit = Number(at(sent.body, "max_output_tokens"))
        const cost = costOf(stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text))
        assert.isTrue(cost <= usd("0.01"), `${cost}`)
        // Most of it: the rest is for the bytes of the prompt, at their worst.
        assert.isTrue(cost >= usd("0.009"), `${cost}`)
        const id = stream ? chunksOf(reply.text)[0]?.["id"] : reply.at("id")
        const receipt = yield* receiptOf(id, tenant)
        assert.deepInclude(receipt.at("adjusted"), `max_completion_tokens=${limit}`)
        assert.deepStrictEqual(receipt.at("choices"), { max_cost_usd: "0.01" })
        assert.isTrue(usd(String(receipt.at("held_usd"))) <= usd("0.01"))
      })
    )

  it.effect("leaves a limit alone that costs less", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(talkative)
      const body = { model: "gpt-5", messages, max_completion_tokens: 100, svc: { max_cost_usd: 0.01 } }
      const reply = yield* gateway.chat(body)
      assert.strictEqual(reply.status, 200, reply.text)
      const sent = yield* awaited(provider.arrival(), "the call")
      assert.strictEqual(at(sent.body, "max_output_tokens"), 100)
      assert.deepStrictEqual((yield* receiptOf(reply.at("id"))).at("adjusted"), [])
    })
  )

  it.effect("leaves out what costs more for a short answer, and holds with a hard cap as well", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* gateway.tenant("0.004")
      yield* gateway.admin("PATCH", `/admin/v1/organizations/${tenant.organization}`, { hard_cap: true })
      yield* gateway.request("GET", "/v1/credits", undefined, as(tenant))
      provider.script(talkative)
      for (const [credit, most] of [
        ["0.004", "0.003"],
        ["0.001", "0.003"]
      ] as const) {
        const { receipt, reply } = yield* ask({ svc: { max_cost_usd: most }, reasoning_effort: "none" }, tenant)
        const cost = costOf(JSON.parse(reply.text))
        assert.isTrue(cost <= usd(most) && cost <= usd(credit), `${cost}`)
        const excluded = receipt.at("routing.excluded") as ReadonlyArray<Json>
        assert.isTrue(excluded.some(({ because }) => because === "max_cost_usd"))
      }
    })
  )

  it.effect("leads to a failover only among targets that cost no more", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      provider.script(Fake.error(429, { code: "rate_limit_exceeded" }), talkative)
      const body = { model: "gpt-5-mini", models: ["gpt-5"], messages, svc: { max_cost_usd: 0.02 } }
      const reply = yield* gateway.chat(body)
      assert.strictEqual(reply.at("model"), "gpt-5", reply.text)
      assert.isTrue(costOf(JSON.parse(reply.text)) <= usd("0.02"))
      const dear = yield* gateway.chat({ ...body, models: ["gpt-5"], svc: { max_cost_usd: "0.0001" } })
      assert.deepStrictEqual([dear.status, dear.at("error.code")], [400, "invalid_request"])
      assert.include(String(dear.at("error.message")), "gpt-5-mini is left out by max_cost_usd; gpt-5 is left out by")
    })
  )
})
