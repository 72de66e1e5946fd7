/**
 * Requests that are repeated with the same Idempotency-Key after their gateway died. Whatever was charged before is
 * what the answer and the receipt of the repeat tell, and the books stay explained.
 */
import { randomUUID } from "node:crypto"

import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

import { audit, differences, unexplainedCharges } from "../../src/audit/Audit.ts"
import type { OrganizationId } from "../../src/domain/Ids.ts"
import { as, at, chunksOf, costOf, type Json, receiptOf, settledBalance, user } from "../support/Chat.ts"
import * as Fake from "../support/fake-provider/FakeProvider.ts"
import { FakeProvider } from "../support/fake-provider/FakeProvider.ts"
import { describeWithFakeProvider, type Reply, TestGateway, usd } from "../support/TestGateway.ts"

const hello = { model: "gpt-4.1", messages: [user("Hello")] }

/** 10 tokens in and 5 out at $2 and $8 per million; what the second try reports would be far more. */
const firstCost = 60_000_000n
const secondUsage = { prompt_tokens: 10, completion_tokens: 500, total_tokens: 510 }

/** The state in which a gateway leaves the database that is killed right after it has written a charge. */
const killedAfterCharge = Effect.fnUntraced(function* (organization: OrganizationId) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE recorded_answer SET claimed_until = to_timestamp(0), outcome = NULL, content_type = NULL,
    answer = NULL WHERE organization_id = ${organization}`
  // The receipt is written behind the answer.
  yield* Effect.repeat(sql`DELETE FROM logged_request WHERE organization_id = ${organization} RETURNING id`, {
    while: (rows) => rows.length === 0
  })
})

const lastOf = (reply: Reply, stream: boolean): Json | undefined =>
  stream ? chunksOf(reply.text).at(-1) : JSON.parse(reply.text)

const idIn = (reply: Reply): string | undefined => /chatcmpl-[0-9a-f-]+/.exec(reply.text)?.[0]

const assertExplained = Effect.gen(function* () {
  const report = yield* audit
  assert.deepStrictEqual([report.findings, differences(report), unexplainedCharges(report)], [[], 0, 0])
})

describeWithFakeProvider("A repeat of a request whose gateway was killed after the charge", (it) => {
  for (const stream of [false, true]) {
    const body = { ...hello, stream }

    it.effect(`tells the charge, in its answer and its receipt, and needs no credit (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("0.000001")
        const headers = { ...as(tenant), "idempotency-key": randomUUID() }
        provider.script(Fake.answers("lost"), Fake.answers("found", { usage: secondUsage }))
        yield* gateway.chat(body, headers)
        yield* killedAfterCharge(tenant.organization)
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("0.000001") - firstCost)
        const again = yield* gateway.chat(body, headers)
        assert.include(again.text, "found")
        const last = lastOf(again, stream)
        assert.strictEqual(costOf(last), firstCost)
        assert.deepStrictEqual([at(last, "usage", "prompt_tokens"), at(last, "usage", "completion_tokens")], [10, 5])
        const receipt = yield* receiptOf(idIn(again), tenant)
        assert.deepStrictEqual(
          [usd(String(receipt.at("cost_usd"))), receipt.at("outcome"), receipt.at("tokens.output")],
          [firstCost, "completed", 5]
        )
        const replay = yield* gateway.chat(body, headers)
        assert.strictEqual(replay.text, again.text)
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("0.000001") - firstCost)
        yield* assertExplained
      })
    )

    it.effect(`that fails tells the charge, and can be repeated until it is answered (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const tenant = yield* gateway.tenant("1")
        const headers = { ...as(tenant), "idempotency-key": randomUUID() }
        provider.script(Fake.answers("lost"), Fake.error(400))
        const id = idIn(yield* gateway.chat(body, headers))
        yield* killedAfterCharge(tenant.organization)
        const failed = yield* gateway.chat(body, headers)
        assert.notStrictEqual(failed.status, 200)
        const receipt = yield* receiptOf(id, tenant)
        assert.strictEqual(usd(String(receipt.at("cost_usd"))), firstCost)
        yield* assertExplained
        provider.script(Fake.answers("found", { usage: secondUsage }))
        const again = yield* gateway.chat(body, headers)
        assert.deepStrictEqual([again.status, costOf(lastOf(again, stream))], [200, firstCost])
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1") - firstCost)
        yield* assertExplained
      })
    )

    it.effect(`tells the charge that another gateway books while it is answered (stream: ${stream})`, () =>
      Effect.gen(function* () {
        const gateway = yield* TestGateway
        const provider = yield* FakeProvider
        const sql = yield* SqlClient.SqlClient
        const tenant = yield* gateway.tenant("1")
        // The facts of a real charge, of a request that the paused gateway had in hand.
        provider.script(Fake.answers("of the paused gateway"))
        yield* gateway.chat(hello, as(tenant))
        const headers = { ...as(tenant), "idempotency-key": randomUUID() }
        const book = sql`
          WITH entry AS (
            INSERT INTO credit_entry (id, organization_id, kind, amount, facts)
            SELECT request_id, organization_id, 'charge', amount, facts
            FROM recorded_answer JOIN credit_entry USING (organization_id)
            WHERE organization_id = ${tenant.organization} AND kind = 'charge'
            RETURNING organization_id, amount
          )
          UPDATE credit_account SET balance = balance + amount FROM entry
          WHERE credit_account.organization_id = entry.organization_id`
        const context = yield* Effect.context<never>()
        provider.script(async (response, received) => {
          await Effect.runPromiseWith(context)(book)
          await Fake.answers("found", { usage: secondUsage })(response, received)
        })
        const answer = yield* gateway.chat(body, headers)
        assert.include(answer.text, "found")
        assert.strictEqual(costOf(lastOf(answer, stream)), firstCost)
        const receipt = yield* receiptOf(idIn(answer), tenant)
        assert.strictEqual(usd(String(receipt.at("cost_usd"))), firstCost)
        assert.strictEqual(yield* settledBalance(tenant.organization), usd("1") - 2n * firstCost)
        yield* assertExplained
      })
    )
  }

  it.effect("tells the charge also where its stream breaks", () =>
    Effect.gen(function* () {
      const gateway = yield* TestGateway
      const provider = yield* FakeProvider
      const tenant = yield* gateway.tenant("1")
      const body = { ...hello, stream: true }
      const headers = { ...as(tenant), "idempotency-key": randomUUID() }
      const role = Fake.openaiChunk({ role: "assistant", content: "" })
      const word = Fake.openaiChunk({ content: "word " })
      provider.script(Fake.answers("lost"), Fake.streams([role, word, word, word], { everyMillis: 20, ending: "cut" }))
      yield* gateway.chat(body, headers)
      yield* killedAfterCharge(tenant.organization)
      const broken = yield* gateway.chat(body, headers)
      const last = chunksOf(broken.text).at(-1)
      assert.strictEqual(at(last, "choices", 0, "finish_reason"), "error")
      assert.strictEqual(costOf(last), firstCost)
      assert.match(String(at(last, "error", "message")), /earlier try of this request/)
      yield* assertExplained
    })
  )
})
