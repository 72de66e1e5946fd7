/** A thousand requests at once for an organization whose balance covers ten holds. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { as, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, TestGateway, usd } from "../support/TestGateway.ts"

const requests = 1_000
const covered = 10
/** The price of an output token in picodollars. */
const outputToken = 1_600_000n

describeWithFakeProvider("An organization with a thousand requests at once", (it) => {
  it.effect(
    "is overdrawn by less than one hold, and every request beyond that is refused with 402",
    () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* Fake.FakeProvider
        const body = { model: "gpt-4.1-mini", messages: [user("Hello.")] }
        const probe = yield* gateway.chat(body)
        const hold = usd(String((yield* receiptOf(probe.at("id"))).at("held_usd")))
        // A picodollar less than ten holds: the tenth is granted with the last of the balance. Of the one hold by which
        // an organization may overdraw, almost all is left, and one of those that wait in vain gets it, cut by a token.
        const credit = hold * BigInt(covered) - 1n
        const tenant = yield* gateway.tenant((Number(credit) / 1e12).toFixed(12), { requestsPerMinute: 10 * requests })
        // No request is answered, and releases its hold, before every other one has got a hold or been refused.
        let left = requests
        const [undecided, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const decided = () => {
          if (--left === 0) undecided.resolve()
        }
        provider.script(async (response, received) => {
          decided()
          await answer.promise
          return Fake.answers("ok")(response, received)
        })
        // Until then holds only come, so that this is the lowest balance.
        const lowest = Effect.gen(function* () {
          yield* Effect.promise(() => undecided.promise)
          const { available } = yield* gateway.balance(tenant.organization)
          answer.resolve()
          return available
        })
        const answered = Effect.forEach(
          Array.from({ length: requests }),
          () =>
            Effect.map(gateway.chat(body, as(tenant)), ({ status, text }) => {
              if (status !== 200) decided()
              return { status, text }
            }),
          { concurrency: "unbounded" }
        )
        const [replies, atLowest] = yield* Effect.all([answered, lowest], { concurrency: "unbounded" })
        const refused = replies.filter(({ status }) => status === 402)
        assert.deepStrictEqual([replies.length - refused.length, refused.length], [covered + 1, requests - covered - 1])
        assert.isTrue(refused.every(({ text }) => JSON.parse(text).error.code === "insufficient_credits"))
        assert.strictEqual(replies.filter(({ status }) => status === 200).length, covered + 1)
        assert.strictEqual(atLowest, -1n - (hold - outputToken))
        assert.isTrue(atLowest > -hold)
        assert.isAbove(Number(yield* settledBalance(tenant.organization)), 0)
        assert.strictEqual(yield* gateway.lingeringHolds, 0)
      }),
    300_000
  )
})
