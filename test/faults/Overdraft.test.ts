/** A thousand requests at once for an organization whose balance pays for ten. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"

import { as, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as ScriptedProvider from "../support/ScriptedProvider.ts"
import { describeScripted, TestGateway, usd } from "../support/TestGateway.ts"

const crowd = 1_000
const paidFor = 10

describeScripted("A crowd", (it) => {
  it.effect(
    "overdraws its organization by less than one hold, and whoever is refused is told 402",
    () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* ScriptedProvider.ScriptedProvider
        const question = { model: "gpt-4.1-mini", messages: [user("Hello.")] }
        const probe = yield* gateway.chat(question)
        const hold = usd(String((yield* receiptOf(probe.at("id"))).at("held_usd")))
        // A picodollar less than ten holds: the tenth is granted with the last of the balance.
        const credit = hold * BigInt(paidFor) - 1n
        const tenant = yield* gateway.tenant((Number(credit) / 1e12).toFixed(12), { requestsPerMinute: 10 * crowd })
        // Nobody is answered, and gives back what it did not use, before everyone is let in or refused.
        let undecided = crowd
        const all = Promise.withResolvers<void>()
        const decide = () => {
          if (--undecided === 0) all.resolve()
        }
        yield* provider.script(async (response, received) => {
          decide()
          await all.promise
          return ScriptedProvider.answers("ok")(response, received)
        })
        let least: bigint = credit
        const watching = Effect.forever(
          Effect.andThen(
            Effect.map(gateway.balance(tenant.organization), ({ available }) => {
              if (available < least) least = available
            }),
            Effect.sleep("50 millis")
          )
        )
        const asking = Effect.forEach(
          Array.from({ length: crowd }),
          () =>
            Effect.map(gateway.chat(question, as(tenant)), ({ status, text }) => {
              if (status !== 200) decide()
              return { status, text }
            }),
          { concurrency: "unbounded" }
        )
        const replies = yield* Effect.raceFirst(asking, watching)
        const refused = replies.filter(({ status }) => status === 402)
        assert.deepStrictEqual([replies.length - refused.length, refused.length], [paidFor, crowd - paidFor])
        assert.isTrue(refused.every(({ text }) => JSON.parse(text).error.code === "insufficient_credits"))
        assert.strictEqual(replies.filter(({ status }) => status === 200).length, paidFor)
        assert.strictEqual(least, -1n)
        assert.isAbove(Number(yield* settledBalance(tenant.organization)), 0)
        assert.strictEqual(yield* gateway.lingeringHolds, 0)
      }),
    40_000
  )
})
