/** Providers that report more tokens than a model can have consumed: the gateway counts for itself, and goes on. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { as, at, chunksOf, costOf, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, TestGateway, usd } from "../support/TestGateway.ts"

const hello = { model: "gpt-4.1", messages: [user("Hello")] }

const usageOf = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion
})

/** gpt-4.1 takes 1,047,576 tokens and writes 32,768. */
const reports = {
  "more output than the model can write": usageOf(10, 32_769),
  "a prompt beyond its context window": usageOf(1_047_577, 5),
  "a prompt far beyond what was sent": usageOf(900_000, 5),
  "a cost beyond what one charge may be": usageOf(10, 1_000_000_000_000),
  "a cost at the edge of what the database can hold": usageOf(10, Math.floor(9.2e18 / 8e6)),
  "the largest safe number": usageOf(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  "the largest number": usageOf(1e308, 1e308)
}

describeWithFakeProvider("A provider that reports absurd usage", (it) => {
  for (const [what, usage] of Object.entries(reports))
    it.effect(`is not believed: ${what}`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("1")
        let spent = 0n
        for (const stream of [false, true]) {
          provider.script(Fake.answers("fine", { usage }))
          const reply = yield* gateway.chat({ ...hello, stream }, as(tenant))
          assert.strictEqual(reply.status, 200, reply.text)
          const last = stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text)
          assert.isBelow(Number(at(last, "usage", "prompt_tokens")), 20)
          const cost = costOf(last)
          assert.isTrue(cost > 0n && cost < usd("0.0002"), String(cost))
          spent += cost
          const receipt = yield* receiptOf(at(last, "id"), tenant)
          assert.deepStrictEqual([receipt.at("tokens.estimated"), usd(String(receipt.at("cost_usd")))], [true, cost])
        }
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1") - spent)
      })
    )
})
