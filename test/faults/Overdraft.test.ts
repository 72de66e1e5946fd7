/** A thousand requests at once for an organization whose balance covers ten holds. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { as, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, TestGateway, usd } from "../support/TestGateway.ts"

const requests = 1_000
const covered = 10

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
        // A picodollar less than ten holds: the tenth is granted with the last of the balance.
        const credit = hold * BigInt(covered) - 1n
        const tenant = yield* gateway.tenant((Number(credit) / 1e12).toFixed(12), { requestsPerMinute: 10 * requests })
        // No request is answered, and releases its hold, before every other one has got a hold or been refused.
        let undecided = requests
        const all = Promise.withResolvers<void>()
        const decided = () => {
          if (--undecided === 0) all.resolve()
        }
        provider.script(async (response, received) => {
          decided()
          await all.promise
          return Fake.answers("ok")(response, received)
        })
        let lowest: bigint = credit
        const watching = Effect.forever(
          Effect.andThen(
            Effect.map(gateway.balance(tenant.organization), ({ available }) => {
              if (available < lowest) lowest = available
            }),
            Effect.sleep("50 millis")
          )
        )
        const answered = Effect.forEach(
          Array.from({ length: requests }),
          () =>
            Effect.map(gateway.chat(body, as(tenant)), ({ status, text }) => {
              if (status !== 200) decided()
              return { status, text }
            }),
          { concurrency: "unbounded" }
        )
        const replies = yield* Effect.raceFirst(answered, watching)
        const refused = replies.filter(({ status }) => status === 402)
        assert.deepStrictEqual([replies.length - refused.length, refused.length], [covered, requests - covered])
        assert.isTrue(refused.every(({ text }) => JSON.parse(text).error.code === "insufficient_credits"))
        assert.strictEqual(replies.filter(({ status }) => status === 200).length, covered)
        assert.strictEqual(lowest, -1n)
        assert.isAbove(Number(yield* settledBalance(tenant.organization)), 0)
        assert.strictEqual(yield* gateway.lingeringHolds, 0)
      }),
    40_000
  )
})
